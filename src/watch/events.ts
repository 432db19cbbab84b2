/** The typed events of a run; the NDJSON of `runs watch -o ndjson` consists of exactly these. */
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';

/** No requests are sent until then (ISO 8601), because the rate limit is used up. */
export interface WaitingBody {
  type: 'rate_limit.waiting';
  data: { wait_seconds: number; until: string };
}

interface Payloads {
  'run.status': { status: string; previous: string | null };
  message: { message: RunMessage };
  'human_request.pending': { human_request: HumanRequest };
  /** `answered` when somebody has answered; `withdrawn` when the run no longer needs an answer. */
  'human_request.resolved': { human_request_id: string; title: string; resolution: 'answered' | 'withdrawn' };
  'rate_limit.waiting': WaitingBody['data'];
  'run.finished': { run: Run };
}

export type RunEventType = keyof Payloads;

/** `v` is the version of this format; `seq` counts from 1 within one watch; `ts` is when it was observed, ISO 8601. */
export type RunEvent = {
  [Type in RunEventType]: { v: 1; seq: number; type: Type; run_id: string; ts: string; data: Payloads[Type] };
}[RunEventType];

/** An event before it is numbered. */
export type RunEventBody = { [Type in RunEventType]: { type: Type; data: Payloads[Type] } }[RunEventType];
