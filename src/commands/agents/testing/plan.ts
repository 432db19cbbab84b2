/** Reads everything that tests need before the first one starts, so that an invalid file changes nothing. */
import { parseDuration } from '../../../base/duration.ts';
import { UsageError } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { limitOf, type PlannedTest } from './run-test.ts';
import { findTestFiles, loadTestFile } from './test-file.ts';
import { type ProgramInput, readTestedAgent } from './tested-agent.ts';

interface PlanInput {
  places: readonly string[];
  /** Part of the names of the tests to run, in upper or lower case. */
  filter: string | undefined;
  /** Milliseconds for a test whose file does not say otherwise. */
  limit: number | undefined;
  program: ProgramInput;
}

/** The tests in the order of the files. @throws UsageError for an invalid file, or if no test is left */
export async function planTests(context: Context, { places, filter, limit, program }: PlanInput): Promise<PlannedTest[]> {
  const tests: PlannedTest[] = [];
  let hasProgram = false;
  for (const place of await findTestFiles(context, places)) {
    const file = await loadTestFile(context, place);
    const agent = await readTestedAgent(context, file, program);
    hasProgram ||= agent.runtime === 'acp';
    for (const placedTest of file.tests) {
      const own = placedTest.test.timeout === undefined ? undefined : parseDuration(placedTest.test.timeout);
      tests.push({ ...placedTest, file, agent, number: tests.length + 1, limit: limitOf(own, file.timeout, limit, agent) });
    }
  }
  if (!hasProgram && Object.keys(program.environment).length + program.secrets.length > 0)
    throw new UsageError('--env and --secret are for agents that are programs, and these are procedures.');
  const wanted = filter === undefined ? tests : tests.filter(({ test }) => test.name.toLowerCase().includes(filter.toLowerCase()));
  if (wanted.length > 0) return wanted;
  const names = tests.slice(0, 10).map(({ test }) => test.name);
  throw new UsageError(
    `No test has a name that contains "${filter}".`,
    `There are: ${names.join(' | ')}${tests.length > 10 ? ' | …' : ''}`,
  );
}
