/**
 * A builder run as a stream of events, until it waits for a review or has ended. What it asks is an event; it goes on
 * when somebody has answered.
 */
import type { Client } from '../client/client.ts';
import type { BuilderRun, BuilderRunProgress, HumanRequest } from '../interface/types.ts';
import type { WaitingBody } from './events.ts';
import { type Call, polled, type WatchOptions } from './polled.ts';

interface Payloads {
  'builder_run.status': { status: string; previous: string | null };
  'builder_run.phase': { phase: string };
  'builder_run.asking': { questions: HumanRequest };
  'builder_run.answered': { request_id: string };
  'rate_limit.waiting': WaitingBody['data'];
  /** It waits to be accepted or declined. */
  'builder_run.proposed': { builder_run: BuilderRun };
  /** Only how far it came, when another one has taken its place. */
  'builder_run.finished': { builder_run: BuilderRun | BuilderRunProgress };
}

/** As the events of runs: `v` is the version of this form, `seq` counts from 1, `ts` is when it was seen. */
export type BuilderRunEvent = {
  [Type in keyof Payloads]: { v: 1; seq: number; type: Type; builder_run_id: string; ts: string; data: Payloads[Type] };
}[keyof Payloads];

type Body = { [Type in keyof Payloads]: { type: Type; data: Payloads[Type] } }[keyof Payloads];

/** Which builder run is followed. */
export interface BuilderRunIds {
  buildId: string;
  builderRunId: string;
}

interface State {
  status: string | null;
  phase: string | null;
  asking: string | undefined;
}

/**
 * Yields what happens. Ends after `builder_run.proposed` or `builder_run.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchBuilderRun(
  client: Client,
  ids: BuilderRunIds,
  options: WatchOptions,
): AsyncGenerator<BuilderRunEvent, void, undefined> {
  const state: State = { status: null, phase: null, asking: undefined };
  let seq = 0;
  for await (const body of polled(client, options, (call) => look(call, ids, state))) {
    seq += 1;
    const ts = new Date(options.clock.now()).toISOString();
    yield { v: 1, seq, type: body.type, builder_run_id: ids.builderRunId, ts, data: body.data } as BuilderRunEvent;
    if (body.type === 'builder_run.proposed' || body.type === 'builder_run.finished') return;
  }
}

async function* look(call: Call, ids: BuilderRunIds, state: State): AsyncGenerator<Body, void, undefined> {
  const progress = await call('getBuilderRunStatus', { params: { builder_run_id: ids.builderRunId } });
  const { phase } = progress;
  if (typeof phase === 'string' && phase !== state.phase) yield { type: 'builder_run.phase', data: { phase } };
  state.phase = phase;
  const working = progress.status === 'running';
  // Everything but work is told in full by the builder run itself.
  const run = working ? undefined : await call('getLatestBuilderRun', { params: { build_id: ids.buildId } });
  const own = run?.id === ids.builderRunId ? run : undefined;
  const questions = own && questionsOf(own);
  // It was asked for later, and may have moved on since.
  const status = own?.status ?? progress.status;
  if (state.asking !== undefined && state.asking !== questions?.id) {
    // One that was discarded takes its questions with it.
    if (status !== 'cancelled') yield { type: 'builder_run.answered', data: { request_id: state.asking } };
    state.asking = undefined;
  }
  if (status !== state.status) yield { type: 'builder_run.status', data: { status, previous: state.status } };
  state.status = status;
  if (questions && questions.id !== state.asking) {
    yield { type: 'builder_run.asking', data: { questions } };
    state.asking = questions.id;
  }
  if (own?.status === 'waiting_for_approve') yield { type: 'builder_run.proposed', data: { builder_run: own } };
  else if (!working && isEnded(status)) yield { type: 'builder_run.finished', data: { builder_run: own ?? progress } };
}

const isEnded = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'cancelled';

/** What a builder run asks now, in the form of a human request; undefined when it asks nothing, or in a form that is not known. */
export function questionsOf(run: BuilderRun): HumanRequest | undefined {
  const asked = run.pending_user_questions as Partial<HumanRequest> | null;
  if (run.status !== 'waiting_for_input' || asked === null || !Array.isArray(asked.questions)) return undefined;
  const [first] = asked.questions;
  return {
    id: asked.id ?? run.id,
    type: 'question',
    title: asked.title ?? first?.question ?? '',
    description: asked.description ?? null,
    created_at: asked.created_at ?? run.started_at ?? '',
    questions: asked.questions,
  };
}
