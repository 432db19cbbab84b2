/**
 * Positions in a stream with many parts, such as the runs of a team, in a file: first the whole position, and then one line for each event
 * with what it changes. A short token then stands for the position after any of these events, on this machine. A line is written before
 * its event is printed, so that every token that was printed can be resolved, even if the process is killed.
 */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { crypto } from '../../base/crypto.ts';
import { UsageError } from '../../base/errors.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { InboxPoint, RunsPoint, StoredPoint } from '../../watch/resume/points.ts';
import { decodeToken, encodeToken } from '../../watch/resume/token.ts';
import type { Context } from '../kit/context.ts';
import { removeOldPositions } from './position-file.ts';

/** A position with many parts. In a change, a request with an empty run ID is no longer pending. */
export type LargePoint = RunsPoint | InboxPoint;

/** Bytes after which another file is begun; enough for more than 100,000 events. */
const largestFile = 16 * 1_048_576;

interface JournalFile {
  id: string;
  descriptor: number;
  bytes: number;
}

export class PointJournal {
  readonly #folder: string;
  readonly #largestFile: number;
  #file: JournalFile | undefined;
  /** The file before, of which tokens may still be in use; those before it are deleted. */
  #previousId: string | undefined;

  constructor({ paths }: Pick<Context, 'paths'>, bytes = largestFile) {
    this.#folder = folderOf(paths);
    this.#largestFile = bytes;
  }

  get isOpen(): boolean {
    return this.#file !== undefined;
  }

  /** Begins a file with a position. @throws AopsError `not_writable`, `disk_full` */
  begin(point: LargePoint): void {
    this.close();
    if (this.#previousId !== undefined) rmSync(fileOf(this.#folder, this.#previousId), { force: true });
    this.#previousId = this.#file?.id;
    const id = crypto().randomUUID();
    const file = fileOf(this.#folder, id);
    try {
      makeFolders(this.#folder, 0o700);
      this.#file = { id, descriptor: openSync(file, 'ax', 0o600), bytes: 0 };
    } catch (error) {
      throw writeFailure(error, file, 'AOPS_DATA_DIR');
    }
    this.#append(encodeToken(point));
  }

  /**
   * Adds an event, and returns the token of the position after it.
   * @param change what the event changes
   * @param whole the whole position after it, in case another file is begun
   */
  add(change: LargePoint, whole: () => LargePoint): string {
    if (this.#file === undefined || this.#file.bytes > this.#largestFile) this.begin(whole());
    else this.#append(encodeToken(change));
    return encodeToken({ stream: 'stored', seq: change.seq, journalId: (this.#file as JournalFile).id });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
  }

  #append(token: string): void {
    const file = this.#file as JournalFile;
    try {
      file.bytes += writeSync(file.descriptor, `${token}\n`);
    } catch (error) {
      throw writeFailure(error, fileOf(this.#folder, file.id), 'AOPS_DATA_DIR');
    }
  }
}

/**
 * A token that contains the position which a short token stands for; any other token unchanged.
 * @throws UsageError `resume_token_expired` if the position is not stored on this machine
 */
export function wholeToken({ paths }: Pick<Context, 'paths'>, token: string): string {
  const point = decodeToken(token);
  return point.stream === 'stored' ? encodeToken(readStored(folderOf(paths), point)) : token;
}

function readStored(folder: string, { journalId, seq }: StoredPoint): LargePoint {
  const [first, ...changes] = linesOf(fileOf(folder, journalId));
  if (first === undefined) throw expired();
  let point = decodeToken(first) as LargePoint;
  for (const line of changes) {
    if (point.seq >= seq) break;
    point = withChange(point, decodeToken(line) as LargePoint);
  }
  if (point.seq !== seq) throw expired();
  return point;
}

function linesOf(file: string): string[] {
  try {
    // The last line may be incomplete; its event was not printed.
    return readFileSync(file, 'utf8').split('\n').slice(0, -1);
  } catch (error) {
    if (isAbsent(error)) throw expired();
    throw readFailure(error, file);
  }
}

/** The position after an event. */
export function withChange(point: LargePoint, change: LargePoint): LargePoint {
  if (point.stream === 'runs' && change.stream === 'runs')
    return { ...change, runs: setAll(point.runs as Map<string, never>, change.runs as Map<string, never>) };
  if (point.stream !== 'inbox' || change.stream !== 'inbox') throw new RangeError('The position is of another stream.');
  const pending = setAll(point.pending, change.pending);
  for (const [id, { runId }] of change.pending) if (runId === '') pending.delete(id);
  return { ...change, pending };
}

/** Changes the map, which only the reader of a journal knows. */
function setAll<Value>(map: ReadonlyMap<string, Value>, changes: ReadonlyMap<string, Value>): Map<string, Value> {
  const changed = map as Map<string, Value>;
  for (const [id, value] of changes) changed.set(id, value);
  return changed;
}

const folderOf = ({ data }: Context['paths']): string => path.join(data, 'positions');
const fileOf = (folder: string, id: string): string => path.join(folder, `${id}.journal`);

const expired = (): UsageError =>
  new UsageError(
    'The position of this resume token is not stored on this machine; positions are deleted after 7 days.',
    'Continue on the machine that printed it, or pass an earlier `resume` that is long: it contains the whole position.',
    'resume_token_expired',
  );

/** Removes the files of processes that have ended a while ago. */
export const removeOldJournals = ({ paths }: Pick<Context, 'paths'>, now: number): Promise<void> =>
  removeOldPositions(folderOf(paths), now);
