/** Archives of sandboxes that somebody has written or changed: nothing in them leads out of the sandbox. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { TarEntry } from '../../../src/base/tar/tar-entry.ts';
import { TarWriter } from '../../../src/base/tar/tar-writer.ts';
import { readArchive } from '../../../src/service/exports/sandbox-archive.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

const { signal } = new AbortController();
const folder = (name: string): TarEntry => ({ name, type: 'folder', size: 0, mode: 0o700, modifiedAt: 1 });
const file = (name: string): TarEntry => ({ name, type: 'file', size: 1, mode: 0o4755, modifiedAt: 1 });
const link = (name: string, target: string): TarEntry => ({ name, type: 'link', size: 0, mode: 0o777, modifiedAt: 0, target });

async function read(entries: readonly TarEntry[], change: (bytes: Buffer) => Buffer = (bytes) => bytes) {
  const tar = new TarWriter();
  const chunks: Buffer[] = [];
  for (const entry of entries) for await (const chunk of tar.add(entry, entry.size > 0 ? [Buffer.from('x')] : [])) chunks.push(chunk);
  for await (const chunk of tar.end()) chunks.push(chunk);
  const bytes = change(Buffer.concat(chunks));
  const place = path.join(await temporaryDirectory(), 's.tar');
  await writeFile(place, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return readArchive(place, 's', { path: 'sandboxes/s.tar', size: bytes.length, sha256 }, signal);
}

it('are read with the positions of their files, and without special permissions', async () => {
  const entries = await read([folder('workspace'), file('workspace/a'), link('workspace/b', 'a')]);
  const sha256 = createHash('sha256').update('x').digest('hex');
  expect(entries).toEqual([
    { type: 'folder', path: 'workspace', mode: 0o700, modifiedAt: 1_000 },
    {
      ...{ type: 'file', path: 'workspace/a', mode: 0o755, modifiedAt: 1_000, size: 1, sha256, isText: true },
      stored: { key: 'archive', position: 1_024 },
    },
    { type: 'link', path: 'workspace/b', target: 'a', modifiedAt: 0 },
  ]);
});

it.each<[string, readonly TarEntry[]]>([
  ['a path that leads out', [folder('workspace'), file('workspace/../../x')]],
  ['an absolute path', [folder('workspace'), file('/etc/x')]],
  ['a folder that sandboxes do not have', [folder('staging'), file('staging/x')]],
  ['a folder that is left on its machine', [folder('home'), folder('home/.cache')]],
  ['a file in place of a folder of the run', [file('workspace')]],
  ['a file without its folder', [folder('workspace'), file('workspace/a/b')]],
  ['a file below a link', [folder('workspace'), link('workspace/a', 'b'), file('workspace/a/b')]],
  ['a file that appears twice', [folder('workspace'), file('workspace/a'), file('workspace/a')]],
  ['a name with empty parts', [folder('workspace'), file('workspace//a')]],
  ['a name that is too long', [folder('workspace'), file(`workspace/${'a'.repeat(2_200)}`)]],
  ['an absolute link', [folder('workspace'), link('workspace/a', '/etc/passwd')]],
  ['a link that leads out', [folder('workspace'), link('workspace/a', '../../..')]],
  ['a link that leads out through another one', [folder('workspace'), link('workspace/a', '..'), link('workspace/b', 'a/../..')]],
])('are refused with %s', async (_, entries) => {
  await expect(read(entries)).rejects.toMatchObject({ code: 'export_damaged', message: expect.stringContaining('sandboxes/s.tar') });
});

it('are refused if they end too early, or are not archives', async () => {
  const entries = [folder('workspace'), file('workspace/a')];
  await expect(read(entries, (bytes) => bytes.subarray(0, 1_100))).rejects.toMatchObject({ code: 'export_damaged' });
  await expect(read(entries, () => Buffer.alloc(1_024, 7))).rejects.toMatchObject({ code: 'export_damaged' });
});
