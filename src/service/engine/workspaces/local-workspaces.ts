/** The files of sandboxes where there is only one node: its folders, and nothing else. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { notFound } from '../../errors.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxFiles } from '../../sandbox/sandbox-files.ts';
import type { SandboxStore } from '../../sandbox/sandbox-store.ts';
import type { Store } from '../../store/database/database.ts';
import { noteUse, removalOf } from '../../store/runs/sandboxes.ts';
import { workspaceState } from '../../store/runs/workspace-files.ts';
import type { HasFiles, HasStore } from '../engine.ts';
import type { RunWorkspace, Workspaces } from '../run-workspaces.ts';
import { RecordedFiles } from './recorded-files.ts';
import { openBytes } from './stored-bytes.ts';

const claimed = { version: 0, wasElsewhere: false };

export const localWorkspaces = (sandboxes: SandboxStore, engine: HasStore & HasFiles): Workspaces => ({
  claim: async () => claimed,
  newSandbox: (id) => sandboxes.newSandbox(id),
  open: async (id, _, { created }) => runWorkspace(created ?? (await sandboxes.create(id))),
  files: (id) => filesOf(sandboxes, engine, id),
  exists: (id) => sandboxes.exists(id),
  inspect: (id) => sandboxes.open(id),
  write: (store, id, input, data, options) => written(store, sandboxes, id, (sandbox) => sandbox.write(input, data, options)),
  writeAll: (store, id, files) => written(store, sandboxes, id, (sandbox) => sandbox.writeAll(files)),
  publish: async () => undefined,
  async privateFile(id, name) {
    const sandbox = await sandboxes.open(id);
    if (sandbox === undefined) return undefined;
    const file = path.join(await sandbox.privateFolder(path.dirname(name)), path.basename(name));
    const stats = await stat(file).catch(() => undefined);
    return stats && { size: stats.size, open: async (range) => createReadStream(file, range) };
  },
  forget: async () => [],
});

async function filesOf(sandboxes: SandboxStore, engine: HasStore & HasFiles, id: string): Promise<SandboxFiles | undefined> {
  const sandbox = await sandboxes.open(id);
  if (sandbox !== undefined) return sandbox;
  const isEmpty = (await isUnused(engine.store, id)) && !(await sandboxes.hasWorkspace(id));
  // If nothing has needed a folder yet, nothing is recorded either.
  return isEmpty ? new RecordedFiles(id, engine.store, openBytes(engine)) : sandboxes.open(id);
}

/** Whether a sandbox needs no folder yet. Otherwise its folder is gone, or has been created by now. */
async function isUnused(store: Store, id: string): Promise<boolean> {
  const state = await workspaceState(store, id);
  return state !== undefined && state.removed_at === null && state.version === 0;
}

/** Writes something, and makes sure that the sandbox has not been removed meanwhile: a sandbox is marked as removed before its folder is. */
async function written<Result>(
  store: Store,
  sandboxes: SandboxStore,
  id: string,
  write: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = (await sandboxes.open(id)) ?? (await ((await isUnused(store, id)) ? sandboxes.create(id) : sandboxes.open(id)));
  if (sandbox === undefined) throw notFound('sandbox', id);
  let result: Result;
  try {
    result = await write(sandbox);
  } catch (error) {
    throw (await removeAgain(store, sandboxes, id)) ? notFound('sandbox', id) : error;
  }
  if (await removeAgain(store, sandboxes, id)) throw notFound('sandbox', id);
  await noteUse(store, id);
  return result;
}

/** Returns whether a sandbox has been removed, and removes what has been created in its place since, unless a run may use it. */
async function removeAgain(store: Store, sandboxes: SandboxStore, id: string): Promise<boolean> {
  const state = await removalOf(store, id);
  if (state === undefined) return true;
  if (!state.isRemoved) return false;
  if (state.wasStaged) await sandboxes.remove(id);
  return true;
}

function runWorkspace(sandbox: Sandbox): RunWorkspace {
  let isNoted = false;
  return {
    sandbox,
    async commit(write) {
      const isNews = !isNoted && sandbox.changeCount > 0;
      const result = await write(async (trx) => {
        if (isNews) await noteUse(trx, sandbox.id);
      });
      isNoted ||= isNews;
      return result;
    },
    salvage: async () => undefined,
    close: () => undefined,
  };
}
