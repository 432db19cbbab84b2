/** A process of `lane.js`, as its parent sees it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';

/** A process that runs tests; it is replaced when it had to be ended. */
export class Lane {
  #root;
  #env;
  #child;
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
   * Carries out a plan and calls `onResult` for each result. Returns what went wrong, if anything.
   * @param patienceOf how long to wait after a result for the next one, in milliseconds
   */
  async run(plan, onResult, patienceOf) {
    if (this.#child === undefined) {
      const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
      this.#child = fork(path.join(import.meta.dirname, 'lane.js'), { cwd: this.#root, env: this.#env, stdio, detached: true });
      this.#child.setMaxListeners(0);
      await once(this.#child, 'message');
    }
    const child = this.#child;
    let answer;
    const end = Promise.race([
      once(child, 'message').then(([message]) => message),
      once(child, 'exit').then(() => ({ errors: ['The process ended.'] })),
    ]);
    end.then((message) => {
      answer = message;
    });
    child.send({ ...plan, results: this.#results });
    let deadline = Date.now() + patienceOf(undefined);
    for (;;) {
      await Promise.race([end, setTimeout(100)]);
      for (const result of this.#newResults()) {
        onResult(result);
        deadline = Date.now() + patienceOf(result);
      }
      if (answer !== undefined) return answer;
      if (Date.now() > deadline) {
        this.end();
        return { errors: ['The tests took too long.'] };
      }
    }
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
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {}
    this.#child = undefined;
  }
}
