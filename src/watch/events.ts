/** The typed events of a run; the NDJSON of `runs watch -o ndjson` consists of exactly these. */
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';
import type { Enveloped } from './envelope.ts';

/** No requests are sent until then (ISO 8601), because the rate limit is used up. */
export interface WaitingBody {
  type: 'rate_limit.waiting';
  data: { wait_seconds: number; until: string };
}

interface Payloads {
  'run.status': { status: string; previous: string | null };
  message: { message: RunMessage };
  'human_request.pending': { human_request: HumanRequest };
  /** The service has recorded another reminder of a request that is still pending. */
  'human_request.reminder': { human_request: HumanRequest };
  /** `answered` when somebody has answered; `withdrawn` when the run no longer needs an answer. */
  'human_request.resolved': { human_request_id: string; title: string; resolution: 'answered' | 'withdrawn' };
  'rate_limit.waiting': WaitingBody['data'];
  'run.finished': { run: Run };
}

export type RunEventType = keyof Payloads;

export type RunEvent = Enveloped<Payloads, { run_id: string }, string>;

/** An event before it is numbered. */
export type RunEventBody = { [Type in RunEventType]: { type: Type; data: Payloads[Type] } }[RunEventType];
