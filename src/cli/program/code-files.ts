/**
 * Files with the code that V8 compiled from a chunk. Only functions that were called have been compiled, so each command adds its own to
 * what is already there, once. A file begins with 64 numbers of 4 bytes: a CRC-32 of the rest, how many commands have added code, and a
 * hash of each of these. The rest is the code, aligned as V8 needs it.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** What was compiled from a chunk, and hashes of the commands during which that happened. */
export interface CompiledCode {
  readonly code: Buffer;
  readonly commands: readonly number[];
}

/** A chunk whose code is to be stored. */
export interface CompiledScript {
  readonly script: Pick<Script, 'createCachedData'>;
  readonly commands: readonly number[];
}

const numberLength = 4;
const headLength = 64 * numberLength;
/** Further commands use the code, but add nothing. */
export const maxCommands = 62;
/** A folder with more files contains mostly those of earlier versions, and is emptied. */
const maxFiles = 1000;

export const commandHash = (words: readonly string[]): number => crc32(words.join(' '));

/** The code in a file, unless it is damaged: V8 does not verify it, and would crash. */
export function readCode(file: string): CompiledCode | undefined {
  try {
    const content = readFileSync(file);
    if (content.readUInt32LE() !== crc32(content.subarray(numberLength))) return undefined;
    const numberAt = (index: number): number => content.readUInt32LE(index * numberLength);
    const commands = Array.from({ length: numberAt(1) }, (_, index) => numberAt(2 + index));
    return { code: content.subarray(headLength), commands };
  } catch {
    return undefined;
  }
}

/** Writes the code of several chunks, by their names. Never throws: code is only for speed, and a disk can be full or read-only. */
export function writeCode(folder: string, chunks: ReadonlyMap<string, CompiledScript>, pid: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const names = readdirSync(folder);
    if (names.length + chunks.size > maxFiles) for (const name of names) rmSync(path.join(folder, name), { force: true });
    for (const [name, { script, commands }] of chunks) {
      const content = Buffer.concat([Buffer.alloc(headLength), script.createCachedData()]);
      for (const [index, number] of [commands.length, ...commands].entries()) content.writeUInt32LE(number, (1 + index) * numberLength);
      content.writeUInt32LE(crc32(content.subarray(numberLength)));
      // Another process must not read half a file.
      const file = path.join(folder, name);
      writeFileSync(`${file}.${pid}`, content, { mode: 0o600 });
      renameSync(`${file}.${pid}`, file);
    }
  } catch {
    // As above.
  }
}
