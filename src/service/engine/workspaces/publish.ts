/** Makes a file in a private folder of a sandbox available to all nodes. It is recorded like a file of the run, but never restored. */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { folderOf } from '../../sandbox/record/entries.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { entriesAt, raiseVersion } from '../../store/runs/workspace-files.ts';
import { discardFiles } from '../files/stored-files.ts';
import { type BytesEngine, putBytes, recordChanges } from './stored-bytes.ts';

/** @param name `folder/file`. A file with this name always has the same content. */
export async function publishFile(engine: BytesEngine, sandbox: Sandbox, name: string): Promise<void> {
  const { store, clock } = engine;
  const { id } = sandbox;
  if ((await entriesAt(store, id, [name])).size > 0) return;
  const file = path.join(await sandbox.privateFolder(folderOf(name)), path.posix.basename(name));
  const { key, size, sha256 } = await putBytes(engine, id)(createReadStream(file));
  const stored = size === 0 ? null : { key, position: 0 };
  const entry = { type: 'file' as const, path: name, mode: 0o600, modifiedAt: clock.now(), size, sha256, isText: false, stored };
  const isRecorded = await store.transaction().execute(async (trx) => {
    const version = await raiseVersion(trx, id);
    if (version === undefined || size === 0) return false;
    await recordChanges(engine, trx, id, { version, entries: [entry], keys: [key] });
    return true;
  });
  if (!isRecorded) await discardFiles(engine, [key]);
}
