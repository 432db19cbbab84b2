/**
 * The paths of the entries of a backup. Every name is checked here before it is used, whether anything is written or not, so that
 * a verification finds everything that a restore would find.
 */
import { Buffer } from 'node:buffer';
import { posix } from 'node:path';
import type { TarType } from '../../base/tar/tar-entry.ts';
import { checkName, maxBackupEntries, maxNameBytes } from './format.ts';
import { damagedBackup, quoteName } from './problems.ts';

export class Places {
  readonly #types = new Map<string, TarType>();
  readonly #maxEntries: number;
  #entries = 0;

  constructor(maxEntries = maxBackupEntries) {
    this.#maxEntries = maxEntries;
  }

  /** @throws AopsError `backup_damaged` for a name that no backup contains, that appears twice, or that passes through a file or a link */
  take(name: string, type: TarType): void {
    this.#entries += 1;
    if (this.#entries > this.#maxEntries) throw damagedBackup(`it contains more than ${this.#maxEntries} entries`);
    if (Buffer.byteLength(name) > maxNameBytes) throw damagedBackup(`the name ${quoteName(name)} is too long`);
    checkName(name, type);
    this.#folder(posix.dirname(name), name);
    const existingType = this.#types.get(name);
    if (existingType !== undefined && !(existingType === 'folder' && type === 'folder')) {
      throw damagedBackup(
        existingType === 'file' && type === 'file' ? `${quoteName(name)} appears twice` : `two entries in it are named ${quoteName(name)}`,
      );
    }
    this.#types.set(name, type);
  }

  /** Takes a folder and its parents, unless they have been taken already. */
  #folder(folder: string, name: string): void {
    for (let current = folder; current !== '.'; current = posix.dirname(current)) {
      const existingType = this.#types.get(current);
      if (existingType === 'folder') return;
      if (existingType !== undefined) throw damagedBackup(`${quoteName(name)} passes through the ${existingType} ${quoteName(current)}`);
      this.#types.set(current, 'folder');
    }
  }
}
