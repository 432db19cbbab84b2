/** The copies of a sandbox on two nodes: when they are brought up to date, and when they are removed. */
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { LocalCopies } from '../../../../src/service/engine/workspaces/local-copies.ts';
import { openWorkspaces } from '../../../../src/service/engine/workspaces/open-workspaces.ts';
import { FileStore } from '../../../../src/service/files/file-store.ts';
import type { Log } from '../../../../src/service/log.ts';
import type { Sandbox } from '../../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { DatabaseFiles } from '../../../../src/service/store/files/database-files.ts';
import { insertSandbox } from '../../../../src/service/store/runs/sandboxes.ts';
import type { ClaimedWorkspace } from '../../../../src/service/store/runs/workspace-files.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNode } from '../../helpers/postgres.ts';

const hour = 3_600_000;
const created_at = '2026-07-18T09:00:00.000Z';

async function startNode(url: string, name: string) {
  const clock = new ManualClock();
  const store = await openNode(url, name);
  const root = path.join(await temporaryDirectory(), 'sandboxes');
  const sandboxes = new SandboxStore(root);
  const files = new FileStore(new DatabaseFiles(store));
  const repositories = { sweep: async () => undefined };
  const logEntries: unknown[] = [];
  const log: Log = (...entry) => logEntries.push(entry);
  const engine = { store, clock, files, sandboxes, repositories: repositories as never, log };
  const workspaces = await openWorkspaces(engine, name);
  workspaces.start?.();
  afterTest(async () => workspaces.close?.());
  const claim = async () => (await store.transaction().execute((trx) => workspaces.claim(trx, 's', 'job'))) as ClaimedWorkspace;
  const { signal } = new AbortController();
  const open = async (created?: Sandbox) => workspaces.open('s', await claim(), { created, signal });
  return {
    ...{ clock, store, files, repositories, workspaces, open, logEntries },
    /** A sandbox without folders, while the run is claimed. */
    newSandbox: async () => workspaces.newSandbox('s', await claim()),
    inspect: () => workspaces.inspect('s', signal),
    place: (...names: string[]) => path.join(root, ...names),
    /** Creates an empty file in the workspace on the disk. */
    async putFile(name: string): Promise<void> {
      const place = path.join(root, 's', 'workspace', name);
      await mkdir(path.dirname(place), { recursive: true });
      await writeFile(place, '');
    },
    /** Executes a step of a run. */
    step: async (work: (sandbox: Sandbox) => Promise<unknown>): Promise<void> => {
      const workspace = await open();
      await work(workspace.sandbox);
      await workspace.commit((record) => store.transaction().execute((trx) => record(trx)));
      workspace.close();
    },
  };
}

type Node = Awaited<ReturnType<typeof startNode>>;

/** Two nodes with the sandbox `s`. */
async function startNodes() {
  const url = await newDatabase();
  const [a, b] = [await startNode(url, 'a'), await startNode(url, 'b')];
  await insertTeam(a.store, { id: 't', name: 'T', created_at });
  await insertSandbox(a.store, { id: 's', team_id: 't', created_at, expires_at: null, removed_at: null });
  return { a, b };
}

const write = (sandbox: Sandbox, name: string, text: string) => sandbox.write(name, Buffer.from(text));
/** Uploads a file with the text `b` through a node. */
const upload = ({ store, workspaces }: Node, name: string) =>
  workspaces.write(store, 's', name, {
    async *[Symbol.asyncIterator]() {
      yield Buffer.from('b');
    },
  });
const textOf = async (sandbox: Sandbox, name: string) => (await sandbox.read(name, 100)).bytes.toString();
const namesIn = async (sandbox: Sandbox) => (await sandbox.list('')).map(({ name }) => name).sort();
const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

