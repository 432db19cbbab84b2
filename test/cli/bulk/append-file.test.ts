/** A file of JSON lines that only grows, also when a write fails. */
import { appendFile, mkdir, readFile, rename, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { AppendFile } from '../../../src/cli/bulk/append-file.ts';
import { failureOf } from '../../client/harness.ts';
import { fileHandles } from '../../service/helpers/disk.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';
import { afterTest, temporaryFolder } from '../../support/temporary.ts';

const newFile = async (): Promise<string> => path.join(await temporaryFolder(), 'lines');

it('begins with its prefix, and starts a new line after one that a failed write has cut off', async () => {
  const file = await newFile();
  const lines = new AppendFile(file, '{"head":1}\n');
  await lines.append({ a: 1 });
  await rename(file, `${file}.kept`);
  await mkdir(file);
  expect(await failureOf(lines.append({ b: 1 }))).toMatchObject({ code: 'EISDIR' });
  expect(await failureOf(lines.append({ b: 2 }))).toMatchObject({ code: 'EISDIR' });
  await rmdir(file);
  await rename(`${file}.kept`, file);
  await appendFile(file, '{"b":');
  await Promise.all([lines.append({ c: 1 }), lines.append({ c: 2 })]);
  await lines.append({ d: 1 });
  expect(await readFile(file, 'utf8')).toBe('{"head":1}\n{"a":1}\n{"b":\n{"c":1}\n{"c":2}\n{"d":1}\n');
});

itNeeding(needsLinux, 'is open only while it is written', async () => {
  const file = await newFile();
  const lines = new AppendFile(file, '');
  for (const a of [1, 2]) await lines.append({ a });
  expect(await openFilesIn(path.dirname(file))).toEqual([]);
});

it('syncs its folder when it is new, so that its name is not lost either', async () => {
  const sync = vi.spyOn(await fileHandles(), 'sync');
  afterTest(() => sync.mockRestore());
  const lines = new AppendFile(await newFile(), '');
  await lines.append({ a: 1 });
  expect(sync).toHaveBeenCalledTimes(1);
  await lines.append({ a: 2 });
  expect(sync).toHaveBeenCalledTimes(1);
});
