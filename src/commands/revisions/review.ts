/** Accepts or declines the proposal of a builder run, provided that it is still the one that was displayed. */

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
  builderRun: text('ID', 'Only if this is still the builder run (default: the current one)', { check: uuid }),
  expectedStartedAt: text('TIME', 'Only if it was started at this time; requires --builder-run', { check: instant }),
} as const;

function instant(value: string, name: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return value;
  throw new UsageError(`${name} must be the time that was displayed, such as 2026-07-18T09:00:00.000Z; "${value}" is not valid.`);
}

/** Identifies the builder run that a review applies to. */
export interface Guard {
  builder_run_id: string;
  expected_started_at?: string | null;
}

/** The guard from the flags, or that of the current builder run. */
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
  if (flags.expectedStartedAt !== undefined) throw new UsageError('--expected-started-at requires --builder-run.');
  const client = await context.client();
  const run = await client.call('getLatestBuilderRun', { params: { build_id: buildId } });
  context.terminal.note(`Request: ${firstLine(run.prompt ?? '')}`);
  for (const change of run.changes ?? []) context.terminal.note(`- ${firstLine(change)}`);
  return { builder_run_id: run.id, expected_started_at: run.started_at };
}

/** Carries out a verdict. @throws AopsError `builder_run_changed` (exit 6) with the current state */
export async function review(context: Context, verdict: Verdict, buildId: string, guard: Guard): Promise<ReviewedBuilderRun> {
  const client = await context.client();
  const params = { build_id: buildId };
  try {
    if (verdict === 'discard') return (await client.call('discardRevision', { params })).builder_run;
    const operation = verdict === 'accept' ? 'acceptRevision' : 'declineRevision';
    return (await client.call(operation, { params, body: guard })).builder_run;
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.status !== 409 || verdict === 'discard') throw error;
    throw await explainConflict(context, error, buildId, guard.builder_run_id);
  }
}

/** The error with what has changed since the proposal was displayed: another request, new answers, or a verdict by someone else. */
async function explainConflict(context: Context, error: ServiceAnswerError, buildId: string, reviewedId: string): Promise<Error> {
  const client = await context.client();
  const latestRun = await client.call('getLatestBuilderRun', { params: { build_id: buildId } }).catch(() => undefined);
  if (latestRun === undefined) return error;
  const since = latestRun.started_at === null ? 'not started yet' : `started ${latestRun.started_at}`;
  const what =
    latestRun.id === reviewedId
      ? `It is now ${latestRun.resolution ?? latestRun.status}, ${since}${latestRun.completed_at === null ? '' : `, ended ${latestRun.completed_at}`}.`
      : `Another builder run has replaced it: ${latestRun.id}, ${latestRun.status}, ${since}. Its request: ${firstLine(latestRun.prompt ?? '')}`;
  return new AopsError(`${error.message}\n${what}`, {
    code: error.code,
    exit: exitCodes.conflict,
    hint: `Nothing was changed. Show it with \`aops revisions builder-run ${buildId}\`.`,
    details: error.details,
  });
}

const resolutionTexts: Record<string, string> = {
  accepted: 'Accepted: the proposal was applied to the revision. Make a draft live with `aops revisions promote`.',
  declined: 'Declined: the revision is unchanged.',
  discarded: 'Discarded: the builder run has ended, and the revision is unchanged.',
};

export const verdictWords = (run: ReviewedBuilderRun): string => {
  const warnings = (run.warnings ?? []).map(({ title }) => `Still to set up: ${String(title)}.`);
  return [resolutionTexts[run.resolution ?? ''] ?? `The builder run is ${run.status}.`, ...warnings].join('\n');
};

export const verdictOutput = textOutput<ReviewedBuilderRun>(verdictWords);
