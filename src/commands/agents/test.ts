import { Readable } from 'node:stream';
import { steadyTime } from '../../base/clock.ts';
import { parseDuration } from '../../base/duration.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { readEnvironment } from '../../cli/input/agent-definition.ts';
import { execOptions } from '../../cli/input/exec-options.ts';
import { readAgentSecrets } from '../../cli/input/secret.ts';
import { forPeople, reshapesOutput } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { checkTarget, saveContent } from '../../cli/kit/files.ts';
import { anyArguments, type CommandInput, duration, integer, text, texts } from '../../cli/kit/flags.ts';
import { type RowList, wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, statusColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { SecretFilter } from '../../terminal/redact.ts';
import { junitXml } from './testing/junit.ts';
import { summary } from './testing/report.ts';
import type { TestRow } from './testing/rows.ts';
import type { PlannedTest } from './testing/run-test.ts';

const defaultConcurrency = 4;

const options = {
  filter: text('TEXT', 'Run only the tests whose name contains this text'),
  concurrency: integer('N', `Tests that run at the same time (default: ${defaultConcurrency})`, { minimum: 1, maximum: 64 }),
  testTimeout: duration('How long a test can take, unless its file says otherwise (default: 1m, or 10m for programs)'),
  junit: text('FILE', 'Also write the results to this file, as JUnit XML', { complete: 'files' }),
  env: texts('NAME=VALUE', 'Set an environment variable of the program under test; can be repeated'),
  secret: texts('NAME=@FILE', 'Give the program under test a secret as an environment variable; @- reads standard input; can be repeated', {
    complete: 'files',
  }),
  ...execOptions('auto'),
} as const;
const args = { path: anyArguments('Test files, and folders to search for them (default: this folder)', { complete: 'files' }) } as const;

export default defineCommand({
  summary: 'Test agents on a temporary service',
  description:
    'Runs the tests in files whose names end in .test.yaml, and compares what the agent says, asks, and writes with what they expect. Each test has a new agent in a team of its own, on a service that exists only while the command runs; profiles and other services play no part in it. The answers in a test file can therefore never decide a real request. The exit code is 0 if all tests passed, 1 if one failed, and 2 for a test file, a procedure, or an option that is invalid. The format is explained in docs/testing-agents.md.',
  arguments: args,
  options,
  exits: [exitCodes.failure, exitCodes.timeout],
  examples: [
    { command: 'aops agents test', text: 'Run all tests below this folder' },
    { command: 'aops agents test invoice-check.test.yaml --filter deny', text: 'Run some tests of a file' },
    { command: 'aops agents test --junit results.xml', text: 'Write a report for CI' },
    { command: 'aops agents test --secret ANTHROPIC_API_KEY=@key.txt', text: 'Test an agent that needs a key' },
  ],
  result: returns({
    id: 'string',
    status: 'passed|failed|skipped',
    name: 'string',
    file: 'string',
    line: 'integer',
    seconds: 'number',
    run_status: 'string|null',
    run_error: 'string|null',
    requests: 'string[]',
    failures: [{ expectation: 'status|error|requests|messages|case|files', message: 'string', path: 'string|null', diff: 'string|null' }],
  }),
  output: listOutput<TestRow>({
    columns: [
      statusColumn((row) => row.status),
      column('TEST', (row) => row.name, { shrink: true, min: 12 }),
      column('PLACE', (row) => row.id, { shrink: true, min: 12 }),
      column('SECONDS', (row) => row.seconds, { align: 'right' }),
    ],
    empty: 'No tests were run.',
  }),
  async run(context, input): Promise<RowList<TestRow> | undefined> {
    refuseServices(context);
    if (input.junit !== undefined) checkTarget(context, input.junit, true);
    const { planTests } = await import('./testing/plan.ts');
    const environment = readEnvironment(context, input.env);
    const secrets = await readAgentSecrets(context, input.secret, '--secret ');
    const tests = await planTests(context, {
      places: input.path.length === 0 ? ['.'] : input.path,
      filter: input.filter,
      limit: input.testTimeout === undefined ? undefined : parseDuration(input.testTimeout),
      program: { environment, secrets },
    });
    const filter = new SecretFilter();
    for (const { value } of secrets) filter.add(value);
    const start = steadyTime(context.clock);
    const rows = await execute(context, input, tests, (line) => filter.apply(line));
    const failed = rows.filter(({ status }) => status === 'failed').length;
    if (forPeople(context)) {
      await context.terminal.line();
      await context.terminal.line(summary(rows, steadyTime(context.clock) - start));
    }
    const printed = forPeople(context) || streams(context) ? undefined : wholeList(rows);
    if (failed === 0) return printed;
    const error = new AopsError(`${failed} of ${rows.length === 1 ? '1 test' : `${rows.length} tests`} failed.`, {
      code: 'tests_failed',
      exit: exitCodes.failure,
    });
    throw printed === undefined ? error : new ResultError(error, printed);
  },
});

/** Whether each result is printed as soon as it is known. */
const streams = (context: Context): boolean => context.format === 'ndjson' && !reshapesOutput(context);

/** A service that somebody names would be ignored, and they should know. */
function refuseServices({ flags }: Context): void {
  const named = (['profile', 'baseUrl', 'team'] as const).find((key) => flags[key] !== undefined);
  if (named === undefined) return;
  throw new UsageError(
    `--${named === 'baseUrl' ? 'base-url' : named} cannot be used here, because agents are tested only on a temporary service.`,
    'Leave it out.',
  );
}

/** Runs the tests and prints the results. The report for CI is written even if the command is interrupted. */
async function execute(
  context: Context,
  input: CommandInput<typeof args, typeof options>,
  tests: readonly PlannedTest[],
  redact: (text: string) => string,
): Promise<TestRow[]> {
  const { runTests } = await import('./testing/run-tests.ts');
  const { skippedRow } = await import('./testing/rows.ts');
  const { newPrinter } = await import('./testing/printer.ts');
  const start = steadyTime(context.clock);
  const printer = await newPrinter(context, { tests: tests.length, streams: streams(context) });
  const rows: (TestRow | undefined)[] = tests.map(() => undefined);
  try {
    await runTests(context, { ...input, concurrency: input.concurrency ?? defaultConcurrency }, tests, redact, async (index, row) => {
      rows[index] = row;
      await printer.print(index, row);
    });
  } finally {
    printer.end();
    if (input.junit !== undefined && rows.some((row) => row !== undefined)) {
      const all = tests.map((test, index) => rows[index] ?? skippedRow(test));
      const xml = Buffer.from(junitXml(all, (steadyTime(context.clock) - start) / 1000));
      // Also after Ctrl-C.
      const lasting = { ...context, signal: new AbortController().signal };
      await saveContent(lasting, () => Readable.from([xml]), input.junit, true);
    }
  }
  return rows as TestRow[];
}
