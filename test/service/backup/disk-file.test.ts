/** Files that change while they are copied, files with holes, and files that cannot be read. */
import { closeSync, openSync, type Stats } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { bytesOnDisk, fileBytes, Holes, openForCopy, reasonOf } from '../../../src/service/backup/disk-file.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

describe('the bytes of a file', () => {
  let descriptor: number | undefined;
  afterEach(() => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  });

  /** What is copied of a file that should have `size` bytes, and how often it was reported to be shorter. */
  async function copyContent(content: Buffer, size: number) {
    const place = path.join(await temporaryDirectory(), 'file');
    await writeFile(place, content);
    descriptor = openSync(place, 'r');
    let reports = 0;
    const chunks = [...fileBytes(descriptor, size, () => reports++)];
    return { bytes: Buffer.concat(chunks), largestChunk: Math.max(0, ...chunks.map(({ length }) => length)), reports };
  }
  const content = Buffer.alloc(600_000, 'abc');

  it.each([0, 1, 262_144, 262_145, 600_000])('are its first %i, in chunks of 256 KiB', async (size) => {
    const { bytes, largestChunk, reports } = await copyContent(content, size);
    expect([bytes.equals(content.subarray(0, size)), largestChunk, reports]).toEqual([true, Math.min(size, 262_144), 0]);
  });

  it.each([600_001, 1_200_000])('are followed by zeros if it should have %i, which is reported once', async (size) => {
    const { bytes, reports } = await copyContent(content, size);
    expect([bytes.equals(Buffer.concat([content, Buffer.alloc(size - content.length)])), reports]).toEqual([true, 1]);
  });
});

describe('a file with holes', () => {
  const gigabyte = 1_073_741_824;
  const file = (size: number, onDisk: number) => ({ size, blocks: onDisk / 512 }) as Stats;

  it('occupies as much as its blocks, or as much as it contains if they are unknown', () => {
    expect(bytesOnDisk(file(10_000, 4_096))).toBe(4_096);
    expect(bytesOnDisk({ size: 10_000, blocks: Number.NaN } as Stats)).toBe(10_000);
  });

  it.each([
    ['has no holes', file(4 * gigabyte, 4 * gigabyte), false],
    ['can have been compressed', file(4 * gigabyte, gigabyte / 8), false],
    ['has a gigabyte of holes', file(gigabyte, 0), false],
    ['has more than a gigabyte of holes', file(gigabyte + 1, 0), true],
    ['has a gigabyte of holes and little content', file(gigabyte + 1_024, 1_024), false],
    ['has too many holes, and is 64 times as long as on the disk', file(128 * gigabyte, 2 * gigabyte), true],
    ['is less than 64 times as long as on the disk', file(128 * gigabyte, 2 * gigabyte + 512), false],
  ])('that %s is left out: %s', (_, stats, expected) => {
    expect(new Holes().areTooMany(stats)).toBe(expected);
  });

  it('is left out if earlier files have used up the gigabyte, but one that fits is not', () => {
    const holes = new Holes();
    expect(holes.areTooMany(file(gigabyte - 1_000, 0))).toBe(false);
    expect(holes.areTooMany(file(1_001, 0))).toBe(true);
    // What was left out does not count, and neither do files without holes.
    expect(holes.areTooMany(file(gigabyte, gigabyte))).toBe(false);
    expect(holes.areTooMany(file(1_000, 0))).toBe(false);
    expect(holes.areTooMany(file(1, 0))).toBe(true);
  });
});

describe('a file that cannot be read', () => {
  it.each([
    ['ENOENT', 'it no longer exists on the disk'],
    ['EACCES', 'it cannot be read, so it is left out'],
    ['EPERM', 'it cannot be read, so it is left out'],
    ['ELOOP', 'it became a link, so it is left out'],
    ['ENAMETOOLONG', 'its path is too long, so it is left out'],
  ])('because of %s is reported', (code, reason) => {
    expect(reasonOf(Object.assign(new Error(code), { code }))).toBe(reason);
  });

  it.each([Object.assign(new Error('EIO'), { code: 'EIO' }), new Error('no code')])('because of anything else ends the backup', (error) => {
    expect(() => reasonOf(error)).toThrow(error);
  });

  it('is a link, which is never followed', async () => {
    const place = path.join(await temporaryDirectory(), 'link');
    await symlink(import.meta.filename, place);
    expect(() => openForCopy(place)).toThrow(expect.objectContaining({ code: 'ELOOP' }));
  });
});
