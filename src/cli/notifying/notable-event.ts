/** The events that people and programs can be notified of, and how they are put into words. Pure. */
import { omitUndefined } from '../../base/omit-undefined.ts';
import { firstLine } from '../../base/values.ts';
import type { Run } from '../../interface/types.ts';

/** An event of a run or of the inbox, exactly as `-o ndjson` prints it. */
export interface StreamedEvent {
  readonly type: string;
  readonly run_id: string;
  readonly data: object;
}

/** Types of events for which --exec runs its command. */
export const notableTypes: ReadonlySet<string> = new Set([
  'human_request.pending',
  'human_request.resolved',
  'human_request.reminder',
  'run.finished',
]);

/** The parts of an event that notifications and variables contain. */
export interface EventFacts {
  requestId?: string;
  requestTitle?: string;
  agentName?: string;
  runNumber?: number;
  run?: Run;
  /** Of an inbox of several profiles. */
  profile?: string;
}

interface Payload {
  human_request?: { id: string; title: string; agent_name?: string; run_number?: number | null; profile?: string | null };
  human_request_id?: string;
  title?: string;
  profile?: string;
  run?: Run;
}

export function factsOf({ data }: StreamedEvent): EventFacts {
  const { human_request: request, human_request_id, title, run, profile: eventProfile } = data as Payload;
  const requestId = request?.id ?? human_request_id;
  const requestTitle = request?.title ?? title;
  const profile = request?.profile ?? eventProfile;
  const runNumber = run?.run_number ?? request?.run_number;
  return omitUndefined({
    requestId,
    requestTitle,
    agentName: request?.agent_name,
    runNumber: runNumber ?? undefined,
    run,
    profile: profile ?? undefined,
  });
}

/** The text of a notification; undefined for an event of which nobody is notified, such as an answered request. */
export function notificationText(event: StreamedEvent): string | undefined {
  const facts = factsOf(event);
  switch (event.type) {
    case 'human_request.pending':
      return `${nameOf(event, facts)} needs an answer: ${facts.requestTitle}`;
    case 'human_request.reminder':
      return `${nameOf(event, facts)} is still waiting for an answer: ${facts.requestTitle}`;
    case 'run.finished':
      return `${nameOf(event, facts)} ${outcome(facts.run)}`;
    default:
      return undefined;
  }
}

/** `payer #7`, `Run #7`, or the beginning of the ID. */
function nameOf({ run_id }: StreamedEvent, { agentName, runNumber, profile }: EventFacts): string {
  return `${profile === undefined ? '' : `${profile}: `}${agentName ?? 'Run'} ${runNumber === undefined ? run_id.slice(0, 8) : `#${runNumber}`}`;
}

function outcome(run: Run | undefined): string {
  if (run?.status === 'failed') return run.error ? `failed: ${firstLine(run.error)}` : 'failed';
  return run?.status === 'interrupted' ? 'was interrupted' : 'completed';
}