describeNeeding(needsPostgres, 'the copy of a sandbox', () => {
  it('contains what another node has changed and removed since', async () => {
    const { a, b } = await startNodes();
    await a.step(async (sandbox) => {
      for (const name of ['changed', 'removed']) await write(sandbox, name, 'a');
    });
    await b.step(async (sandbox) => {
      await write(sandbox, 'changed', 'b');
      await rm(path.join(sandbox.directory, 'removed'));
    });
    await a.step(async (sandbox) => {
      expect(await namesIn(sandbox)).toEqual(['changed']);
      expect(await textOf(sandbox, 'changed')).toBe('b');
    });
  });

  it('is not compared with the record by the run that creates its folders', async () => {
    const { a, b } = await startNodes();
    const created = await a.newSandbox();
    // Not possible for a run: it shows that nobody looks for such a file.
    await a.putFile('unknown');
    const workspace = await a.open(created);
    expect(workspace.sandbox).toBe(created);
    expect(await namesIn(workspace.sandbox)).toEqual(['unknown']);
    await write(workspace.sandbox, 'file', 'a');
    await workspace.commit((record) => a.store.transaction().execute((trx) => record(trx)));
    workspace.close();
    await b.step(async (sandbox) => expect(await textOf(sandbox, 'file')).toBe('a'));
    await a.step(async (sandbox) => expect(await textOf(sandbox, 'file')).toBe('a'));
  });

  it('contains what was uploaded between the claim and the first step of the run that has created it', async () => {
    const { a, b } = await startNodes();
    const created = await a.newSandbox();
    await upload(b, 'uploaded');
    const workspace = await a.open(created);
    await workspace.commit((record) => a.store.transaction().execute((trx) => record(trx)));
    expect(await textOf(workspace.sandbox, 'uploaded')).toBe('b');
    workspace.close();
  });

  it.each([
    ['the claim failed that was to create its folders', async () => undefined],
    ['somebody has looked at it since the claim', async (node: Node, created: Sandbox) => (await node.inspect()) && created],
  ])('is compared with the record if %s', async (_, prepare) => {
    const { a } = await startNodes();
    const created = (await a.newSandbox()) as Sandbox;
    const next = await prepare(a, created);
    await a.putFile('unknown');
    expect(await a.newSandbox()).toBeUndefined();
    const workspace = await a.open(next);
    expect(await namesIn(workspace.sandbox)).toEqual([]);
    workspace.close();
  });

  it('is forgotten some time after its run has ended, and not while the run waits', async () => {
    const store = await openNode(await newDatabase(), 'a');
    const sandboxes = new SandboxStore(path.join(await temporaryDirectory(), 'sandboxes'));
    const engine = { store, clock: new ManualClock(), files: new FileStore(new DatabaseFiles(store)), log: () => undefined };
    const copies = new LocalCopies(engine, { sandboxes, node: 'a', sweep: async () => undefined, maxEnded: 2 });
    const { signal } = new AbortController();
    await insertTeam(store, { id: 't', name: 'T', created_at });
    const known = async (...ids: string[]): Promise<string[]> => {
      const found: string[] = [];
      for (const id of ids) if ((await copies.current(id, 0)) !== undefined) found.push(id);
      return found;
    };
    const execute = async (id: string, isOver: boolean): Promise<void> => {
      const workspace = await copies.open(id, 0, { signal });
      expect(await known(id)).toEqual([id]);
      workspace.close(isOver);
    };
    await execute('waits', false);
    for (const id of ['one', 'two', 'three']) await execute(id, true);
    expect(await known('waits', 'one', 'two', 'three')).toEqual(['waits', 'two', 'three']);
    // Another run in the same sandbox.
    const again = await copies.open('two', 0, { signal });
    // And one that ends before it.
    await execute('two', true);
    for (const id of ['four', 'five']) await execute(id, true);
    expect(await known('two', 'three', 'four', 'five')).toEqual(['two', 'four', 'five']);
    again.close(true);
    expect(await known('two', 'four', 'five')).toEqual(['two', 'five']);
    await execute('one', true);
    await copies.close();
  });

  it('gets an upload through another node while a program of the run works', async () => {
    const { a, b } = await startNodes();
    await a.step(async (sandbox) => {
      await write(sandbox, 'own', 'a');
      await upload(b, 'in/uploaded');
      await eventually('the upload', () => exists(path.join(sandbox.directory, 'in', 'uploaded')));
      expect(await textOf(sandbox, 'in/uploaded')).toBe('b');
    });
  });

  it('is removed a day after it was last used, and restored when it is needed again', async () => {
    const { a } = await startNodes();
    await a.step((sandbox) => write(sandbox, 'file', 'a'));
    await eventually('the first search has ended', async () => a.clock.sleeps > 0);
    const workspace = await a.open();
    a.clock.advance(30 * hour);
    await eventually('the search during its use has ended', async () => a.clock.sleeps > 1);
    workspace.close();
    a.clock.advance(24 * hour);
    await eventually('the next one has ended', async () => a.clock.sleeps > 2);
    expect(await exists(a.place('s', 'workspace', 'file'))).toBe(true);
    a.clock.advance(hour);
    await eventually('the folder has been removed', async () => !(await exists(a.place('s'))));
    await a.step(async (sandbox) => expect(await textOf(sandbox, 'file')).toBe('a'));
  });

  it('contains what another node has recorded since when a program of the service reads it', async () => {
    const { a, b } = await startNodes();
    await a.step((sandbox) => write(sandbox, 'changed', 'a'));
    await b.step((sandbox) => write(sandbox, 'changed', 'b'));
    const sandbox = (await a.inspect()) as Sandbox;
    expect(await textOf(sandbox, 'changed')).toBe('b');
  });

  it('is not removed while it is being read', async () => {
    const store = await openNode(await newDatabase(), 'a');
    await insertTeam(store, { id: 't', name: 'T', created_at });
    await insertSandbox(store, { id: 's', team_id: 't', created_at, expires_at: null, removed_at: null });
    const clock = new ManualClock();
    const sandboxes = new SandboxStore(path.join(await temporaryDirectory(), 'sandboxes'));
    const engine = { store, clock, files: new FileStore(new DatabaseFiles(store)), log: () => undefined };
    const copies = new LocalCopies(engine, { sandboxes, node: 'a', sweep: async () => undefined });
    const workspace = await copies.open('s', 0, { signal: new AbortController().signal });
    await write(workspace.sandbox, 'note.txt', 'a');
    workspace.close();
    clock.advance(25 * hour);
    const sandbox = await copies.current('s', 0);
    await copies.sweep();
    expect((await sandbox?.list('/workspace'))?.map(({ name }) => name)).toEqual(['note.txt']);
    clock.advance(25 * hour);
    await copies.sweep();
    expect(await copies.current('s', 0)).toBeUndefined();
  });

  it('is removed after its sandbox, and so is what a crash has left behind', async () => {
    const { a, b } = await startNodes();
    await a.step((sandbox) => write(sandbox, 'file', 'a'));
    await eventually('the first search has ended', async () => a.clock.sleeps > 0);
    await mkdir(a.place('x.removed'));
    await writeFile(a.place('x.removed', 'file'), '');
    await b.store.updateTable('sandboxes').set({ removed_at: created_at }).execute();
    a.clock.advance(hour);
    for (const name of ['s', 'x.removed']) await eventually(`${name} has been removed`, async () => !(await exists(a.place(name))));
  });
});

