/** Watching a builder run: its questions are answered next to it; its proposal is displayed, and accepted, declined or left for later. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { RequestAnswerer } from '../../cli/following/request-answerer.ts';
import { type FollowInput, type FollowOptions, followFlags, followOptions, responderHere } from '../../cli/following/responder.ts';
import type { Resumption } from '../../cli/following/resumption.ts';
import { forPeople, viewOf } from '../../cli/kit/audience.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag } from '../../cli/kit/flags.ts';
import { recordOutput, status } from '../../cli/kit/output.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { Client } from '../../client/client.ts';
import type { BuilderRun, BuilderRunProgress, HumanRequest } from '../../interface/types.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import { EventSequence } from '../../watch/envelope.ts';
import { Pace } from '../../watch/pace.ts';
import type { BuilderRunPoint } from '../../watch/resume/points.ts';
import {
  type BuilderRunEvent,
  type BuilderRunIds,
  builderRunStart,
  builderRunToken,
  questionsOf,
  watchBuilderRun,
} from '../../watch/watch-builder-run.ts';
import { builderRequester } from './questions.ts';
import { review, type Verdict, verdictWords } from './review.ts';
import { builderRunSheet } from './sheet.ts';
import { type BuilderSink, newSink } from './sinks.ts';

export const reviewFlags = {
  ...followFlags,
  accept: flag('Accept the proposal without asking'),
  decline: flag('Display the proposal and decline it without asking'),
} as const;

/** The operations for watching and reviewing. */
export const reviewOperations = [
  'getBuilderRunStatus',
  'getLatestBuilderRun',
  'answerBuilderRun',
  'acceptRevision',
  'declineRevision',
  'discardRevision',
] as const;

/** The output for a builder run that was not watched. */
export const builderRunOutput = recordOutput<BuilderRun | BuilderRunProgress>((run) => ({
  'Builder run': run.id,
  Revision: run.build_id,
  Status: status(run.status),
}));

export interface ReviewOptions extends FollowOptions {
  verdict: Verdict | undefined;
}

/** @throws UsageError */
export async function reviewOptions(context: Context, input: FollowInput & { accept: boolean; decline: boolean }): Promise<ReviewOptions> {
  if (input.accept && input.decline) throw new UsageError('--accept and --decline cannot be combined.');
  const verdict = input.accept ? 'accept' : input.decline ? 'decline' : undefined;
  return { ...(await followOptions(context, input, 'builder_run_id')), verdict };
}

type WatchResult = BuilderRun | BuilderRunProgress;

const fromTheStart: Resumption<BuilderRunPoint> = { point: undefined };

/**
 * Watches a builder run to its review and carries that out. Resolves to the result to print.
 * @param resumption where to begin
 * @throws AopsError exit 12 when it waits for a decision that cannot be made here, exit 10 or 11 when it failed or was discarded
 */
export async function followBuilderRun(
  context: Context,
  ids: BuilderRunIds,
  options: ReviewOptions,
  { point, ...resumption }: Resumption<BuilderRunPoint> = fromTheStart,
): Promise<WatchResult | undefined> {
  const client = await context.client();
  const start = point && { seq: point.seq, position: point };
  // What was reported before, and is still true, is not reported again, but still needs an answer or ends the command.
  const reported = point && (await readBeforeWatching(context, async (reading) => reportedState(await reading.client(), point)));
  const sink = await newSink(context, resumption);
  const stop = new AbortController();
  const pace = new Pace(context.clock);
  const answerer = new RequestAnswerer(responderHere(context, options), builderRequester(client, ids), {
    sink,
    streamController: stop,
    pace,
  });
  const signal = AbortSignal.any([context.signal, stop.signal]);
  let isReviewing = false;
  try {
    if (reported?.end) {
      sink.close();
      if (reported.end.status !== 'waiting_for_approve') return resultOf(context, reported.end);
      isReviewing = true;
      return await settle(context, sink, point?.seq ?? 0, reported.end as BuilderRun, options);
    }
    if (reported?.questions) answerer.startAnswer(reported.questions);
    const onOutage = outageNotes(context);
    const watchOptions = { clock: context.clock, signal, pace, onOutage, waitsIndefinitely: answerer.isBusy };
    for await (const event of watchBuilderRun(client, ids, watchOptions, start)) {
      await sink.event(event);
      if (event.type === 'builder_run.asking') answerer.startAnswer(event.data.questions);
      if (event.type === 'builder_run.answered') await answerer.endAnswer(true);
      if (event.type === 'builder_run.proposed' || event.type === 'builder_run.finished') {
        await answerer.end();
        sink.close();
        if (event.type === 'builder_run.finished') return resultOf(context, event.data.builder_run);
        isReviewing = true;
        return await settle(context, sink, event.seq, event.data.builder_run, options);
      }
    }
    throw new Error('the stream of events ended before the builder run');
  } catch (error) {
    if (error === context.signal.reason || error instanceof PromptCancelled) {
      const missingInput = isReviewing ? 'a decision' : 'an answer';
      const state = answerer.isOpen || isReviewing ? `is waiting for ${missingInput}` : 'continues';
      context.terminal.advise(`Detached. The builder run ${state}. Come back with: aops revisions watch ${ids.buildId}`);
    }
    throw await withResult(context, client, ids, error);
  } finally {
    await answerer.end();
    sink.close();
  }
}

