/**
 * The paths of the entries of a backup. Every name is checked here before it is used, whether anything is written or not, so that
 * a verification finds everything that a restore would find.
 */
import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import { checkName, largestBackup, longestName } from './format.ts';
import { damaged, quoted } from './problems.ts';
import type { TarType } from './tar-entry.ts';

export class Places {
  readonly #taken = new Map<string, TarType>();
  readonly #maxEntries: number;
  #entries = 0;

  constructor(maxEntries = largestBackup) {
    this.#maxEntries = maxEntries;
  }

  /** @throws AopsError `backup_damaged` for a name that no backup contains, that appears twice, or that passes through a file or a link */
  take(name: string, type: TarType): void {
    this.#entries += 1;
    if (this.#entries > this.#maxEntries) throw damaged(`it contains more than ${this.#maxEntries} entries`);
    if (Buffer.byteLength(name) > longestName) throw damaged(`the name ${quoted(name)} is too long`);
    checkName(name, type);
    this.#folder(posix.dirname(name), name);
    const existing = this.#taken.get(name);
    if (existing !== undefined && !(existing === 'folder' && type === 'folder')) {
      throw damaged(
        existing === 'file' && type === 'file' ? `${quoted(name)} appears twice` : `two entries in it are named ${quoted(name)}`,
      );
    }
    this.#taken.set(name, type);
  }

  /** Takes a folder and its parents, unless they have been taken already. */
  #folder(folder: string, name: string): void {
    for (let current = folder; current !== '.'; current = posix.dirname(current)) {
      const existing = this.#taken.get(current);
      if (existing === 'folder') return;
      if (existing !== undefined) throw damaged(`${quoted(name)} passes through the ${existing} ${quoted(current)}`);
      this.#taken.set(current, 'folder');
    }
  }
}
