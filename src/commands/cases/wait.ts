import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { readBeforeWatching } from '../../cli/following/outage.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import {
  type CaseCounts,
  countShape,
  type DisplayCounts,
  describeCounts,
  fromDisplayCounts,
  toDisplayCounts,
} from '../../cli/records/case-counts.ts';
import type { CaseStatusFilter } from '../../interface/types.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { Pace } from '../../watch/pace.ts';
import { retryThroughOutages } from '../../watch/polling.ts';
import { findBlockingRuns, heldUpOperations } from './held-up.ts';
import { countAgain, hasNoCaseIn, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Wait until cases are completed or failed',
  description:
    'The exit code is 10 if a case failed, and 12 if the remaining cases need human input or are blocked by cases that do, for example after `triggers create --concurrency 1`. With --on-request wait, the command keeps waiting for someone else to respond. Postponed cases are waited for. --all-matching includes cases that are added in the meantime. Limit the wait with --timeout (exit 9).',
  arguments: selectionArguments,
  options: {
    ...selectionFlags,
    onRequest: choice(['wait', 'fail'], 'What to do when only human input is missing: keep waiting, or end with exit 12 (default: fail)'),
  },
  operations: [...selectionOperations, ...heldUpOperations],
  exits: [exitCodes.runFailed, exitCodes.runWaiting],
  examples: [
    { command: 'aops cases wait CASE --timeout 10m', text: 'Wait for a case for up to 10 minutes' },
    {
      command: 'aops cases wait --queue invoices --all-matching --created-since 1h',
      text: 'Wait for the cases imported within the last hour',
    },
  ],
  result: returns(countShape),
  output: textOutput<DisplayCounts>((counts) => describeCounts(fromDisplayCounts(counts))),
  async run(context, input) {
    const { clock, signal, terminal } = context;
    const client = await context.client();
    const selection = await readBeforeWatching(context, (reading) => selectCases(reading, input));
    const open: CaseStatusFilter[] = ['pending', 'claimed', 'postponed', ...(input.onRequest === 'wait' ? (['needs_input'] as const) : [])];
    const pace = new Pace(clock);
    const spinner = startSpinner(terminal, 'Waiting for cases', clock);
    let initial: CaseCounts | undefined = selection.counts;
    const poll = retryThroughOutages(async () => {
      const counts = initial ?? (await countAgain(client, selection));
      initial = undefined;
      const hasEnded = open.every((status) => counts[status] === 0) && (await hasNoCaseIn(client, selection, open));
      const behind = hasEnded || input.onRequest === 'wait' ? undefined : await findBlockingRuns(client, selection, counts);
      return { counts, ended: hasEnded, behind };
    }, context);
    try {
      for (let summary = '', behind: string | undefined; ; ) {
        const state = await poll();
        if (state.ended || (state.behind !== undefined && state.behind === behind)) return resultOf(state.counts);
        const previous = summary;
        summary = describeCounts(state.counts);
        behind = state.behind;
        spinner.update(`Waiting for ${summary}`);
        await pace.pause(summary !== previous, signal);
      }
    } finally {
      spinner.stop();
    }
  },
});

/** @throws ResultError exit 10 or 12 */
function resultOf(counts: CaseCounts): DisplayCounts {
  const result = toDisplayCounts(counts);
  if (counts.failed > 0) {
    const message = `${pluralize(counts.failed, 'case')} failed.`;
    const hint = 'See the reason with `aops cases get CASE`, and retry with `aops cases retry`.';
    throw new ResultError(new AopsError(message, { code: 'cases_failed', exit: exitCodes.runFailed, hint }), result);
  }
  const { needs_input: askingCount, pending } = counts;
  if (askingCount > 0 || pending > 0) {
    const inputText = askingCount === 0 ? '' : `${pluralize(askingCount, 'case needs', 'cases need')} human input.`;
    const pendingText =
      askingCount === 0
        ? `${pluralize(pending, 'pending case is', 'pending cases are')} blocked by other cases that need human input.`
        : `${pluralize(pending, 'pending case')} cannot start until then.`;
    const message = [inputText, pending === 0 ? '' : pendingText].filter(Boolean).join(' ');
    const hint = 'Respond with `aops inbox`, then wait again.';
    throw new ResultError(new AopsError(message, { code: 'cases_waiting', exit: exitCodes.runWaiting, hint }), result);
  }
  return result;
}
