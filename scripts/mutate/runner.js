/**
 * Runs one test file many times in one process, each time with another mutant, and only the tests that reach it. The modules of the
 * program stay loaded in between, so that a mutant costs about as much as its tests.
 *
 * The plan that the lane provides says what to do: `{ file, mode: 'reach' }` finds out which tests reach which mutants;
 * `{ file, mode: 'try', mutants: [{ number, tests, isFresh, isOnce }] }` tries each mutant. `plan.timeLimit` is the limit of each test in
 * milliseconds. Results are lines of JSON in `plan.results`.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { startTests } from '@vitest/runner';
import { inject, TestRunner } from 'vitest';
import { LaneClock } from './lane-clock.js';

const mutation = { active: -1, reached: new Set() };

globalThis.__aopsMutant = (number) => {
  mutation.reached.add(number);
  return number === mutation.active;
};

const nameOf = (task) => (task.suite === undefined ? task.name : `${nameOf(task.suite)} > ${task.name}`);
const isOwnModule = (id) => id.startsWith(`${process.cwd()}/src/`) || id.startsWith(`${process.cwd()}/test/`);
const testsIn = (suite) => suite.tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : [task]));
const isFailed = (task) => task.result?.state === 'fail';

/** Runs the chosen tests of a file until one fails, and takes down which mutants each of them reaches. */
class Run extends TestRunner {
  /** What was reached by each test, and outside of tests. */
  tests = [];
  reachedOutside = new Set();
  #chosenTests;
  #onTestEnd;
  #isOver = false;
  #clock = new LaneClock(process.pid);
  #startTime = 0;

  constructor(outer, chosenTests, onTestEnd = () => undefined) {
    super(outer.config);
    Object.defineProperty(this, 'moduleRunner', { value: outer.moduleRunner });
    this.__setTraces(outer._otel);
    this.#chosenTests = chosenTests;
    this.#onTestEnd = onTestEnd;
  }

  importFile(filepath, source) {
    if (source === 'collect') this.#forget(([id]) => id === filepath);
    return super.importFile(filepath, source);
  }

  /** Evaluates all modules of the program again, because a mutant may have acted while they were loaded. */
  forgetModules() {
    this.#forget(([id]) => isOwnModule(id));
  }

  #forget(isForgotten) {
    const { evaluatedModules } = this.workerState;
    for (const [, node] of [...evaluatedModules.idToModuleMap].filter(isForgotten)) evaluatedModules.invalidateModule(node);
  }

  async onBeforeRunSuite(suite) {
    if (this.#isOver || !testsIn(suite).some((test) => this.#isChosen(test))) suite.mode = 'skip';
    await super.onBeforeRunSuite(suite);
  }

  async onBeforeRunTask(test) {
    if (this.#isOver || !this.#isChosen(test)) test.mode = 'skip';
    if (test.mode !== 'skip') this.#note(this.reachedOutside);
    this.#startTime = this.time();
    await super.onBeforeRunTask(test);
  }

  onAfterRunTask(test) {
    const mutants = new Set();
    this.#note(mutants);
    if (test.concurrent) for (const number of mutants) this.reachedOutside.add(number);
    this.tests.push({ name: nameOf(test), milliseconds: this.time() - this.#startTime, mutants: [...mutants] });
    if (isFailed(test) && this.#chosenTests !== undefined) this.#isOver = true;
    this.#onTestEnd(nameOf(test));
    super.onAfterRunTask(test);
  }

  /** Milliseconds since this was created; those during which the tests waited for a processor do not count. */
  time() {
    return this.#clock.time();
  }

  #isChosen(test) {
    return this.#chosenTests === undefined || this.#chosenTests.has(nameOf(test));
  }

  #note(mutants) {
    for (const number of mutation.reached) mutants.add(number);
    mutation.reached.clear();
  }

  async start(file) {
    mutation.reached.clear();
    const [testFile] = await startTests([file], this);
    this.#note(this.reachedOutside);
    const failures = testsIn(testFile).filter(isFailed);
    return { isFailed: isFailed(testFile) || failures.length > 0, failures, file: testFile };
  }
}

/** The runner of Vitest: instead of running the tests of its file once, it follows the plan. */
export default class MutationRunner extends TestRunner {
  async onBeforeRunFiles([file]) {
    const plan = inject('plan');
    if (plan.mode === 'reach') await this.#reach(plan);
    else await this.#tryAll(plan);
    file.mode = 'skip';
  }

  async #reach({ file, results }) {
    const run = new Run(this, undefined);
    run.forgetModules();
    const { isFailed, failures, file: testFile } = await run.start(file);
    report(results, {
      file,
      milliseconds: run.time(),
      tests: run.tests,
      outside: [...run.reachedOutside],
      errors: isFailed
        ? [...failures.map(nameOf), ...[testFile, ...failures].flatMap(({ result }) => result.errors ?? []).map(({ message }) => message)]
        : [],
    });
  }

  async #tryAll({ file, mutants, results }) {
    // Loads all modules before the first mutant, so that a loop is noticed soon.
    await new Run(this, new Set()).start(file);
    for (const { number, tests, isFresh, isOnce, isAlone } of mutants) {
      if (killedMutants(results).has(number)) continue;
      report(results, { begun: number, file });
      const onTestEnd = (name) => report(results, { ended: name });
      const outcome = await this.#outcome(file, number, { tests: tests && new Set(tests), isFresh, isOnce, isAlone, onTestEnd });
      report(results, { number, file, ...outcome });
      // What a test that hangs has left behind would disturb the next ones.
      if (outcome.isHanging || outcome.outcome === 'unsure') return;
    }
  }

  async #outcome(file, number, { tests, isFresh, isOnce, isAlone, onTestEnd }) {
    const attempt = async (active, chosenTests, isFresh) => {
      const run = new Run(this, chosenTests, onTestEnd);
      if (isFresh) run.forgetModules();
      mutation.active = active;
      try {
        const { isFailed, failures } = await run.start(file);
        const isReached = run.reachedOutside.has(number) || run.tests.some(({ mutants }) => mutants.includes(number));
        const isHanging = failures.some(({ result }) => result.errors?.some(({ message }) => /timed out in \d+ ?ms/.test(message)));
        return { isFailed, isReached, isHanging, test: failures[0] && nameOf(failures[0]) };
      } finally {
        mutation.active = -1;
        if (isFresh) run.forgetModules();
      }
    };
    const chosenTests = tests ?? new Set(inject('plan').names);
    let first = await attempt(number, chosenTests, isFresh);
    if (!first.isFailed && !isFresh && (isOnce || !first.isReached))
      first = await attempt(number, isOnce ? new Set(inject('plan').names) : chosenTests, true);
    if (!first.isFailed) return { outcome: 'survived' };
    if (first.isHanging) return { outcome: 'killed', isHanging: true, test: first.test };
    // A failure counts if the same test passes without the mutant.
    const second = await attempt(-1, first.test === undefined || isAlone ? chosenTests : new Set([first.test]), false);
    return { outcome: second.isFailed ? 'unsure' : 'killed', test: first.test };
  }
}

const report = (results, line) => appendFileSync(results, `${JSON.stringify(line)}\n`);

/** The mutants that were killed so far, in this process or in the other one. */
function killedMutants(results) {
  const folder = path.dirname(results);
  const texts = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.includes('"outcome":"killed"') && line.endsWith('}'));
  return new Set(lines.map((line) => JSON.parse(line).number));
}
