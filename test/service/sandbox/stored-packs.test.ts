/** Reading recorded files one after the other: what is read together, and what is kept in memory. */
import { expect, it } from 'vitest';
import type { RecordedFile } from '../../../src/service/sandbox/record/entries.ts';
import { wholeOf } from '../../../src/service/sandbox/record/fetch.ts';
import { StoredPacks } from '../../../src/service/sandbox/record/stored-packs.ts';

const file = (key: string, position: number, size: number): RecordedFile =>
  ({ type: 'file', path: `${key}-${position}`, size, stored: size === 0 ? null : { key, position } }) as RecordedFile;

/** The packs of these files, whose bytes are their positions, and the ranges that are read. */
function packsOf(...files: RecordedFile[]) {
  const ranges: string[] = [];
  const packs = new StoredPacks(files, async (key, { start, end }) => {
    ranges.push(`${key} ${start}-${end}`);
    if (key === 'gone') return undefined;
    return (async function* () {
      yield Buffer.from(Array.from({ length: end - start + 1 }, (_, index) => (start + index) % 251));
    })();
  });
  const read = async (which: RecordedFile): Promise<number[] | undefined> => {
    const chunks = await packs.chunksOf(which);
    return chunks && [...(await wholeOf(chunks as AsyncIterable<Uint8Array>))];
  };
  return { ranges, read };
}

it('files of one pack are read together, without what surrounds them', async () => {
  const [a, b] = [file('k', 10, 3), file('k', 20, 2)];
  const { ranges, read } = packsOf(a, b);
  expect([await read(b), await read(a)]).toEqual([
    [20, 21],
    [10, 11, 12],
  ]);
  expect(ranges).toEqual(['k 10-21']);
});

it('an empty file needs no pack, and a pack that is gone is reported', async () => {
  const [empty, lost] = [file('k', 0, 0), file('gone', 0, 1)];
  const { ranges, read } = packsOf(empty, lost);
  expect([await read(empty), await read(lost)]).toEqual([[], undefined]);
  expect(ranges).toEqual(['gone 0-0']);
});

it('the two packs that were read last are kept', async () => {
  const files = ['a', 'b', 'c'].map((key) => file(key, 0, 1));
  const { ranges, read } = packsOf(...files);
  for (const index of [0, 1, 0, 2, 2, 1, 0]) await read(files[index] as RecordedFile);
  expect(ranges).toEqual(['a 0-0', 'b 0-0', 'c 0-0', 'a 0-0']);
});

it('files that are far apart are read alone', async () => {
  const [first, last] = [file('k', 0, 1), file('k', 6 * 1_024 * 1_024, 1)];
  const { ranges, read } = packsOf(first, last);
  await read(first);
  await read(last);
  expect(ranges).toEqual(['k 0-0', 'k 6291456-6291456']);
});
