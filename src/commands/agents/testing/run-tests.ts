/** Runs tests on a temporary service, which ends with them in any case. */
import type { ExecInput } from '../../../cli/input/exec-options.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { inParallel } from '../../../client/transfers/parallel.ts';
import { type Redact, rowOf, type TestRow } from './rows.ts';
import { type PlannedTest, runTest } from './run-test.ts';
import { TemporaryService } from './temporary-service.ts';
import { checkTestedAgent } from './tested-agent.ts';

/**
 * @param onRow called with each result, and its place among the tests
 * @throws UsageError for an agent that cannot be created, before any test; the reason of the command's signal
 */
export async function runTests(
  context: Context,
  input: ExecInput & { concurrency: number },
  tests: readonly PlannedTest[],
  redact: Redact,
  onRow: (index: number, row: TestRow) => Promise<void>,
): Promise<void> {
  const service = await TemporaryService.start(context, input);
  try {
    context.signal.throwIfAborted();
    const agents = [...new Map(tests.map(({ file, agent }) => [file, agent])).values()];
    for (const [index, agent] of agents.entries()) await checkTestedAgent(await service.team(`check ${index + 1}`), agent);
    let hasFailed = false;
    await inParallel([...tests.entries()], input.concurrency, context.signal, async ([index, test], signal) => {
      const row = rowOf(await runTest(context, service, test, signal), redact);
      hasFailed ||= row.status === 'failed';
      await onRow(index, row);
    });
    // It may be why.
    if (hasFailed && service.execProblem !== undefined) context.terminal.note(service.execProblem);
  } finally {
    await service.end();
  }
}
