/**
 * The places that the entries of a backup take. Whatever reads a backup asks here before it believes a name, whether it writes
 * anything or not, so that a check finds all that a restore would find.
 */
import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import { checkName, largestBackup, longestName } from './format.ts';
import { damaged, shown } from './problems.ts';
import type { TarType } from './tar-entry.ts';

export class Places {
  readonly #taken = new Map<string, TarType>();
  #entries = 0;

  /** @throws AopsError `backup_damaged` for a name that no backup has, that is taken, or that passes through a file or a link */
  take(name: string, type: TarType): void {
    this.#entries += 1;
    if (this.#entries > largestBackup) throw damaged(`it has more than ${largestBackup} entries`);
    if (Buffer.byteLength(name) > longestName) throw damaged(`the name ${shown(name)} is too long`);
    checkName(name, type);
    this.#folder(posix.dirname(name), name);
    const there = this.#taken.get(name);
    if (there !== undefined && !(there === 'folder' && type === 'folder')) {
      throw damaged(there === 'file' && type === 'file' ? `it has ${shown(name)} twice` : `two things in it have the place ${shown(name)}`);
    }
    this.#taken.set(name, type);
  }

  /** Takes a folder with all that it is in, as long as they are not known yet. */
  #folder(folder: string, name: string): void {
    for (let current = folder; current !== '.'; current = posix.dirname(current)) {
      const there = this.#taken.get(current);
      if (there === 'folder') return;
      if (there !== undefined) throw damaged(`${shown(name)} passes through the ${there} ${shown(current)}`);
      this.#taken.set(current, 'folder');
    }
  }
}
