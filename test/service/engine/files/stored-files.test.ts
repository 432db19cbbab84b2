/** Files and the rows that refer to them: neither is left without the other, whatever fails in between. */
import { Buffer } from 'node:buffer';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  discardFiles,
  dropFiles,
  FilesRemovedError,
  keepFiles,
  storeFiles,
  sweepFiles,
} from '../../../../src/service/engine/files/stored-files.ts';
import { FileStore } from '../../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../../src/service/files/folder-files.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { DatabaseProxy } from '../../../support/database-proxy.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNode } from '../../helpers/postgres.ts';
import { Gate } from '../../helpers/runtime.ts';

const hour = 60 * 60 * 1_000;
const day = 24 * hour;
const newFile = (key: string) => ({ key, data: Buffer.from(key) });

async function newEngine(store?: Store) {
  const folder = await temporaryDirectory();
  await putEmptyDatabase(folder);
  const db = store ?? (await openDatabase(folder));
  if (store === undefined) afterTest(() => db.destroy());
  const warnings: string[] = [];
  const files = new FileStore(new FolderFiles(path.join(folder, 'files')));
  const engine = {
    ...{ store: db, clock: new ManualClock(), files },
    log: (_: string, message: string) => void warnings.push(message),
  };
  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of files.list('')) found.push(key);
    return found.sort();
  };
  const unreferenced = async (): Promise<string[]> => {
    const rows = await db.selectFrom('unreferenced_files').select('key').orderBy('key').execute();
    return rows.map(({ key }) => key);
  };
  return { engine, warnings, keys, unreferenced };
}

describe('stored files', () => {
  it('stay when something refers to them, and are removed a day later otherwise', async () => {
    const { engine, keys, unreferenced } = await newEngine();
    const stored = await storeFiles(engine, [newFile('a/1'), newFile('a/2')]);
    expect(stored.map(({ key, size }) => [key, size])).toEqual([
      ['a/1', 3],
      ['a/2', 3],
    ]);
    await engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1']));
    engine.clock.advance(day - 1);
    await sweepFiles(engine);
    expect([await keys(), await unreferenced()]).toEqual([['a/1', 'a/2'], ['a/2']]);
    engine.clock.advance(1);
    await sweepFiles(engine);
    expect([await keys(), await unreferenced()]).toEqual([['a/1'], []]);
  });

  it('cannot be referred to when it was decided to remove them', async () => {
    const { engine, keys } = await newEngine();
    await storeFiles(engine, [newFile('a/1'), newFile('a/2')]);
    await discardFiles(engine, ['a/2']);
    const keep = engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1', 'a/2']));
    await expect(keep).rejects.toThrow(FilesRemovedError);
    // The transaction failed, so nothing has changed for the other one.
    await engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1']));
    expect(await keys()).toEqual(['a/1']);
  });

  it('are all discarded if one cannot be stored', async () => {
    const { engine, keys, unreferenced } = await newEngine();
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begin');
      throw new Error('cut off');
    };
    await expect(storeFiles(engine, [newFile('a/1'), { key: 'a/2', data: failing() }])).rejects.toThrow('cut off');
    expect([await keys(), await unreferenced()]).toEqual([[], []]);
  });

  it('stay if the transaction that drops them fails, and are removed by a sweep an hour after it otherwise', async () => {
    const { engine, keys, unreferenced } = await newEngine();
    await storeFiles(engine, [newFile('a/1')]);
    await engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1']));
    const failing = engine.store.transaction().execute(async (trx) => {
      await dropFiles(trx, ['a/1'], engine.clock.now());
      throw new Error('failed');
    });
    await expect(failing).rejects.toThrow('failed');
    await discardFiles(engine, ['a/1']);
    await sweepFiles(engine);
    expect(await keys()).toEqual(['a/1']);
    await engine.store.transaction().execute((trx) => dropFiles(trx, ['a/1'], engine.clock.now()));
    engine.clock.advance(hour - 1);
    await sweepFiles(engine);
    expect(await keys()).toEqual(['a/1']);
    engine.clock.advance(1);
    await sweepFiles(engine);
    expect([await keys(), await unreferenced()]).toEqual([[], []]);
  });

  it('are removed later if that fails', async () => {
    const { engine, keys, warnings, unreferenced } = await newEngine();
    await storeFiles(engine, [newFile('a/1')]);
    const broken = { ...engine, files: new FileStore({ ...brokenBackend }) };
    await discardFiles(broken, ['a/1']);
    expect([warnings, await keys()]).toEqual([['files could not be removed; this is repeated later'], ['a/1']]);
    // Its bytes are still there, but not for long.
    await expect(engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1']))).rejects.toThrow(FilesRemovedError);
    engine.clock.advance(day);
    await expect(sweepFiles(broken)).rejects.toThrow('unreachable');
    await sweepFiles(engine);
    expect([await keys(), await unreferenced()]).toEqual([[], []]);
  });

  it('are swept in several steps, however many there are', async () => {
    const { engine, unreferenced } = await newEngine();
    const keys = Array.from({ length: 1_100 }, (_, index) => `a/${index}`);
    await engine.store.transaction().execute((trx) => dropFiles(trx, keys, engine.clock.now()));
    expect(await unreferenced()).toHaveLength(1_100);
    engine.clock.advance(hour);
    await sweepFiles(engine);
    expect(await unreferenced()).toEqual([]);
  });
});

const unreachable = async (): Promise<never> => Promise.reject(new Error('unreachable'));
const brokenBackend = {
  ...{ kind: 's3' as const, put: unreachable, open: unreachable, delete: unreachable, check: unreachable },
  list: () => {
    throw new Error('unreachable');
  },
};

describeNeeding(needsPostgres, 'stored files of several nodes', () => {
  it('are not removed by another node while a transaction is about to refer to them', async () => {
    const url = await newDatabase();
    const { engine, keys } = await newEngine(await openNode(url, 'a'));
    const other = { ...engine, store: await openNode(url, 'b') };
    await storeFiles(engine, [newFile('a/1')]);
    engine.clock.advance(day);
    const [hasReferred, mayCommit] = [new Gate(), new Gate()];
    const transaction = engine.store.transaction().execute(async (trx) => {
      await keepFiles(trx, ['a/1']);
      hasReferred.open();
      await mayCommit.opened;
    });
    await hasReferred.opened;
    const sweep = sweepFiles(other);
    mayCommit.open();
    await Promise.all([transaction, sweep]);
    expect(await keys()).toEqual(['a/1']);
  });

  it('stay if their transaction was committed although its answer was lost', async () => {
    const url = await newDatabase();
    const proxy = await DatabaseProxy.to(url);
    const { engine, keys, unreferenced } = await newEngine(await openNode(proxy.url, 'a'));
    await storeFiles(engine, [newFile('a/1')]);
    proxy.loseAnswerTo('commit');
    await expect(engine.store.transaction().execute((trx) => keepFiles(trx, ['a/1']))).rejects.toThrow();
    await discardFiles(engine, ['a/1']);
    expect([await keys(), await unreferenced()]).toEqual([['a/1'], []]);
  });
});
