/**
 * The position that `--resume auto` remembers, in a small file per stream and name. The file is replaced after each event that has left
 * this process. A process that is killed between the two prints one event again: no event is ever lost here.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { crypto } from '../../base/crypto.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../kit/context.ts';
import { processMark } from '../kit/process-mark.ts';

/** Identifies a stream. The ID of a run or a team is unique, so neither the service nor the credential is a part of it. */
export interface StreamName {
  stream: string;
  id: string;
  /** Distinguishes several readers of the same stream. */
  reader: string;
}

/** A lock of a process that was killed on another machine blocks its successor for this long, in milliseconds. */
const staleMilliseconds = 2_000;
/** Positions that were not used for this long are removed, in milliseconds. */
const maxAgeMilliseconds = 90 * 86_400_000;
/** Journals, which are larger, and are replaced by each process, are removed sooner. */
const maxJournalAgeMilliseconds = 7 * 86_400_000;

export class PositionFile {
  /** The token that the file contained; undefined if there was none yet. */
  readonly token: string | undefined;
  /** The token that was saved last. */
  #saved: string | undefined;
  readonly #file: string;
  readonly #unlock: Unlock;

  private constructor(file: string, unlock: Unlock, token: string | undefined) {
    this.#file = file;
    this.#unlock = unlock;
    this.token = token;
  }

  /**
   * Opens the file of a stream for this process alone.
   * @throws AopsError `stream_in_use` (exit 6) while another process reads the same stream under the same name
   */
  static async open(
    { paths, clock, signal, launcher }: Pick<Context, 'paths' | 'clock' | 'signal' | 'launcher'>,
    name: StreamName,
  ): Promise<PositionFile> {
    const folder = path.join(paths.data, 'positions');
    const key = [name.stream, name.id, name.reader].join('\n');
    const file = path.join(folder, crypto().createHash('sha256').update(key).digest('hex').slice(0, 32));
    try {
      makeFolders(folder, 0o700);
      const unlock = await takeLock(`${file}.lock`, {
        staleMilliseconds,
        waitMilliseconds: staleMilliseconds * 1.5,
        signal,
        ...processMark({ launcher }),
      });
      if (unlock === undefined) throw streamInUse(name);
      await removeOldPositions(folder, clock.now());
      return new PositionFile(file, unlock, read(file));
    } catch (error) {
      throw writeFailure(error, file, 'AOPS_DATA_DIR');
    }
  }

  /** Replaces the position, completely or not at all. @throws AopsError `not_writable`, `disk_full` */
  save(token: string): void {
    try {
      writeFileSync(`${this.#file}.new`, `${token}\n`, { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
      this.#saved = token;
    } catch (error) {
      throw writeFailure(error, this.#file, 'AOPS_DATA_DIR');
    }
  }

  /** @param lasting the token to keep instead of the last one, for the same position */
  close(lasting: (token: string) => string = (token) => token): void {
    try {
      if (this.#saved !== undefined && lasting(this.#saved) !== this.#saved) this.save(lasting(this.#saved));
    } finally {
      this.#unlock();
    }
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw readFailure(error, file);
  }
}

/** Removes positions that were not used for a long time. @param now in milliseconds since the epoch */
export async function removeOldPositions(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const file = path.join(folder, name);
    const modifiedAt = (await stat(file).catch(() => undefined))?.mtimeMs ?? now;
    const maxAge = name.endsWith('.journal') ? maxJournalAgeMilliseconds : maxAgeMilliseconds;
    if (now - modifiedAt > maxAge) rmSync(file, { force: true });
  }
}

const streamInUse = ({ reader }: StreamName): AopsError =>
  new AopsError(`Another process is reading this stream with --resume auto${reader === '' ? '' : `:${reader}`}.`, {
    code: 'stream_in_use',
    exit: exitCodes.conflict,
    hint: 'Give each reader a name of its own, such as --resume auto:NAME.',
  });
