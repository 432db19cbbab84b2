/** The archive of a sandbox: many small files are sent together, in pieces that do not hold up other requests. */
import { expect, it } from 'vitest';
import { archiveBytes } from '../../../src/service/sandbox/archive.ts';
import { sumOf } from '../../support/tar.ts';

it('consists of pieces that contain many files', async () => {
  const bytes = Buffer.alloc(1_000, 'x');
  const content = { size: bytes.length, sha256: sumOf(bytes), chunks: [bytes] };
  const files = Array.from({ length: 600 }, (_, index) => ({
    displayPath: `/workspace/${index}`,
    size: bytes.length,
    content: async () => content,
  }));
  const sizes: number[] = [];
  for await (const piece of archiveBytes({ displayPath: '/workspace', files }, undefined)) sizes.push(piece.length);
  const last = sizes.pop() as number;
  expect(sizes.length).toBeGreaterThan(2);
  for (const size of sizes) expect([size >= 262_144, size < 270_000]).toEqual([true, true]);
  expect(last).toBeLessThan(262_144);
});
