/** Stores the bytes of sandbox files, and refers to them. */
import { newId } from '../../ids.ts';
import type { OpenBytes } from '../../sandbox/record/fetch.ts';
import type { PutBytes } from '../../sandbox/record/packs.ts';
import type { Queries } from '../../store/database/database.ts';
import { changeRecord } from '../../store/runs/workspace-files.ts';
import type { HasClock, HasFiles, HasLog, HasStore } from '../engine.ts';
import { dropFiles, keepFiles, storeFiles } from '../files/stored-files.ts';

/** The parts of the engine that are needed to store bytes; the store must not be that of a request, which would wait for the bytes. */
export type BytesEngine = HasStore & HasClock & HasLog & HasFiles;

/** How long replaced bytes are kept for readers that found them in the record, in milliseconds. */
const gracePeriod = 10 * 60_000;

export const putBytes =
  (engine: BytesEngine, sandboxId: string): PutBytes =>
  async (data) => {
    const [stored] = await storeFiles(engine, [{ key: `sandboxes/${sandboxId}/${newId()}`, data }]);
    if (stored === undefined) throw new Error('nothing was stored');
    return stored;
  };

// With a range, neither the size nor the checksum of the stored file is needed.
export const openBytes =
  ({ files }: HasFiles): OpenBytes =>
  (key, range) =>
    files.open({ key, size: range.end + 1, sha256: '' }, range);

/** Changes the record of a sandbox, in a transaction in which `raiseVersion` has returned this version. @param keys of new stored files */
export async function recordChanges(
  engine: HasClock,
  trx: Queries,
  sandboxId: string,
  { keys, ...changes }: Parameters<typeof changeRecord>[2] & { keys: readonly string[] },
): Promise<void> {
  const replacedKeys = await changeRecord(trx, sandboxId, changes);
  await keepFiles(trx, keys);
  await dropFiles(trx, replacedKeys, engine.clock.now() + gracePeriod);
}
