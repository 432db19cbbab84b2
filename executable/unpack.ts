/**
 * The files that the executable contains but that must be on the disk: libraries with native code, the programs of threads, and what
 * they read. They are unpacked into a folder that only this user can change, and verified before each use.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { embedded } from './embedded.ts';

// Modules of Node that only this file needs are loaded when it unpacks something: most commands never do.

/** The files of a group by path: their place in the uncompressed content, and their SHA-256. */
export type PackedFiles = Readonly<Record<string, { offset: number; length: number; sha256: string }>>;

/** Verifies the files of a group, and writes those that are missing or different. Throws with the reason if that is impossible. */
export function unpackGroup(group: string, folder: string): void {
  const files = JSON.parse(embedded(`${group}.json`).toString()) as PackedFiles;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0))
      throw new Error('other users can change this folder');
    const different = Object.entries(files).filter(([name, { sha256 }]) => digestOf(path.join(folder, name)) !== sha256);
    if (different.length === 0) return;
    const content = process.getBuiltinModule('node:zlib').gunzipSync(embedded(`${group}.gz`));
    for (const [name, { offset, length }] of different) write(path.join(folder, name), content.subarray(offset, offset + length));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The files that this executable contains cannot be unpacked to ${folder}: ${reason}. Set AOPS_CACHE_DIR to a folder that only you can write to.`,
      { cause: error },
    );
  }
}

function digestOf(file: string): string | undefined {
  try {
    return process.getBuiltinModule('node:crypto').createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch {
    return undefined;
  }
}

/** Another process must not load half a file. */
function write(file: string, content: Buffer): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, file);
}
