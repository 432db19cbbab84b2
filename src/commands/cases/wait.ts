import { counted } from '../../base/counted.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { CaseStatusFilter } from '../../interface/types.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { Pace } from '../../watch/pace.ts';
import { choice, defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';
import { returns } from '../result.ts';
import { ResultError } from '../result-error.ts';
import { type CaseCounts, countShape, countsShown, describeCounts, type ShownCounts, shownCounts } from './counts.ts';
import { countAgain, noneIs, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Wait until cases are completed or failed',
  description:
    'Ends with exit 10 when one of them has failed, and with exit 12 when those that are left need input of a person; with --on-request wait, somebody else has to give it. Cases that are postponed are waited for. With --all-matching, cases that come meanwhile count, too. Limit the wait with --timeout (exit 9).',
  arguments: selectionArguments,
  options: {
    ...selectionFlags,
    onRequest: choice(['wait', 'fail'], 'When nothing but the input of a person is missing: wait on, or end with exit 12 (default fail)'),
  },
  operations: selectionOperations,
  exits: [exitCodes.runFailed, exitCodes.runWaiting],
  examples: [
    { command: 'aops cases wait CASE --timeout 10m', text: 'One case' },
    { command: 'aops cases wait --queue invoices --all-matching --created-since 1h', text: 'What was imported just now, in a script' },
  ],
  result: returns(countShape),
  output: textOutput<ShownCounts>((counts) => describeCounts(countsShown(counts))),
  async run(context, input) {
    const { clock, signal, terminal } = context;
    const client = await context.client();
    const selection = await selectCases(context, input);
    const open: CaseStatusFilter[] = ['pending', 'claimed', 'postponed', ...(input.onRequest === 'wait' ? (['needs_input'] as const) : [])];
    const pace = new Pace(clock);
    const spinner = startSpinner(terminal, 'Waiting for cases', clock);
    try {
      for (let counts = selection.counts, before = ''; ; counts = await countAgain(client, selection)) {
        if (open.every((status) => counts[status] === 0) && (await noneIs(client, selection, open))) return concluded(counts);
        const words = describeCounts(counts);
        spinner.update(`Waiting for ${words}`);
        await pace.pause(words !== before, signal);
        before = words;
      }
    } finally {
      spinner.stop();
    }
  },
});

/** @throws ResultError exit 10 or 12 */
function concluded(counts: CaseCounts): ShownCounts {
  const result = shownCounts(counts);
  if (counts.failed > 0) {
    const message = `${counted(counts.failed, 'case')} failed.`;
    const hint = 'See why with `aops cases get CASE`, and try again with `aops cases retry`.';
    throw new ResultError(new AopsError(message, { code: 'cases_failed', exit: exitCodes.runFailed, hint }), result);
  }
  if (counts.needs_input > 0) {
    const message = `${counted(counts.needs_input, 'case')} ${counts.needs_input === 1 ? 'needs' : 'need'} input of a person.`;
    const hint = 'Give it with `aops inbox`, then wait again.';
    throw new ResultError(new AopsError(message, { code: 'cases_waiting', exit: exitCodes.runWaiting, hint }), result);
  }
  return result;
}
