/**
 * The events of a listener to which anybody sends deliveries, in a file: a service may not list them, so this machine is the only one that
 * knows them. Each is written before it is printed, and printed before its sender gets a response. After the process was killed, whatever
 * was not printed is printed from the file, and whatever was not recorded is sent again.
 */
import { closeSync, futimesSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import { crypto } from '../../base/crypto.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { removeOldJournals } from '../../cli/following/point-journal.ts';
import type { Context } from '../../cli/kit/context.ts';
import { processMark } from '../../cli/kit/process-mark.ts';
import type { ReceivedPoint } from '../../watch/resume/points.ts';
import { encodeToken } from '../../watch/resume/token.ts';
import { emptyRecords, fileOf, journalOf, type Line, type Records, readRecords } from './arrival-records.ts';
import type { ListenerEvent } from './listener-output.ts';

/** A lock of a process that was killed on another machine blocks its successor for this long, in milliseconds. */
const staleMilliseconds = 2_000;
/** Bytes after which another file is begun. */
const largestFile = 32 * 1_048_576;

/** The parts of a context that a journal needs. */
type Needed = Pick<Context, 'paths' | 'clock' | 'signal' | 'launcher'>;

export class ArrivalJournal {
  /** What was recorded before. */
  readonly records: Readonly<Records>;
  readonly #folder: string;
  readonly #journalId: string;
  readonly #unlock: Unlock;
  readonly #largestFile: number;
  #webhookId: string | undefined;
  #fileId: string;
  #previousId: string | null;
  #descriptor: number;
  #bytes: number;

  private constructor(
    { folder, journalId, unlock, maxBytes }: { folder: string; journalId: string; unlock: Unlock; maxBytes: number },
    records: Records,
  ) {
    this.#folder = folder;
    this.#journalId = journalId;
    this.#unlock = unlock;
    this.#largestFile = maxBytes;
    this.records = records;
    this.#webhookId = records.webhookId;
    this.#fileId = records.fileId;
    this.#previousId = records.previousId;
    this.#bytes = records.bytes;
    const file = fileOf(folder, records.fileId);
    // The end of a line that was being written when the process was killed is removed; its event was not printed.
    if (this.#bytes > 0) truncateSync(file, this.#bytes);
    this.#descriptor = openSync(file, this.#bytes > 0 ? 'a' : 'ax', 0o600);
    if (this.#bytes === 0) this.#write({ journal: journalId, previous: null });
  }

  /**
   * Begins a journal, or continues that of a position.
   * @throws UsageError `resume_token_expired` if it is not on this machine; AopsError `stream_in_use`, `not_writable`, `disk_full`
   */
  static async open(
    { paths, clock, signal, launcher }: Needed,
    point: ReceivedPoint | undefined,
    maxBytes = largestFile,
  ): Promise<ArrivalJournal> {
    const folder = path.join(paths.data, 'positions');
    let unlock: Unlock | undefined;
    try {
      makeFolders(folder, 0o700);
      const journalId = point === undefined ? crypto().randomUUID() : journalOf(folder, point);
      const lock = `${fileOf(folder, journalId)}.lock`;
      const waitMilliseconds = staleMilliseconds * 1.5;
      unlock = await takeLock(lock, { staleMilliseconds, waitMilliseconds, signal, ...processMark({ launcher }) });
      if (unlock === undefined) throw inUse();
      removeOldJournals({ paths }, clock.now()).catch(() => undefined);
      const records = point === undefined ? emptyRecords(journalId) : readRecords(folder, point);
      return new ArrivalJournal({ folder, journalId, unlock, maxBytes }, records);
    } catch (error) {
      unlock?.();
      throw writeFailure(error, folder, 'AOPS_DATA_DIR');
    }
  }

  /** Notes which temporary webhook sends here. */
  recordWebhook(id: string): void {
    this.#webhookId = id;
    this.#write({ webhook: id });
  }

  /** The token of the position after an event that was recorded. */
  tokenAfter = (seq: number): string => encodeToken({ stream: 'received', seq, journalId: this.#fileId });

  /** Writes an event, which can then be printed. @throws AopsError `not_writable`, `disk_full` */
  record = (event: ListenerEvent): void => {
    if (this.#bytes > this.#largestFile) this.#beginFile();
    this.#write(event);
  };

  /** Notes that the sender of an accepted delivery has got the response. */
  recordAnswer(id: string): void {
    this.#write({ answered: id });
  }

  /**
   * The status of the response to a delivery that was accepted before the process was killed, and that its sender repeats; undefined for
   * all others. Each is returned once.
   */
  takeUnanswered(id: string): number | undefined {
    const status = this.records.unanswered.get(id);
    this.records.unanswered.delete(id);
    return status;
  }

  /** Prevents the file from being removed as an old one. @param now in milliseconds since the epoch */
  touch(now: number): void {
    futimesSync(this.#descriptor, now / 1_000, now / 1_000);
  }

  /** @param isNeeded whether a token of it is known to anybody; otherwise it is removed */
  close(isNeeded: boolean): void {
    closeSync(this.#descriptor);
    if (!isNeeded) for (const id of [this.#previousId, this.#fileId]) if (id !== null) rmSync(fileOf(this.#folder, id), { force: true });
    this.#unlock();
  }

  #beginFile(): void {
    const id = crypto().randomUUID();
    const file = fileOf(this.#folder, id);
    const [previousDescriptor, oldId] = [this.#descriptor, this.#previousId];
    try {
      const descriptor = openSync(file, 'ax', 0o600);
      // It is complete before the file before refers to it.
      writeLine(descriptor, { journal: this.#journalId, previous: this.#fileId });
      if (this.#webhookId !== undefined) writeLine(descriptor, { webhook: this.#webhookId });
      this.#write({ next: id });
      [this.#previousId, this.#fileId, this.#descriptor, this.#bytes] = [this.#fileId, id, descriptor, 0];
      closeSync(previousDescriptor);
      if (oldId !== null) rmSync(fileOf(this.#folder, oldId), { force: true });
    } catch (error) {
      throw writeFailure(error, file, 'AOPS_DATA_DIR');
    }
  }

  #write(line: Line): void {
    try {
      this.#bytes += writeLine(this.#descriptor, line);
    } catch (error) {
      throw writeFailure(error, fileOf(this.#folder, this.#fileId), 'AOPS_DATA_DIR');
    }
  }
}

const writeLine = (descriptor: number, line: Line): number => writeSync(descriptor, `${JSON.stringify(line)}\n`);

const inUse = (): AopsError =>
  new AopsError('Another process is printing the deliveries of this stream.', {
    code: 'stream_in_use',
    exit: exitCodes.conflict,
    hint: 'End it first, or start without --resume.',
  });
