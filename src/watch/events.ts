/** What happens to a run, as typed events; the NDJSON of `runs watch -o ndjson` is exactly this. */
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';

/** Nothing is asked of the service until then (ISO 8601), because the rate limit is used up. */
export interface WaitingBody {
  type: 'rate_limit.waiting';
  data: { wait_seconds: number; until: string };
}

interface Payloads {
  'run.status': { status: string; previous: string | null };
  message: { message: RunMessage };
  'human_request.pending': { human_request: HumanRequest };
  /** `answered` when an answer was given, wherever; `withdrawn` when the run no longer asks. */
  'human_request.resolved': { human_request_id: string; title: string; resolution: 'answered' | 'withdrawn' };
  'rate_limit.waiting': WaitingBody['data'];
  'run.finished': { run: Run };
}

export type RunEventType = keyof Payloads;

/** `v` is the version of this form; `seq` counts from 1 within one watch; `ts` is when it was seen, ISO 8601. */
export type RunEvent = {
  [Type in RunEventType]: { v: 1; seq: number; type: Type; run_id: string; ts: string; data: Payloads[Type] };
}[RunEventType];

/** An event before it is numbered. */
export type RunEventBody = { [Type in RunEventType]: { type: Type; data: Payloads[Type] } }[RunEventType];
