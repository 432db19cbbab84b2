import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { type CaseCounts, countShape, countsShown, describeCounts, type ShownCounts, shownCounts } from '../../cli/records/case-counts.ts';
import type { CaseStatusFilter } from '../../interface/types.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { Pace } from '../../watch/pace.ts';
import { patient } from '../../watch/polled.ts';
import { heldUp, heldUpOperations } from './held-up.ts';
import { countAgain, noneIs, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Wait until cases are completed or failed',
  description:
    'Ends with exit 10 when one of them has failed, and with exit 12 when those that are left need input of a person, or stand behind one that does, as with `triggers create --concurrency 1`; with --on-request wait, somebody else has to give it. Cases that are postponed are waited for. With --all-matching, cases that come meanwhile count, too. Limit the wait with --timeout (exit 9).',
  arguments: selectionArguments,
  options: {
    ...selectionFlags,
    onRequest: choice(['wait', 'fail'], 'When nothing but the input of a person is missing: wait on, or end with exit 12 (default fail)'),
  },
  operations: [...selectionOperations, ...heldUpOperations],
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
    let known: CaseCounts | undefined = selection.counts;
    const look = patient(async () => {
      const counts = known ?? (await countAgain(client, selection));
      known = undefined;
      const ended = open.every((status) => counts[status] === 0) && (await noneIs(client, selection, open));
      const behind = ended || input.onRequest === 'wait' ? undefined : await heldUp(client, selection, counts);
      return { counts, ended, behind };
    }, context);
    try {
      for (let words = '', behind: string | undefined; ; ) {
        const seen = await look();
        if (seen.ended || (seen.behind !== undefined && seen.behind === behind)) return concluded(seen.counts);
        const before = words;
        words = describeCounts(seen.counts);
        behind = seen.behind;
        spinner.update(`Waiting for ${words}`);
        await pace.pause(words !== before, signal);
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
    const message = `${pluralize(counts.failed, 'case')} failed.`;
    const hint = 'See why with `aops cases get CASE`, and try again with `aops cases retry`.';
    throw new ResultError(new AopsError(message, { code: 'cases_failed', exit: exitCodes.runFailed, hint }), result);
  }
  const { needs_input: asking, pending } = counts;
  if (asking > 0 || pending > 0) {
    const asks = asking === 0 ? '' : `${pluralize(asking, 'case')} ${asking === 1 ? 'needs' : 'need'} input of a person.`;
    const stands = `${pluralize(pending, 'pending case')} ${pending === 1 ? 'stands' : 'stand'} behind ${asking === 0 ? 'others that need input of a person' : 'that'}.`;
    const message = [asks, pending === 0 ? '' : stands].filter(Boolean).join(' ');
    const hint = 'Give it with `aops inbox`, then wait again.';
    throw new ResultError(new AopsError(message, { code: 'cases_waiting', exit: exitCodes.runWaiting, hint }), result);
  }
  return result;
}
