/** Accepting and declining what a builder run proposes: of that one alone which was loaded and shown. */

import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { firstLine } from '../../base/values.ts';
import { uuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { ReviewedBuilderRun } from '../../interface/types.ts';

export type Verdict = 'accept' | 'decline' | 'discard';

export const guardFlags = {
  builderRun: text('ID', 'Only if this is still the builder run (default: the one that is there now)', { check: uuid }),
  expectedStartedAt: text('TIME', 'Only if it was started at this time, as it was shown (with --builder-run)', { check: instant }),
} as const;

function instant(value: string, name: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return value;
  throw new UsageError(`${name} takes the time that was shown, such as 2026-07-18T09:00:00.000Z, not "${value}".`);
}

/** What a review is tied to: the builder run as it was loaded. */
export interface Guard {
  builder_run_id: string;
  expected_started_at?: string | null;
}

/** The guard that the flags give, or else that of the builder run as it is now. */
export async function guardOf(
  context: Context,
  buildId: string,
  flags: { builderRun: string | undefined; expectedStartedAt: string | undefined },
): Promise<Guard> {
  if (flags.builderRun !== undefined) {
    return {
      builder_run_id: flags.builderRun,
      ...(flags.expectedStartedAt === undefined ? {} : { expected_started_at: flags.expectedStartedAt }),
    };
  }
  if (flags.expectedStartedAt !== undefined) throw new UsageError('--expected-started-at goes with --builder-run.');
  const client = await context.client();
  const run = await client.call('getLatestBuilderRun', { params: { build_id: buildId } });
  context.terminal.note(`The builder run was asked: ${firstLine(run.prompt ?? '')}`);
  for (const change of run.changes ?? []) context.terminal.note(`- ${firstLine(change)}`);
  return { builder_run_id: run.id, expected_started_at: run.started_at };
}

/** Carries a verdict out. @throws AopsError `builder_run_changed` (exit 6) which says what is there now */
export async function review(context: Context, verdict: Verdict, buildId: string, guard: Guard): Promise<ReviewedBuilderRun> {
  const client = await context.client();
  const params = { build_id: buildId };
  try {
    if (verdict === 'discard') return (await client.call('discardRevision', { params })).builder_run;
    const operation = verdict === 'accept' ? 'acceptRevision' : 'declineRevision';
    return (await client.call(operation, { params, body: guard })).builder_run;
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.status !== 409 || verdict === 'discard') throw error;
    throw await explained(context, error, buildId, guard.builder_run_id);
  }
}

/** What changed since the review was shown: another request, answers to questions, or somebody else's verdict. */
async function explained(context: Context, error: ServiceAnswerError, buildId: string, reviewed: string): Promise<Error> {
  const client = await context.client();
  const now = await client.call('getLatestBuilderRun', { params: { build_id: buildId } }).catch(() => undefined);
  if (now === undefined) return error;
  const since = now.started_at === null ? 'not started yet' : `started ${now.started_at}`;
  const what =
    now.id === reviewed
      ? `It is ${now.resolution ?? now.status} now, ${since}${now.completed_at === null ? '' : `, ended ${now.completed_at}`}.`
      : `Another one is there now: ${now.id}, ${now.status}, ${since}. Its request: ${firstLine(now.prompt ?? '')}`;
  return new AopsError(`${error.message}\n${what}`, {
    code: error.code,
    exit: exitCodes.conflict,
    hint: `Look at it with \`aops revisions builder-run ${buildId}\`; nothing was changed.`,
    details: error.details,
  });
}

const said: Record<string, string> = {
  accepted: 'Accepted: the revision has what was proposed. A draft goes live with `aops revisions promote`.',
  declined: 'Declined: the revision stays as it was.',
  discarded: 'Discarded: the builder run is cancelled, and the revision stays as it was.',
};

export const verdictWords = (run: ReviewedBuilderRun): string => {
  const warnings = (run.warnings ?? []).map(({ title }) => `Still to set up: ${String(title)}.`);
  return [said[run.resolution ?? ''] ?? `The builder run is ${run.status}.`, ...warnings].join('\n');
};

export const verdictOutput = textOutput<ReviewedBuilderRun>(verdictWords);