/** The questions that were reported as pending and still are, and the builder run if its proposal or its end was reported and nothing has changed. */
async function reportedState(client: Client, point: BuilderRunPoint): Promise<{ questions?: HumanRequest; end?: WatchResult }> {
  const { buildId, builderRunId, questionId, isReported, status } = point;
  const run = await client.call('getLatestBuilderRun', { params: { build_id: buildId } });
  const progress = run.id === builderRunId ? run : await client.call('getBuilderRunStatus', { params: { builder_run_id: builderRunId } });
  if (isReported && progress.status === status) return { end: progress };
  const questions = run.id === builderRunId ? questionsOf(run) : undefined;
  return questions !== undefined && questions.id === questionId ? { questions } : {};
}

/** Adds the builder run as the result to an error with exit 12, if results are printed. */
async function withResult(context: Context, client: Client, { buildId, builderRunId }: BuilderRunIds, error: unknown): Promise<unknown> {
  if (!prints(context) || !(error instanceof AopsError) || error instanceof ResultError || error.exit !== exitCodes.runWaiting)
    return error;
  const run = await client.call('getLatestBuilderRun', { params: { build_id: buildId } }).catch(() => undefined);
  return run?.id === builderRunId ? new ResultError(error, run) : error;
}

/** Whether the result is printed at the end. People have seen everything already. */
const prints = (context: Context): boolean => context.format !== 'ndjson' && !forPeople(context);

/** Displays the proposal, and reviews it as the flags or the person decide; otherwise it stays open. */
async function settle(
  context: Context,
  sink: BuilderSink,
  seq: number,
  run: BuilderRun,
  options: ReviewOptions,
): Promise<WatchResult | undefined> {
  const { terminal, signal } = context;
  if (forPeople(context)) await terminal.write(await builderRunSheet(run, await viewOf(context)));
  const buildId = run.build_id as string;
  const verdict = options.verdict ?? (options.onRequest === 'prompt' ? await ask(context, signal) : undefined);
  if (verdict === undefined) throw waitingForReview(context, run, buildId, options.onRequest === 'prompt');
  const reviewed = await review(context, verdict, buildId, { builder_run_id: run.id, expected_started_at: run.started_at });
  const finishedRun: BuilderRun = { ...run, ...reviewed, phase: null, schedule_suggested: run.schedule_suggested };
  const finished = { type: 'builder_run.finished', data: { builder_run: finishedRun } };
  const position = { ...builderRunStart.position, status: finishedRun.status, isReported: true };
  const token = (number: number): string => builderRunToken({ buildId, builderRunId: run.id }, position, number);
  await sink.event(new EventSequence(context.clock, seq).next<BuilderRunEvent>(finished, { builder_run_id: run.id }, token));
  if (forPeople(context)) terminal.note(verdictWords(reviewed));
  return prints(context) ? finishedRun : undefined;
}

async function ask(context: Context, signal: AbortSignal): Promise<Verdict | undefined> {
  const verdict = await context.prompter.select(
    {
      message: 'What do you want to do with this proposal?',
      neutral: true,
      choices: [
        { name: 'Accept', value: 'accept' as const, description: 'Apply the proposal to the revision' },
        { name: 'Decline', value: 'decline' as const, description: 'Leave the revision unchanged' },
        { name: 'Discard', value: 'discard' as const, description: 'Discard the builder run' },
        { name: 'Leave it for later', value: undefined },
      ],
    },
    { signal, unsolicited: true },
  );
  return verdict;
}

/**
 * The error for a proposal without a decision: exit 12, with the commands to decide.
 * @param isIntended whether the person chose to leave it for later
 */
function waitingForReview(context: Context, run: BuilderRun, buildId: string, isIntended: boolean): AopsError {
  const guard = `--builder-run ${run.id}${run.started_at === null ? '' : ` --expected-started-at ${run.started_at}`}`;
  const error = new AopsError('The builder run proposes a change and is waiting for it to be accepted or declined.', {
    code: 'builder_run_waiting_for_approve',
    exit: exitCodes.runWaiting,
    isIntended,
    hint: `Accept it with \`aops revisions accept ${buildId} ${guard}\`, or use \`decline\` instead of \`accept\`.`,
  });
  return prints(context) ? new ResultError(error, run) : error;
}

/** The result of a builder run that ended by itself or was ended by someone else. */
function resultOf(context: Context, run: WatchResult): WatchResult | undefined {
  if (run.status === 'completed') {
    if (forPeople(context)) context.terminal.note('The builder run is complete: its proposal was accepted.');
    return prints(context) ? run : undefined;
  }
  const failed = run.status === 'failed';
  const error = new AopsError(
    failed
      ? `The builder run failed: ${run.error ?? ''}`.trimEnd()
      : `The builder run was ${('resolution' in run && run.resolution) || 'cancelled'}.`,
    {
      code: failed ? 'builder_run_failed' : 'builder_run_cancelled',
      exit: failed ? exitCodes.runFailed : exitCodes.runInterrupted,
      hint: 'Try again with `aops revisions generate`; docs/revisions.md lists what the builder of the local service understands.',
    },
  );
  throw prints(context) ? new ResultError(error, run) : error;
}
