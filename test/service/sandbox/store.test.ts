/** The folder with all sandboxes: what is removed, what remains, and files without a name. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { onDiskCall } from '../helpers/disk-calls.ts';
import { Gate } from '../helpers/runtime.ts';

let root: string;
let store: SandboxStore;
let sandbox: Sandbox;
let problems: unknown[];

beforeEach(async () => {
  root = path.join(await mkdtemp(path.join(tmpdir(), 'aops-store-')), 'sandboxes');
  problems = [];
  store = new SandboxStore(root, { onProblem: (error) => problems.push(error) });
  sandbox = await store.create('s1');
  await sandbox.write('a', Buffer.from('inside'));
});
afterEach(() => rm(path.dirname(root), { recursive: true, force: true }));

const failure = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

describe('a sandbox that is put aside', () => {
  it.each([
    ['mkdir', 's1/workspace'],
    ['realpath', 's1'],
  ] as const)('is created again if that happens while it is created (%s)', async (call, name) => {
    onDiskCall('before', call, path.join(root, name), async () => (await store.putAside('s1')).remove());
    const created = await store.create('s1');
    expect(await created.list('')).toEqual([]);
  });

  it('does not exist if that happens while it is opened', async () => {
    onDiskCall('before', 'realpath', path.join(root, 's1'), async () => (await store.putAside('s1')).remove());
    expect(await store.open('s1')).toBeUndefined();
  });

  it('is not mistaken for one that the disk fails to read', async () => {
    onDiskCall('before', 'realpath', path.join(root, 's1'), failure('EIO'));
    await expect(store.open('s1')).rejects.toThrow('EIO');
  });

  it('no longer exists, and is removed later without touching a new one with the same ID', async () => {
    const { remove } = await store.putAside('s1');
    expect([await store.exists('s1'), await store.open('s1')]).toEqual([false, undefined]);
    const freshSandbox = await store.create('s1');
    await freshSandbox.write('b', Buffer.from('new'));
    await remove();
    expect((await freshSandbox.list('')).map(({ name }) => name)).toEqual(['b']);
    expect(await readdir(root)).toEqual(['s1']);
  });

  it('can be missing, or have an ID that no sandbox has', async () => {
    for (const id of ['s2', '../sandboxes', '..', '']) {
      expect(await store.exists(id)).toBe(false);
      await (await store.putAside(id)).remove();
    }
    expect([await readdir(root), problems]).toEqual([['s1'], []]);
  });

  it('remains if the disk fails, and the failure is thrown', async () => {
    onDiskCall('before', 'rename', path.join(root, 's1'), failure('EIO'));
    await expect(store.putAside('s1')).rejects.toMatchObject({ code: 'EIO' });
    expect(await store.exists('s1')).toBe(true);
  });

  it('is removed by a later sweep if it cannot be removed immediately, which is reported', async () => {
    const { remove } = await store.putAside('s1');
    onDiskCall('before', 'rm', /\.removed$/, failure('EBUSY'));
    await remove();
    expect(problems).toMatchObject([{ code: 'EBUSY' }]);
    expect(await readdir(root)).toHaveLength(1);
    await store.sweep();
    expect(await readdir(root)).toEqual([]);
  });

  it('is not an error if nobody wants to know what cannot be removed', async () => {
    const { remove } = await new SandboxStore(root).putAside('s1');
    onDiskCall('before', 'rm', /\.removed$/, failure('EBUSY'));
    await remove();
    expect(await readdir(root)).toHaveLength(1);
  });
});

describe('a sweep', () => {
  const staging = () => path.join(root, 's1', 'staging');

  it('leaves a sandbox that is only needed for a moment, but not one that a crash has left behind', async () => {
    await mkdir(path.join(root, 'old.temporary', 'workspace'), { recursive: true });
    await store.inTemporary(async (temporary) => {
      await temporary.write('a', Buffer.from('a'));
      await store.sweep();
      expect((await temporary.read('a', 10)).bytes.toString()).toBe('a');
    });
    expect(await readdir(root)).toEqual(['s1']);
  });

  it('removes what a crash has left behind, but no sandbox and no upload in progress', async () => {
    await mkdir(path.join(root, 's0.1.removed', 'workspace'), { recursive: true });
    await writeFile(path.join(root, '2.unnamed'), '');
    await writeFile(path.join(root, 'other.txt'), '');
    await writeFile(path.join(staging(), 'of-an-earlier-process'), '');
    const [startGate, resumeGate] = [new Gate(), new Gate()];
    async function* slowChunks() {
      yield Buffer.from('one ');
      startGate.open();
      await resumeGate.opened;
      yield Buffer.from('two');
    }
    const upload = sandbox.write('b', slowChunks());
    await startGate.opened;
    await store.sweep();
    expect([(await readdir(root)).sort(), (await readdir(staging())).length]).toEqual([['other.txt', 's1'], 1]);
    resumeGate.open();
    await upload;
    expect((await sandbox.read('b', 100)).bytes.toString()).toBe('one two');
    expect((await sandbox.read('a', 100)).bytes.toString()).toBe('inside');
  });

  it('looks for incomplete uploads once, because only an earlier process leaves them behind', async () => {
    await store.sweep();
    await writeFile(path.join(staging(), 'of-another-process'), '');
    await mkdir(path.join(root, 's0.1.removed'));
    await store.sweep();
    expect([await readdir(root), await readdir(staging())]).toEqual([['s1'], ['of-another-process']]);
    await new SandboxStore(root).sweep();
    expect(await readdir(staging())).toEqual([]);
  });

  it('has nothing to do before the first sandbox', async () => {
    await new SandboxStore(path.join(root, 'nowhere')).sweep();
    expect(problems).toEqual([]);
  });
});

describe('a file without a name', () => {
  it('can be written and read, and leaves nothing behind', async () => {
    const emptyStore = new SandboxStore(path.join(root, '..', 'other', 'sandboxes'));
    const handle = await emptyStore.openAnonymousFile();
    await handle.write('hello', 0);
    const { buffer: bytes } = await handle.read(Buffer.alloc(5), 0, 5, 0);
    expect(bytes.toString()).toBe('hello');
    await handle.close();
    expect(await readdir(path.join(root, '..', 'other', 'sandboxes'))).toEqual([]);
    expect((await stat(path.join(root, '..', 'other', 'sandboxes'))).mode & 0o777).toBe(0o700);
  });

  it('may lose its name to a sweep', async () => {
    onDiskCall('before', 'rm', /\.unnamed$/, () => store.sweep());
    await (await store.openAnonymousFile()).close();
    expect(await readdir(root)).toEqual(['s1']);
  });

  it('is closed if its name cannot be removed', async () => {
    onDiskCall('before', 'rm', /\.unnamed$/, failure('EIO'));
    await expect(store.openAnonymousFile()).rejects.toMatchObject({ code: 'EIO' });
    expect(await openFiles()).toEqual([]);
  });
});

it('private folders are next to the workspace, and only for their owner', async () => {
  const folder = await sandbox.privateFolder('browser');
  expect(folder).toBe(path.join(sandbox.directory, '..', 'browser'));
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  await appendFile(path.join(folder, 'state'), 'x');
  expect(await readFile(path.join(await sandbox.privateFolder('browser'), 'state'), 'utf8')).toBe('x');
});

/** The files below the root that this process has open. */
async function openFiles(): Promise<string[]> {
  const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return links.filter((link) => link.startsWith(root));
}

it('a sandbox that is created in passing creates the folder of all sandboxes if it is missing', async () => {
  await rm(root, { recursive: true });
  const created = store.createNow('s2');
  expect(await created?.list('')).toEqual([]);
  expect(store.createNow('s2')).toBeUndefined();
});
