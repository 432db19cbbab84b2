/** Texts that a person wrote and that were not sent: each in a file of its own that nobody else can read. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';

export class Drafts {
  readonly #folder: string;
  readonly #clock: Clock;

  /** @param folder made when it is needed */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /**
   * Saves a text in a new file and returns its path. Where the folder cannot be written, in the one for temporary files.
   * @param name what the text is about
   * @throws the error of the file system when neither can be written
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
