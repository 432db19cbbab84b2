/** What is read of a file while it changes. */
import { appendFile, open, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { localContent } from '../../../src/service/sandbox/local-content.ts';
import { afterTest, temporaryFolder } from '../../support/temporary.ts';

const size = 600_001;

/** The content of a file of this size, if it is no larger than `maxBytes`. */
async function contentOf(maxBytes = 10_000_000) {
  const root = await temporaryFolder();
  const file = path.join(root, 'a');
  await writeFile(file, Buffer.alloc(size, 'a'));
  const place = { displayPath: '/workspace/a', realPath: file, stats: await stat(file) };
  const content = await localContent(root, place, () => open(file), maxBytes);
  afterTest(() => content?.close?.());
  const pieces = content?.chunks as AsyncIterable<Buffer>;
  return { file, content, pieces, bytes: () => buffer(pieces) };
}

it('is missing if the file is larger than requested', async () => {
  expect((await contentOf(size)).content?.size).toBe(size);
  expect((await contentOf(size - 1)).content).toBeUndefined();
});

it('is no more than what the file contained at first', async () => {
  const { file, bytes } = await contentOf();
  await appendFile(file, 'b'.repeat(500_000));
  expect((await bytes()).equals(Buffer.alloc(size, 'a'))).toBe(true);
});

it('is read in pieces of limited size', async () => {
  const { pieces } = await contentOf();
  const sizes: number[] = [];
  for await (const { length } of pieces) sizes.push(length);
  expect(sizes).toEqual([262_144, 262_144, size - 2 * 262_144]);
});

it('ends with zeros if the file became shorter', async () => {
  const { file, bytes } = await contentOf();
  await truncate(file, 300_000);
  expect((await bytes()).equals(Buffer.concat([Buffer.alloc(300_000, 'a'), Buffer.alloc(size - 300_000)]))).toBe(true);
});
