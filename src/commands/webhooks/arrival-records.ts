/** The lines of the files in which a listener records its events, and what they say about a position. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { isObject, jsonValue } from '../../base/values.ts';
import type { ReceivedPoint } from '../../watch/resume/points.ts';
import type { ListenerEvent } from './listener-output.ts';

/** A line of a file. The first one is a `Beginning`; the last one may name the file that continues it. */
export type Line = Beginning | ListenerEvent | { answered: string } | { webhook: string } | { next: string };

export interface Beginning {
  /** The first file of the journal. */
  journal: string;
  /** The file before, of which tokens may still be in use. */
  previous: string | null;
}

/** What is known after the last line. */
export interface Records {
  /** The last file. */
  fileId: string;
  previousId: string | null;
  /** The length of the complete lines of the last file. */
  bytes: number;
  webhookId: string | undefined;
  /** The IDs of the deliveries, oldest first. */
  seenIds: string[];
  /** Deliveries that were accepted, but whose senders may not know it; by their IDs, with the status of the response. */
  unanswered: Map<string, number>;
  /** The events after the position. */
  unprinted: ListenerEvent[];
}

export const emptyRecords = (fileId: string): Records => ({
  ...{ fileId, previousId: null, bytes: 0, webhookId: undefined },
  ...{ seenIds: [], unanswered: new Map(), unprinted: [] },
});

export const fileOf = (folder: string, id: string): string => path.join(folder, `${id}.journal`);

/** The first file of the journal of a position. @throws UsageError `resume_token_expired` */
export function journalOf(folder: string, { journalId }: ReceivedPoint): string {
  const [beginning] = linesOf(fileOf(folder, journalId)).lines;
  if (typeof beginning?.journal !== 'string') throw expired();
  return beginning.journal;
}

/**
 * Reads the file of a position, the one before, and those after it.
 * @throws UsageError `resume_token_expired` if there is no such position
 */
export function readRecords(folder: string, { journalId, seq }: ReceivedPoint): Records {
  const records = emptyRecords(journalId);
  const [beginning] = linesOf(fileOf(folder, journalId)).lines;
  if (typeof beginning?.previous === 'string')
    try {
      readFile(folder, beginning.previous, seq, records);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
    }
  let lastSeq = 0;
  for (let id: string | undefined = journalId; id !== undefined; ) {
    const read = readFile(folder, id, seq, records);
    lastSeq = read.lastSeq ?? lastSeq;
    id = read.next;
  }
  if (lastSeq < seq) throw expired();
  return records;
}

/** Adds the lines of a file. @param seq the position */
function readFile(folder: string, id: string, seq: number, records: Records): { lastSeq?: number; next?: string } {
  const { lines, bytes } = linesOf(fileOf(folder, id));
  Object.assign(records, { fileId: id, bytes });
  const result: { lastSeq?: number; next?: string } = {};
  for (const line of lines) {
    if (typeof line.journal === 'string') records.previousId = (line as unknown as Beginning).previous;
    else if (typeof line.webhook === 'string') records.webhookId = line.webhook;
    else if (typeof line.answered === 'string') records.unanswered.delete(line.answered);
    else if (typeof line.next === 'string') result.next = line.next;
    else if (typeof line.seq === 'number') {
      result.lastSeq = line.seq;
      addEvent(records, line as ListenerEvent, seq);
    }
  }
  return result;
}

function addEvent(records: Records, event: ListenerEvent, seq: number): void {
  if (event.seq > seq) records.unprinted.push(event);
  if (event.type !== 'delivery') return;
  const id = String(event.id);
  records.seenIds.push(id);
  const status = acceptedStatus(event);
  if (status !== undefined) records.unanswered.set(id, status);
}

/** The status that the sender of a delivery gets; undefined unless it is a success. */
export function acceptedStatus({ forwarded }: ListenerEvent): number | undefined {
  if (!isObject(forwarded)) return 204;
  const { status } = forwarded;
  return typeof status === 'number' && status < 300 ? status : undefined;
}

/** The complete lines of a file, and their length in bytes. */
function linesOf(file: string): { lines: Record<string, unknown>[]; bytes: number } {
  try {
    const content = readFileSync(file);
    const bytes = content.lastIndexOf('\n') + 1;
    const lines = content.subarray(0, bytes).toString('utf8').split('\n').map(jsonValue).filter(isObject);
    return { lines, bytes };
  } catch (error) {
    if (isAbsent(error)) throw expired();
    throw readFailure(error, file);
  }
}

const expired = (): UsageError =>
  new UsageError(
    'The deliveries after this resume token are not stored on this machine; they are deleted after 7 days.',
    'Continue on the machine that printed it, or start without --resume.',
    'resume_token_expired',
  );
