/** A process of `lane.js`, as its parent sees it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { descendants, LaneClock } from './lane-clock.js';

/** How long to wait for the next result at most, in real milliseconds, however busy the machine is. */
const ceiling = 15 * 60_000;

/** A process that runs tests; it is replaced when it had to be ended. */
export class Lane {
  #root;
  #env;
  #child;
  #clock;
  /** Where the tests of this lane write their results, and how much of it was read. */
  #results;
  #read = 0;
  #rest = '';

  constructor(root, env, results) {
    this.#root = root;
    this.#env = env;
    this.#results = results;
  }

  /**
   * Carries out a plan and calls `onResult` for each result. Returns what went wrong, if anything, and whether it only took too long
   * on a busy machine.
   * @param patienceOf how long to wait after a result for the next one, in milliseconds of the lane's clock
   */
  async run(plan, onResult, patienceOf) {
    if (this.#child === undefined) await this.#start();
    const child = this.#child;
    let answer;
    const end = Promise.race([
      once(child, 'message').then(([message]) => message),
      once(child, 'exit').then(() => {
        this.#child = undefined;
        return { errors: ['The process ended.'] };
      }),
    ]);
    end.then((message) => {
      answer = message;
    });
    child.send({ ...plan, results: this.#results });
    const limitsAfter = (result) => ({ time: this.#clock.time() + patienceOf(result), now: performance.now() + ceiling });
    let limits = limitsAfter(undefined);
    for (;;) {
      await Promise.race([end, setTimeout(200)]);
      for (const result of this.#newResults()) {
        onResult(result);
        limits = limitsAfter(result);
      }
      if (answer !== undefined) return answer;
      const isLate = this.#clock.time() > limits.time;
      if (!isLate && performance.now() < limits.now) continue;
      await this.#endTests(end);
      return { errors: ['The tests took too long.'], isUndecided: !isLate };
    }
  }

  async #start() {
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
    this.#child = fork(path.join(import.meta.dirname, 'lane.js'), { cwd: this.#root, env: this.#env, stdio, detached: true });
    this.#child.setMaxListeners(0);
    this.#clock = new LaneClock(this.#child.pid);
    await once(this.#child, 'message');
  }

  /** Ends the processes that run the tests. The lane itself stays if it answers then, because it has transformed the sources. */
  async #endTests(answer) {
    for (const pid of descendants(this.#child.pid)) kill(pid);
    const isAnswered = await Promise.race([answer.then(() => true), setTimeout(10_000, false, { ref: false })]);
    this.#newResults();
    if (!isAnswered) this.end();
  }

  /** The results that were written since the last call. */
  #newResults() {
    const text = readFileSync(this.#results).subarray(this.#read);
    this.#read += text.length;
    const lines = (this.#rest + text.toString('utf8')).split('\n');
    this.#rest = lines.pop();
    return lines.map((line) => JSON.parse(line));
  }

  end() {
    if (this.#child === undefined) return;
    for (const pid of descendants(this.#child.pid)) kill(pid);
    kill(-this.#child.pid);
    this.#child = undefined;
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
