/** Texts that a person wrote but that were not sent: each in its own file, readable by its owner only. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';

export class Drafts {
  readonly #folder: string;
  readonly #clock: Clock;

  /** @param folder created when it is needed */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /**
   * Saves a text in a new file and returns its path. If the folder cannot be written, the file goes to the temporary folder.
   * @param name the topic of the text, used in the file name
   * @throws the file system's error when neither folder can be written
   */
  save(text: string, name: string, extension = '.md'): string {
    const stamp = new Date(this.#clock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
    const base = `${stamp}-${slug(name)}`;
    try {
      return create(this.#folder, base, extension, text);
    } catch {
      return create(mkdtempSync(path.join(tmpdir(), 'aops-unsent-')), base, extension, text);
    }
  }

  remove(file: string): void {
    rmSync(file, { force: true });
  }
}

function create(folder: string, base: string, extension: string, text: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let count = 1; ; count += 1) {
    const file = path.join(folder, `${base}${count === 1 ? '' : `-${count}`}${extension}`);
    try {
      writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** A title as part of a file name. */
const slug = (name: string): string =>
  name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '') || 'text';
