/** Commands in a sandbox that replace files and directories with links while the service uses them. */
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { confirm, confirmOpen, type Place } from '../../../src/service/sandbox/paths.ts';
import type { Sandbox } from '../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';

let base: string;
let outsideFolder: string;
let sandbox: Sandbox;

beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'aops-swaps-'));
  outsideFolder = path.join(base, 'outside');
  await mkdir(path.join(outsideFolder, 'hidden'), { recursive: true });
  await writeFile(path.join(outsideFolder, 'a.txt'), 'the secret of another program');
  sandbox = await new SandboxStore(path.join(base, 'sandboxes')).create('s1');
  await sandbox.write('d/a.txt', Buffer.from('inside'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const onDisk = (...names: string[]) => path.join(sandbox.directory, ...names);
const refusal = (status: number, error: string) => ({ status, error });
const escapeError = refusal(400, 'invalid_path');
const stagingFiles = () => readdir(path.join(sandbox.directory, '..', 'staging'));
const outsideFiles = async () => [...(await readdir(outsideFolder)), await readFile(path.join(outsideFolder, 'a.txt'), 'utf8')];
const untouchedContents = ['a.txt', 'hidden', 'the secret of another program'];

/** Replaces the directory d with a link to a directory outside. */
const swapDirectory = async () => {
  await rename(onDisk('d'), onDisk('moved'));
  await symlink(outsideFolder, onDisk('d'));
};
/** Replaces the file d/a.txt with what `create` creates. */
const replaceFile = (create: (place: string) => Promise<unknown>) => async () => {
  await rm(onDisk('d', 'a.txt'));
  await create(onDisk('d', 'a.txt'));
};

describe('a directory that is replaced with a link', () => {
  it('is not read from', async () => {
    const reads = [() => sandbox.read('d/a.txt', 100), () => sandbox.stat('d/a.txt'), () => sandbox.openRead('d/a.txt')];
    for (const read of reads) {
      onDiskCall('before', 'open', onDisk('d', 'a.txt'), swapDirectory);
      await expect(read()).rejects.toMatchObject(escapeError);
      await rm(onDisk('d'));
      await rename(onDisk('moved'), onDisk('d'));
    }
  });

  it.each(['before', 'after'] as const)('is not listed, replaced %s its names are read', async (moment) => {
    onDiskCall(moment, 'readdir', onDisk('d'), swapDirectory);
    await expect(sandbox.list('d')).rejects.toMatchObject(escapeError);
  });

  it('is listed without its files if it is replaced after its names were read', async () => {
    onDiskCall('after', 'realpath', onDisk('d'), swapDirectory);
    expect(await sandbox.list('d')).toEqual([]);
  });

  it('is not written to', async () => {
    const staging = path.join(sandbox.directory, '..', 'staging');
    onDiskCall('before', 'mkdir', staging, swapDirectory);
    await expect(sandbox.write('d/a.txt', Buffer.from('x'))).rejects.toMatchObject(escapeError);
    expect(await outsideFiles()).toEqual(untouchedContents);
    expect(await stagingFiles()).toEqual([]);
  });

  it('is not written to if the link appears where a directory is about to be created', async () => {
    onDiskCall('before', 'mkdir', onDisk('new'), () => symlink(outsideFolder, onDisk('new')));
    await expect(sandbox.write('new/a.txt', Buffer.from('x'))).rejects.toMatchObject(escapeError);
    onDiskCall('before', 'mkdir', onDisk('other'), () => symlink(outsideFolder, onDisk('other')));
    await expect(sandbox.write('other/deep/a.txt', Buffer.from('x'))).rejects.toMatchObject(escapeError);
    expect(await outsideFiles()).toEqual(untouchedContents);
  });
});

describe('a file that is replaced', () => {
  it.each([
    ['nothing', async () => undefined, 404, 'file_not_found'],
    ['a link', (place: string) => symlink(path.join(outsideFolder, 'a.txt'), place), 400, 'not_a_file'],
    ['a directory', (place: string) => mkdir(place), 400, 'not_a_file'],
    ['a socket', socketAt, 400, 'not_a_file'],
  ] as const)('with %s before it is opened is not read', async (_, create, status, error) => {
    onDiskCall('before', 'open', onDisk('d', 'a.txt'), replaceFile(create));
    await expect(sandbox.read('d/a.txt', 100)).rejects.toMatchObject(refusal(status, error));
    await rm(onDisk('d', 'a.txt'), { recursive: true, force: true });
    await sandbox.write('d/a.txt', Buffer.from('inside'));
    onDiskCall('before', 'open', onDisk('d', 'a.txt'), replaceFile(create));
    expect(await sandbox.list('d')).toEqual([]);
  });

  it('with a directory before it is written is an error that says so, and nothing remains', async () => {
    const staging = path.join(sandbox.directory, '..', 'staging');
    onDiskCall(
      'before',
      'mkdir',
      staging,
      replaceFile((place) => mkdir(place)),
    );
    await expect(sandbox.write('d/a.txt', Buffer.from('x'))).rejects.toMatchObject(refusal(400, 'not_a_file'));
    expect(await stagingFiles()).toEqual([]);
  });

  it('in a directory that became a file is an error that says so, and nothing remains', async () => {
    onDiskCall('after', 'realpath', onDisk('d'), async () => {
      await rename(onDisk('d'), onDisk('moved'));
      await writeFile(onDisk('d'), '');
    });
    await expect(sandbox.write('d/a.txt', Buffer.from('x'))).rejects.toMatchObject({
      ...refusal(400, 'not_a_directory'),
      message: '"/workspace/d" is not a directory.',
    });
    expect(await stagingFiles()).toEqual([]);
  });
});

/** A socket at a path, which cannot be opened as a file. */
async function socketAt(place: string): Promise<void> {
  const server = createServer();
  // The path of a socket is limited to about 100 bytes, so it is created at a short one.
  const short = path.join(base, 's');
  await new Promise<void>((resolve) => server.listen(short, resolve));
  await rename(short, place);
  server.close();
}

describe('what was located is confirmed', () => {
  it('unless it is outside, missing, or behind a link', async () => {
    const root = sandbox.directory;
    await confirm(root, root, '/workspace');
    await confirm(root, onDisk('d', 'a.txt'), '/workspace/d/a.txt');
    await symlink('d', onDisk('link'));
    for (const real of [outsideFolder, `${root}x`, path.dirname(root), onDisk('nope'), onDisk('link'), onDisk('link', 'a.txt')])
      await expect(confirm(root, real, '/workspace/x'), real).rejects.toMatchObject(escapeError);
  });

  it('if it is open and inside the sandbox, even if it was moved', async () => {
    const { place, handle } = await openFile('d/a.txt');
    await rename(onDisk('d'), onDisk('moved'));
    await confirmOpen(sandbox.directory, place, handle);
    await rename(onDisk('moved'), path.join(base, 'moved'));
    await expect(confirmOpen(sandbox.directory, place, handle)).rejects.toMatchObject(escapeError);
    await handle.close();
  });

  it('on a system that does not say where an open file is, if its path still leads to it', async () => {
    const { place, handle } = await openFile('d/a.txt');
    const stats = await handle.stat();
    const handleWithout = (differences = {}) => ({ fd: -1, stat: async () => ({ ...stats, ...differences }) }) as unknown as typeof handle;
    await confirmOpen(sandbox.directory, place, handleWithout());
    for (const difference of [{ ino: stats.ino + 1 }, { dev: stats.dev + 1 }])
      await expect(confirmOpen(sandbox.directory, place, handleWithout(difference))).rejects.toMatchObject(escapeError);
    // The same file, which the directory takes along.
    await rename(onDisk('d'), path.join(outsideFolder, 'd'));
    await symlink(path.join(outsideFolder, 'd'), onDisk('d'));
    await expect(confirmOpen(sandbox.directory, place, handleWithout())).rejects.toMatchObject(escapeError);
    await handle.close();
  });
});

async function openFile(name: string) {
  const real = onDisk(...name.split('/'));
  const place: Place = { displayPath: `/workspace/${name}`, realPath: real, stats: undefined };
  return { place, handle: await open(real) };
}
