/**
 * The position of a reader in the events of a run. The ID of each event contains the whole position, so that the service stores
 * nothing about its readers and can continue a stream after a restart.
 */
import { ServiceError } from '../errors.ts';
import type { Queries } from '../store/database/database.ts';
import type { RunRow } from '../store/database/schema.ts';
import { requestOf } from '../store/runs/human-requests.ts';
import { countMessages, messageIdAt } from '../store/runs/messages.ts';
import { isTerminal } from '../store/runs/runs.ts';

export interface RunPosition {
  /** Number of the last message, 0 before the first. */
  seq: number;
  /** The beginning of that message's ID, because messages can change when a backup is restored. Empty before the first. */
  mark: string;
  /** The last status; null before the first one. */
  status: string | null;
  /** ID of the human request that was last reported as pending. */
  request: string | null;
  /** How many reminders of it were reported, or preceded it. */
  reminders: number;
  /** How often the run had been continued when its end was reported last; null if it was not, or the run has another status since. */
  finished: number | null;
}

export const runStart = (): RunPosition => ({ seq: 0, mark: '', status: null, request: null, reminders: 0, finished: null });

/** Whether the run has ended, and that was reported: an end before it was continued is another one. */
export const isEndReported = (position: RunPosition, run: Pick<RunRow, 'status' | 'resume_count'>): boolean =>
  isTerminal(run.status) && position.finished === run.resume_count && position.status === run.status;

/** The position of a reader that only wants what happens from now on. */
export async function runPresent(db: Queries, run: Pick<RunRow, 'id' | 'status' | 'resume_count'>): Promise<RunPosition> {
  const [request, seq] = [await requestOf(db, run), await countMessages(db, run.id)];
  const mark = markOf((await messageIdAt(db, run.id, seq)) ?? '');
  return {
    ...{ seq, mark, status: run.status, finished: isTerminal(run.status) ? run.resume_count : null },
    request: request?.id ?? null,
    reminders: request?.reminders ?? 0,
  };
}

/** How many characters of a message's ID a position contains. */
const markLength = 8;

export const markOf = (messageId: string): string => messageId.slice(0, markLength);

/** The position as the ID of an event. */
export const runEventId = ({ seq, mark, status, request, reminders, finished }: RunPosition): string =>
  [
    seq,
    mark,
    status ?? '',
    `${request ?? ''}${reminders === 0 ? '' : `~${reminders}`}`,
    finished === null ? '' : `end${finished || ''}`,
  ].join('.');

/** The numbers after the request and after the end are missing in the IDs of earlier versions, and if they are 0. */
const form = /^(\d{1,15})\.([\w-]{0,8})\.([a-z_]*)\.([\w-]*)(?:~(\d{1,9}))?\.(?:end(\d{0,9}))?$/;

/** The position in a `Last-Event-ID`. @throws ServiceError 400 `invalid_request` if it is not one */
export function runPosition(id: string): RunPosition {
  const [, seq, mark = '', status, request, reminders = '0', end] = form.exec(id) ?? [];
  if (seq === undefined) throw foreignEventId();
  return {
    ...{ seq: Number(seq), mark, status: status || null, finished: end === undefined ? null : Number(end) },
    request: request || null,
    reminders: Number(reminders),
  };
}

/** The ID of an event in a stream of several runs. */
export const runsEventId = (runId: string, eventId: string): string => `${runId}:${eventId}`;

/** The position in each run, from the `Last-Event-ID` of a stream of several runs. @throws ServiceError 400 `invalid_request` */
export function runPositions(lastEventIds: string | undefined): Map<string, RunPosition> {
  if (lastEventIds === undefined) return new Map();
  return new Map(
    lastEventIds.split(',').map((each) => {
      const [, runId = '', eventId = ''] = /^([0-9a-f-]{36}):(.*)$/.exec(each) ?? [];
      return [runId, runPosition(eventId)];
    }),
  );
}

/** The error for a `Last-Event-ID` that does not belong to the stream. */
export const foreignEventId = (): ServiceError =>
  new ServiceError(
    400,
    'invalid_request',
    'The Last-Event-ID is not the ID of an event of this stream. Leave it out to read from the start.',
  );
