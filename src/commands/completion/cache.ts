/**
 * Caches words from the service for shell completion, in a small file for each service, team and source. Completion reads it and
 * never waits; a background process updates it. Only this user can read the file, and it can be deleted at any time.
 */
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../base/make-folders.ts';
import { shortName } from '../../base/short-name.ts';
import type { RemoteSource } from '../../cli/kit/flags.ts';
import type { Word } from '../../cli/picking/sources.ts';

/** Older words are updated; milliseconds. */
const freshFor = 20_000;
/** Older words are not offered, because what they name may no longer exist; milliseconds. */
const expiresAfter = 60 * 60_000;
/** How long an update may take before another one is started; milliseconds. */
const refreshFor = 15_000;

export interface CachedWords {
  words: Word[];
  /** Whether the words need no update. */
  fresh: boolean;
}

export class CompletionCache {
  readonly #file: string;

  /** @param identity identifies the service, team and credential without revealing secrets */
  constructor(folder: string, source: RemoteSource, identity: readonly string[]) {
    this.#file = path.join(folder, 'completion', `${source}-${shortName(JSON.stringify(identity))}.json`);
  }

  /** The words at the time `now`; empty if the file is missing or damaged. */
  async read(now: number): Promise<CachedWords> {
    try {
      const { v, at, words } = JSON.parse(await readFile(this.#file, 'utf8')) as { v: number; at: number; words: Word[] };
      const age = now - at;
      if (v !== 1 || !(age >= -freshFor && age < expiresAfter) || !words.every(isWord)) return { words: [], fresh: false };
      return { words, fresh: age < freshFor };
    } catch {
      return { words: [], fresh: false };
    }
  }

  async write(words: readonly Word[], now: number): Promise<void> {
    makeFolders(path.dirname(this.#file), 0o700);
    const partial = `${this.#file}.${Math.random().toString(36).slice(2)}.tmp`;
    await writeFile(partial, JSON.stringify({ v: 1, at: now, words }), { mode: 0o600, flag: 'wx' });
    await rename(partial, this.#file);
    await rm(this.#mark, { force: true });
  }

  /** Whether the caller should start an update, because no other process is running one. */
  async claim(now: number): Promise<boolean> {
    try {
      const { mtimeMs } = await stat(this.#mark);
      if (Math.abs(now - mtimeMs) < refreshFor) return false;
      await rm(this.#mark, { force: true });
    } catch {
      // No mark, so no update is running.
    }
    try {
      makeFolders(path.dirname(this.#mark), 0o700);
      await writeFile(this.#mark, '', { mode: 0o600, flag: 'wx' });
      return true;
    } catch {
      return false;
    }
  }

  get #mark(): string {
    return `${this.#file}.refreshing`;
  }
}

const isWord = (word: unknown): boolean => Array.isArray(word) && word.length === 2 && word.every((part) => typeof part === 'string');
