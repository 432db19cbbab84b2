/**
 * How far a reader of a run's events has come. The id of each event holds all of it, so that the service remembers nothing about
 * its readers and can continue a stream after a restart.
 */
import { ServiceError } from '../errors.ts';
import type { Queries } from '../store/database/database.ts';
import type { RunRow } from '../store/database/schema.ts';
import { pendingRequest } from '../store/runs/human-requests.ts';
import { countMessages, messageIdAt } from '../store/runs/messages.ts';
import { isTerminal } from '../store/runs/runs.ts';

export interface RunPosition {
  /** Number of the last message, 0 before the first. */
  seq: number;
  /** How the id of that message begins: messages that were restored from a backup may be others. Empty before the first. */
  mark: string;
  /** The last status; null before there was one. */
  status: string | null;
  /** Id of the human request that is known as pending. */
  request: string | null;
  /** Whether the end of the run was told. */
  finished: boolean;
}

export const runStart = (): RunPosition => ({ seq: 0, mark: '', status: null, request: null, finished: false });

/** The position of a reader who wants only what happens from now on. */
export async function runPresent(db: Queries, run: Pick<RunRow, 'id' | 'status'>): Promise<RunPosition> {
  const [request, seq] = [await pendingRequest(db, run.id), await countMessages(db, run.id)];
  const mark = markOf((await messageIdAt(db, run.id, seq)) ?? '');
  return { seq, mark, status: run.status, request: request?.id ?? null, finished: isTerminal(run.status) };
}

/** How much of a message's id a position has. */
const markLength = 8;

export const markOf = (messageId: string): string => messageId.slice(0, markLength);

/** The position as the id of an event. */
export const runEventId = ({ seq, mark, status, request, finished }: RunPosition): string =>
  [seq, mark, status ?? '', request ?? '', finished ? 'end' : ''].join('.');

const form = /^(\d{1,15})\.([\w-]{0,8})\.([a-z_]*)\.([\w-]*)\.(end)?$/;

/** The position that a `Last-Event-ID` stands for. @throws ServiceError 400 `invalid_request` when it is not one of these */
export function runPosition(id: string): RunPosition {
  const [, seq, mark = '', status, request, end] = form.exec(id) ?? [];
  if (seq === undefined) throw foreignEventId();
  return { seq: Number(seq), mark, status: status || null, request: request || null, finished: end !== undefined };
}

/** The refusal of a `Last-Event-ID` that no event of the stream had. */
export const foreignEventId = (): ServiceError =>
  new ServiceError(
    400,
    'invalid_request',
    'The Last-Event-ID is not the id of an event of this stream. Leave it out to read from the start.',
  );
