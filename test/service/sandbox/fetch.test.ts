/** Which ranges of stored files are read for recorded files. */
import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import type { RecordedFile } from '../../../src/service/sandbox/record/entries.ts';
import { fetchFiles } from '../../../src/service/sandbox/record/fetch.ts';
import { sumOf } from '../../support/tar.ts';

const contentOf = (path: string): Buffer => Buffer.from(path.padEnd(10));

/** A file of ten bytes in a stored file. */
const fileAt = (key: string, position: number): RecordedFile => {
  const path = `${key}-${position}`;
  const [size, sha256] = [10, sumOf(contentOf(path))];
  return { type: 'file', path, mode: 0o600, modifiedAt: 0, size, sha256, isText: true, stored: { key, position } };
};

it('neighbours are read together, in whichever order they are requested', async () => {
  const files = ['a', 'b', 'c'].flatMap((key) => [0, 10, 20].map((position) => fileAt(key, position)));
  // Neither the stored files nor the positions are in order.
  const requested = [4, 0, 8, 3, 7, 1, 6, 5, 2].map((index) => files[index] as RecordedFile);
  const ranges: string[] = [];
  const received = new Map<string, string>();
  await fetchFiles(
    requested,
    async (key, { start, end }) => {
      ranges.push(`${key} ${start}-${end}`);
      const whole = Buffer.concat(files.filter(({ stored }) => stored?.key === key).map(({ path }) => contentOf(path)));
      return (async function* () {
        yield whole.subarray(start, end + 1);
      })();
    },
    async ({ path }, bytes) => void received.set(path, Buffer.from(bytes as Uint8Array).toString()),
  );
  expect(ranges).toEqual(['a 0-29', 'b 0-29', 'c 0-29']);
  expect(received).toEqual(new Map(files.map(({ path }) => [path, contentOf(path).toString()])));
});
