/** The files of a sandbox that several nodes use, at moments that are rare: the nodes share a connection to SQLite. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { RunWorkspace } from '../../../../src/service/engine/run-workspaces.ts';
import { SharedWorkspaces } from '../../../../src/service/engine/workspaces/shared-workspaces.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { each, recordedSandbox } from '../../helpers/recorded-sandbox.ts';

const { signal } = new AbortController();

async function startNodes() {
  const { engine, storedKeys } = await recordedSandbox();
  const { store } = engine;
  const newNode = async (node: string) => {
    const sandboxes = new SandboxStore(await temporaryDirectory());
    const workspaces = new SharedWorkspaces(engine, { sandboxes, node, sweep: async () => undefined });
    return {
      workspaces,
      sandboxes,
      async open(): Promise<RunWorkspace> {
        const claimed = await store.transaction().execute((trx) => workspaces.claim(trx, 's', 'job'));
        if (claimed === undefined) throw new Error('The sandbox could not be claimed.');
        return workspaces.open('s', claimed, { created: undefined, signal });
      },
      upload: (name: string, content: string) => workspaces.write(store, 's', name, each([Buffer.from(content)])),
    };
  };
  return { engine, store, storedKeys, x: await newNode('x'), y: await newNode('y') };
}

type Nodes = Awaited<ReturnType<typeof startNodes>>;

const placeOf = ({ sandbox }: RunWorkspace, name: string): string => path.join(sandbox.directory, name);
const commit = (workspace: RunWorkspace, { store }: Nodes) =>
  workspace.commit((record) => store.transaction().execute((trx) => record(trx)));

it('a step keeps what a program has written since the files were recorded, and gets an upload', async () => {
  const nodes = await startNodes();
  const workspace = await nodes.x.open();
  await writeFile(placeOf(workspace, 'own'), 'first');
  await nodes.y.upload('uploaded', 'text');
  await workspace.commit(async (record) => {
    await nodes.store.transaction().execute((trx) => record(trx));
    await writeFile(placeOf(workspace, 'own'), 'second');
  });
  const [own, uploaded] = await Promise.all(['own', 'uploaded'].map((name) => readFile(placeOf(workspace, name), 'utf8')));
  expect([own, uploaded]).toEqual(['second', 'text']);
});

describe('a stored file that is missing', () => {
  const openTwice = async (change: (nodes: Nodes, openings: number) => Promise<void>): Promise<RunWorkspace> => {
    const nodes = await startNodes();
    const workspace = await nodes.x.open();
    await writeFile(placeOf(workspace, 'file'), 'replaced');
    await commit(workspace, nodes);
    workspace.close();
    const { files } = nodes.engine;
    const open = files.open.bind(files);
    let openings = 0;
    files.open = async (...args) => {
      openings += 1;
      await change(nodes, openings);
      return open(...args);
    };
    return nodes.y.open();
  };

  it('is looked up again, because it may have been replaced', async () => {
    const workspace = await openTwice(async ({ engine, x, storedKeys }, openings) => {
      if (openings > 1) return;
      const replaced = await storedKeys();
      await x.upload('file', 'new');
      await engine.files.delete(replaced);
    });
    expect(await readFile(placeOf(workspace, 'file'), 'utf8')).toBe('new');
  });

  it('ends the attempt to open the sandbox if it is never found', async () => {
    let count = 0;
    const opening = openTwice(async ({ engine, storedKeys }, openings) => {
      count = openings;
      await engine.files.delete(await storedKeys());
    });
    await expect(opening).rejects.toThrow('A file of a sandbox is no longer stored.');
    expect(count).toBe(5);
  });
});

describe('a file next to the workspace', () => {
  const publish = async (nodes: Nodes, content: string) => {
    const sandbox = await nodes.x.sandboxes.create('s');
    await writeFile(path.join(await sandbox.privateFolder('screenshots'), 'one.png'), content);
    await nodes.x.workspaces.publish(sandbox, 'screenshots/one.png');
  };

  it('is available on the other node, in whole and in part, and is stored once', async () => {
    const nodes = await startNodes();
    await publish(nodes, 'picture');
    await publish(nodes, 'picture');
    const file = await nodes.y.workspaces.privateFile('s', 'screenshots/one.png');
    expect(file?.size).toBe(7);
    const parts = await Promise.all([undefined, { start: 1, end: 2 }].map(async (range) => text((await file?.open(range)) as Readable)));
    expect([parts, (await nodes.storedKeys()).length]).toEqual([['picture', 'ic'], 1]);
    expect(await nodes.y.workspaces.privateFile('s', 'screenshots/two.png')).toBeUndefined();
  });

  it.each([
    ['the sandbox was removed', 'picture', "update sandboxes set removed_at = '2026-08-02T00:00:00.000Z'"],
    ['it is empty', '', 'select 1'],
  ])('is not stored if %s', async (_, content, change) => {
    const nodes = await startNodes();
    await sql.raw(change).execute(nodes.store);
    await publish(nodes, content);
    expect(await nodes.storedKeys()).toEqual([]);
    expect(await nodes.y.workspaces.privateFile('s', 'screenshots/one.png')).toBeUndefined();
  });
});

it('a sandbox that was removed has no files on any node, although their folders still exist', async () => {
  const nodes = await startNodes();
  const workspace = await nodes.x.open();
  await mkdir(placeOf(workspace, 'folder'));
  await commit(workspace, nodes);
  workspace.close(true);
  await sql`update sandboxes set removed_at = '2026-08-02T00:00:00.000Z'`.execute(nodes.store);
  for (const { workspaces } of [nodes.x, nodes.y])
    expect([await workspaces.exists('s'), await workspaces.files('s'), await workspaces.inspect('s', signal)]).toEqual([
      false,
      undefined,
      undefined,
    ]);
});
