import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFile } from '../../src/base/create-file.ts';
import { onDiskCall } from '../service/helpers/disk-calls.ts';
import { itNeeding } from '../support/requirements.ts';
import { needsSmallDisk, smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary.ts';

const newFile = async () => path.join(await temporaryDirectory(), 'key');

describe('a file', () => {
  it('is created once, and is complete as soon as it can be seen', async () => {
    const file = await newFile();
    const texts = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(100_000));
    const seenTexts: string[] = [];
    const results = await Promise.all(
      texts.map(async (text) => {
        const isNew = await createFile(file, text, 0o640);
        seenTexts.push(await readFile(file, 'utf8'));
        return isNew ? text : undefined;
      }),
    );
    const created = results.filter((text) => text !== undefined);
    expect(created).toHaveLength(1);
    expect(new Set(seenTexts)).toEqual(new Set(created));
    expect([(await stat(file)).mode & 0o777, await readdir(path.dirname(file))]).toEqual([0o640, ['key']]);
  });

  it('is not touched if it exists, not even its folder', async () => {
    const file = await newFile();
    await createFile(file, 'first', 0o600);
    const folder = await stat(path.dirname(file), { bigint: true });
    expect(await createFile(file, 'second', 0o600)).toBe(false);
    expect([await readFile(file, 'utf8'), (await stat(path.dirname(file), { bigint: true })).mtimeNs]).toEqual(['first', folder.mtimeNs]);
  });

  it('is created where the file system has no hard links, without replacing another one', async () => {
    const refuse = async () => Promise.reject(Object.assign(new Error('operation not permitted'), { code: 'EPERM' }));
    const [file, lateFile] = [await newFile(), await newFile()];
    onDiskCall('before', 'link', /key/, refuse);
    expect(await createFile(file, 'first', 0o600)).toBe(true);
    onDiskCall('before', 'link', /key/, async () => {
      await writeFile(lateFile, 'of another process');
      await refuse();
    });
    expect(await createFile(lateFile, 'second', 0o600)).toBe(false);
    expect([await readFile(file, 'utf8'), await readFile(lateFile, 'utf8')]).toEqual(['first', 'of another process']);
    expect([await readdir(path.dirname(file)), await readdir(path.dirname(lateFile))]).toEqual([['key'], ['key']]);
  });

  it('is not created if the disk fails, or if its folder does not exist', async () => {
    const file = await newFile();
    onDiskCall('before', 'link', /key/, async () => Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' })));
    await expect(createFile(file, 'text', 0o600)).rejects.toMatchObject({ code: 'EIO' });
    expect(await readdir(path.dirname(file))).toEqual([]);
    await expect(createFile(path.join(file, 'key'), 'text', 0o600)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  itNeeding(needsSmallDisk, 'is not created on a full disk', async () => {
    const disk = await smallDisk(1024 * 1024);
    await disk.fill();
    const file = path.join(disk.folder, 'key');
    await expect(createFile(file, 'text', 0o600)).rejects.toMatchObject({ code: 'ENOSPC' });
    await disk.free();
    expect([await readdir(disk.folder), await createFile(file, 'text', 0o600)]).toEqual([[], true]);
  });
});
