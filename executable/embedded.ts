/** The parts of the single-file executable. While it is built, another file (recording.ts) takes the place of this one. */
import { getRawAsset } from 'node:sea';
import type { Script } from 'node:vm';

/** The script that starts the program: the executable needs none. */
export const script = '';

/** A part of the executable, which is mapped into memory and must not be changed. */
export const embedded = (name: string): Buffer => Buffer.from(getRawAsset(name) as ArrayBuffer);

/** The code that V8 compiled from a chunk when the executable was built; undefined if that was none. */
export function codeOf(_name: string, offset: number, length: number): Buffer | undefined {
  return length === 0 ? undefined : embedded('code').subarray(offset, offset + length);
}

/** Called with each chunk that is loaded. */
export const onLoaded = (_name: string, _script: Script): void => undefined;