describeNeeding(needsPostgres, 'the log of a node', () => {
  it('contains an upload that the run has replaced, whose content remains that of the run', async () => {
    const { a, b } = await startNodes();
    const workspace = await a.open();
    const { sandbox } = workspace;
    await mkdir(path.join(sandbox.directory, 'x'));
    await upload(b, 'x');
    await eventually('the upload', () => a.logEntries.length > 0);
    expect(a.logEntries).toEqual([
      ['warn', 'an uploaded file was replaced by the run', expect.objectContaining({ sandbox: 's', path: 'workspace/x' })],
    ]);
    await write(sandbox, 'x/file', 'a');
    await workspace.commit((record) => a.store.transaction().execute((trx) => record(trx)));
    workspace.close();
    await b.step(async (other) => expect(await textOf(other, 'x/file')).toBe('a'));
  });

  it('contains files that cannot be recorded, once', async () => {
    const { a, b } = await startNodes();
    const workspace = await a.open();
    const { sandbox } = workspace;
    const commit = () => workspace.commit((record) => a.store.transaction().execute((trx) => record(trx)));
    const putUnreadable = (byte: number) => writeFile(Buffer.concat([Buffer.from(`${sandbox.directory}/`), Buffer.from([byte])]), '');
    await putUnreadable(0xff);
    await write(sandbox, 'readable', 'a');
    await commit();
    await write(sandbox, 'readable', 'changed');
    await commit();
    workspace.close();
    expect(a.logEntries).toEqual([
      [
        'warn',
        'files of a run cannot be read, and are not available on other nodes',
        { sandbox: 's', count: 1, first: 'workspace/\uFFFD' },
      ],
    ]);
    await b.step(async (other) => expect(await namesIn(other)).toEqual(['readable']));
  });

  it('says that an upload is not available yet if its bytes cannot be read: the next step has it, and no step records its removal', async () => {
    const { a, b } = await startNodes();
    const workspace = await a.open();
    const open = a.files.open.bind(a.files);
    a.files.open = () => Promise.reject(new Error('the bucket does not answer'));
    await upload(b, 'uploaded');
    await eventually('the failure', () => a.logEntries.length > 0);
    expect(a.logEntries[0]).toEqual([
      'warn',
      'uploaded files are not available yet',
      expect.objectContaining({ error: 'the bucket does not answer' }),
    ]);
    a.files.open = open;
    const commit = () => workspace.commit((record) => a.store.transaction().execute((trx) => record(trx)));
    await commit();
    expect(await textOf(workspace.sandbox, 'uploaded')).toBe('b');
    await write(workspace.sandbox, 'own', 'a');
    await commit();
    workspace.close();
    await b.step(async (sandbox) => expect(await namesIn(sandbox)).toEqual(['own', 'uploaded']));
  });

  it('says that the files of an interrupted step are not available if they cannot be stored', async () => {
    const { a, b } = await startNodes();
    const workspace = await a.open();
    await write(workspace.sandbox, 'file', 'a');
    a.files.put = () => Promise.reject(new Error('the bucket is full'));
    await workspace.salvage();
    workspace.close();
    expect(a.logEntries).toEqual([
      [
        'warn',
        'the files of an interrupted step are not available on other nodes',
        expect.objectContaining({ sandbox: 's', error: 'the bucket is full' }),
      ],
    ]);
    await b.step(async (other) => expect(await namesIn(other)).toEqual([]));
  });

  it('contains a failure to remove folders, which is tried again an hour later', async () => {
    const { a } = await startNodes();
    await eventually('the first search has ended', () => a.clock.sleeps > 0);
    a.repositories.sweep = () => Promise.reject(new Error('EACCES'));
    a.clock.advance(hour);
    await eventually('the failure', () => a.logEntries.length > 0);
    expect(a.logEntries).toEqual([
      ['warn', 'the folders of sandboxes could not be cleaned up', expect.objectContaining({ error: 'EACCES' })],
    ]);
    await mkdir(a.place('x.removed'), { recursive: true });
    await eventually('the search has ended', () => a.clock.sleeps > 1);
    a.clock.advance(hour);
    await eventually('the folder has been removed', async () => !(await exists(a.place('x.removed'))));
  });
});
