/** How far the events of a run were reported. A position is never changed, so its bytes are computed once. */
import type { HumanRequest } from '../../interface/types.ts';
import { type TokenReader, TokenWriter } from './token-bytes.ts';

export interface RunPosition {
  /** The number of messages before the position, and the ID of the last one. */
  readonly offset: number;
  readonly lastMessageId: string | undefined;
  /** The last reported status; null before the first one. */
  readonly status: string | null;
  /** The request that was reported as pending, with its last reminder. */
  readonly request: Pick<HumanRequest, 'id' | 'title' | 'created_at' | 'reminded_at'> | null;
  /** When the run last received a message from a person, in milliseconds since the epoch. */
  readonly lastUserMessageAt: number | undefined;
  /** Whether the end of the run was reported. */
  readonly isFinished: boolean;
  /** The last event of the service's event stream, and the number of messages in the stream up to that event. */
  readonly stream: { readonly eventId: string; readonly messages: number } | undefined;
}

/** The position before the first event. */
export const runStart: RunPosition = {
  offset: 0,
  lastMessageId: undefined,
  status: null,
  request: null,
  lastUserMessageAt: undefined,
  isFinished: false,
  stream: undefined,
};

/** Statuses that take one byte. Tokens contain their indexes, so the list can only be extended at its end. */
const statuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'];

/** Which parts follow. */
const parts = { lastMessage: 1, status: 2, request: 4, lastUserMessage: 8, finished: 16, stream: 32, reminder: 64 };

const encodedPositions = new WeakMap<RunPosition, Buffer>();

export function writeRunPosition(writer: TokenWriter, position: RunPosition): void {
  let encoded = encodedPositions.get(position);
  if (encoded === undefined) {
    encoded = encode(position);
    encodedPositions.set(position, encoded);
  }
  writer.bytes(encoded);
}

function encode({ offset, lastMessageId, status, request, lastUserMessageAt, isFinished, stream }: RunPosition): Buffer {
  const flags =
    (lastMessageId === undefined ? 0 : parts.lastMessage) |
    (status === null ? 0 : parts.status) |
    (request === null ? 0 : parts.request) |
    (lastUserMessageAt === undefined ? 0 : parts.lastUserMessage) |
    (isFinished ? parts.finished : 0) |
    (stream === undefined ? 0 : parts.stream) |
    (request?.reminded_at === undefined ? 0 : parts.reminder);
  const writer = new TokenWriter().number(flags).number(offset);
  if (lastMessageId !== undefined) writer.id(lastMessageId);
  if (status !== null) {
    const index = statuses.indexOf(status) + 1;
    writer.number(index);
    if (index === 0) writer.text(status);
  }
  if (request !== null) writer.id(request.id).text(request.title).number(milliseconds(request.created_at));
  if (request?.reminded_at !== undefined) writer.number(milliseconds(request.reminded_at));
  if (lastUserMessageAt !== undefined) writer.number(Math.max(0, lastUserMessageAt));
  if (stream !== undefined) writer.text(stream.eventId).number(stream.messages);
  return writer.end();
}

/** @throws RangeError */
export function readRunPosition(reader: TokenReader): RunPosition {
  const flags = reader.number();
  const has = (part: keyof typeof parts): boolean => (flags & parts[part]) !== 0;
  return {
    offset: reader.number(),
    lastMessageId: has('lastMessage') ? reader.id() : undefined,
    status: has('status') ? readStatus(reader) : null,
    request: has('request')
      ? {
          ...{ id: reader.id(), title: reader.text(), created_at: dateTime(reader.number()) },
          ...(has('reminder') && { reminded_at: dateTime(reader.number()) }),
        }
      : null,
    lastUserMessageAt: has('lastUserMessage') ? reader.number() : undefined,
    isFinished: has('finished'),
    stream: has('stream') ? { eventId: reader.text(), messages: reader.number() } : undefined,
  };
}

function readStatus(reader: TokenReader): string {
  const index = reader.number();
  if (index === 0) return reader.text();
  const status = statuses[index - 1];
  if (status === undefined) throw new RangeError('The status is unknown.');
  return status;
}

/** Milliseconds since the epoch of an ISO 8601 time; 0 for a text that is not one. */
const milliseconds = (time: string): number => Math.max(0, Date.parse(time) || 0);

const dateTime = (time: number): string => {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new RangeError('The time is invalid.');
  return date.toISOString();
};
