/** The folder with all sandboxes: what is removed, what remains, and files without a name. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostTrouble } from '../../../src/service/host-trouble.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
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

describe('a new sandbox', () => {
  it('needs no folders until it is used', async () => {
    expect(store.newSandbox('s2')).toBeDefined();
    expect([await store.exists('s2'), await store.hasWorkspace('s2'), await store.open('s2')]).toEqual([false, false, undefined]);
    expect(store.newSandbox('s2')).toBeDefined();
  });

  const twoFiles = async function* () {
    for (const name of ['a', 'b']) yield { path: name, content: [Buffer.from(name)].values() as unknown as AsyncIterable<Uint8Array> };
  };
  const command = { launcher: hostLauncher, timeoutMs: 60_000, outputLimit: 1, signal: new AbortController().signal };
  const uses: [string, (created: Sandbox) => unknown][] = [
    ['a listing', (created) => created.list('')],
    ['an entry', (created) => created.stat('')],
    ['a file', (created) => created.write('a', Buffer.from('b'))],
    ['many files', (created) => created.writeAll(twoFiles())],
    ['a walk', (created) => created.walk('')],
    ['a program', (created) => created.directory],
    ['a command', (created) => created.exec('true', command)],
    ['a private folder', (created) => created.privateFolder('home')],
    ['a private file', (created) => created.writePrivate('home', 'a', Buffer.from('b'))],
  ];
  it.each(uses)('has its workspace since %s', async (_, use) => {
    await use(store.newSandbox('s2') as Sandbox);
    expect((await stat(path.join(root, 's2', 'workspace'))).mode & 0o777).toBe(0o700);
    expect([await store.exists('s2'), await store.hasWorkspace('s2')]).toEqual([true, true]);
    expect(await store.open('s2')).toBeDefined();
    expect(store.newSandbox('s2')).toBeUndefined();
  });

  it('has the folders that another object for it has created', async () => {
    const created = store.newSandbox('s2') as Sandbox;
    const other = created.sameFolders();
    await created.write('a', Buffer.from('b'));
    expect((await other.list('')).map(({ name }) => name)).toEqual(['a']);
  });

  it.each([
    ['itself', async () => store.newSandbox('s2')],
    ['opened', async () => (await store.create('s2')) && store.open('s2')],
  ])('%s does not create them again after its removal', async (_, make) => {
    const created = (await make()) as Sandbox;
    await created.write('a', Buffer.from('b'));
    await (await store.putAside('s2')).remove();
    await expect(created.list('')).rejects.toMatchObject({ error: 'file_not_found' });
    expect(await store.exists('s2')).toBe(false);
  });

  it('creates the folder of all sandboxes if it is missing', async () => {
    await rm(root, { recursive: true });
    expect(await store.newSandbox('s2')?.list('')).toEqual([]);
  });

  it.each([
    ['is a file', () => writeFile(path.join(root, 's2'), '')],
    ['is a link that leads nowhere', () => symlink('nowhere', path.join(root, 's2'))],
    ['cannot be looked up', async () => rm(root, { recursive: true }).then(() => writeFile(root, ''))],
  ])('is not there if its place %s', async (_, prepare) => {
    await prepare();
    expect(store.newSandbox('s2')).toBeUndefined();
  });

  it('reports a failed disk if its folders cannot be created later, without the path', async () => {
    const created = store.newSandbox('s2') as Sandbox;
    await rm(root, { recursive: true });
    await writeFile(root, '');
    const failure = await created.list('').catch((error: unknown) => error);
    expect(hostTrouble(failure)).toBe('disk_failed');
    expect((failure as Error).message).toBe('The folder of a sandbox cannot be created.');
  });

  it('must have an ID that is a plain word', () => {
    expect(store.newSandbox('../s2')).toBeUndefined();
  });
});
