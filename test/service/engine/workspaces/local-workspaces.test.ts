/** The files of sandboxes with a single node, while their folders are created by somebody else. */
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { localWorkspaces } from '../../../../src/service/engine/workspaces/local-workspaces.ts';
import { FileStore } from '../../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../../src/service/files/folder-files.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { insertSandbox } from '../../../../src/service/store/runs/sandboxes.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

const created_at = '2026-07-18T09:00:00.000Z';

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await temporaryDirectory();
  await putEmptyDatabase(folder);
  store = await openDatabase(folder);
  afterTest(() => store.destroy());
  await insertTeam(store, { id: 't', name: 'T', created_at });
  await insertSandbox(store, { id: 's', team_id: 't', created_at, expires_at: null, removed_at: null });
});

class HookedStore extends SandboxStore {
  onMissing: (() => Promise<unknown>) | undefined;

  override async open(id: string) {
    const sandbox = await super.open(id);
    const hook = sandbox === undefined ? this.onMissing : undefined;
    if (hook !== undefined) {
      this.onMissing = undefined;
      await hook();
    }
    return sandbox;
  }
}

function workspacesOn(sandboxes: SandboxStore) {
  const files = new FileStore(new FolderFiles(path.join(folder, 'files')));
  const workspaces = localWorkspaces(sandboxes, { store, files });
  const bytes = async function* (meanwhile?: () => Promise<unknown>): AsyncGenerator<Uint8Array> {
    yield Buffer.from('text');
    await meanwhile?.();
  };
  /** @param meanwhile what happens before the upload has been received */
  const upload = (name: string, meanwhile?: () => Promise<unknown>) => workspaces.write(store, 's', name, bytes(meanwhile));
  return { ...workspaces, upload };
}

const notFound = { status: 404, error: 'sandbox_not_found' };
const remove = () => store.updateTable('sandboxes').set({ removed_at: created_at }).execute();

describe('a sandbox whose folder is created by an upload, just after it was not found,', () => {
  it('has its files', async () => {
    const sandboxes = new HookedStore(path.join(folder, 'sandboxes'));
    const { files, upload } = workspacesOn(sandboxes);
    sandboxes.onMissing = () => upload('a');
    expect((await (await files('s'))?.list(''))?.map(({ name }) => name)).toEqual(['a']);
  });

  it('is not damaged', async () => {
    const sandboxes = new HookedStore(path.join(folder, 'sandboxes'));
    sandboxes.onMissing = () => sandboxes.create('s');
    expect(await (await workspacesOn(sandboxes).files('s'))?.list('')).toEqual([]);
  });

  it('accepts another upload', async () => {
    const sandboxes = new HookedStore(path.join(folder, 'sandboxes'));
    const { files, upload } = workspacesOn(sandboxes);
    sandboxes.onMissing = () => upload('a');
    await upload('b');
    expect((await (await files('s'))?.list(''))?.map(({ name }) => name)).toEqual(['a', 'b']);
  });
});

describe('a sandbox that was removed before anything was written in it', () => {
  it('has no files, and accepts none', async () => {
    const sandboxes = new SandboxStore(path.join(folder, 'sandboxes'));
    const { files, upload } = workspacesOn(sandboxes);
    await remove();
    expect(await files('s')).toBeUndefined();
    await expect(upload('a')).rejects.toMatchObject(notFound);
    expect(await sandboxes.ids()).toEqual([]);
  });
});

describe('a sandbox that is removed during an upload', () => {
  const endings: [string, () => void][] = [
    ['that ends', () => undefined],
    ['that fails', () => expect.fail('The upload fails.')],
  ];
  it.each(endings)('is not found by an upload %s, and nothing remains if no run can use it', async (_, end) => {
    const sandboxes = new SandboxStore(path.join(folder, 'sandboxes'));
    await store.updateTable('sandboxes').set({ expires_at: created_at }).execute();
    await expect(workspacesOn(sandboxes).upload('a', () => remove().then(end))).rejects.toMatchObject(notFound);
    expect(await sandboxes.ids()).toEqual([]);
  });

  it('is left to a run that may use it', async () => {
    const sandboxes = new SandboxStore(path.join(folder, 'sandboxes'));
    await expect(workspacesOn(sandboxes).upload('a', remove)).rejects.toMatchObject(notFound);
    expect(await sandboxes.ids()).toEqual(['s']);
  });
});

it('a sandbox that is not known has no files, and accepts none', async () => {
  const { files, upload } = workspacesOn(new SandboxStore(path.join(folder, 'sandboxes')));
  await store.deleteFrom('sandboxes').execute();
  expect(await files('s')).toBeUndefined();
  await expect(upload('a')).rejects.toMatchObject(notFound);
});
