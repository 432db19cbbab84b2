/** Which nodes can start next to others: those with a name of their own, and with the same place for files. */
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/service.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { openNode } from '../helpers/postgres.ts';
import { startApi } from '../helpers/service.ts';

/** Starts nodes on one database. */
async function cluster() {
  const url = await newDatabase();
  const folder = await temporaryDirectory();
  const secretKeyFile = path.join(folder, 'secrets.key');
  const start = async (nodeName: string | undefined, options: Partial<ServiceOptions> = {}, address = url) => {
    const { service } = await startApi({
      ...options,
      database: { url: address, maxConnections: 3, secretKeyFile, ...(nodeName === undefined ? {} : { nodeName }) },
    });
    return service;
  };
  const store = await openNode(url, 'observer', 1);
  const names = async () => (await store.selectFrom('nodes').select('name').orderBy('name').execute()).map(({ name }) => name);
  return { url, folder, start, names };
}

describeNeeding(needsPostgres, 'a node with the name of another one', () => {
  it('is refused while that one is alive, and starts when it has ended', async () => {
    const { start, names } = await cluster();
    const first = await start('a');
    await expect(start('a')).rejects.toMatchObject({
      code: 'node_name_taken',
      message: `A node with the name "a" is running at ${first.url}.`,
      exit: 6,
    });
    await start('b');
    await first.close();
    await start('a');
    expect(await names()).toEqual(['a', 'b']);
  });

  it('starts immediately if that one was killed, and takes its place', async () => {
    const { start, names, url } = await cluster();
    const proxy = await DatabaseProxy.to(url);
    await start('a', {}, proxy.url);
    proxy.cut();
    await start('a');
    expect(await names()).toEqual(['a']);
  });

  it('starts if that one was not seen for longer than its lease, as one on a frozen machine', async () => {
    const { start } = await cluster();
    // Its time is in the past, and stands still.
    await start('a', { clock: new ManualClock(Date.now() - 16_000) });
    await start('a');
  });

  it('starts if that is the name of the machine, which nobody has chosen', async () => {
    const { start, names } = await cluster();
    await start(undefined);
    await start(undefined);
    expect(await names()).toHaveLength(2);
  });
});

describeNeeding(needsPostgres, 'a node that stores files elsewhere than another one', () => {
  it('is refused while that one is alive', async () => {
    const { start, folder } = await cluster();
    const files = { kind: 'folder' as const, path: path.join(folder, 'files') };
    const first = await start('a', { files });
    await expect(start('b')).rejects.toMatchObject({
      code: 'file_store_mismatch',
      message: `This node would store files in the database, but other nodes (a) store them in the folder ${files.path}.`,
    });
    // Another path to the same folder, as on a machine that has mounted it elsewhere.
    await symlink(files.path, path.join(folder, 'link'));
    const second = await start('b', { files: { kind: 'folder', path: path.join(folder, 'link') } });
    await first.close();
    await expect(start('c', { files: { kind: 'folder', path: path.join(folder, 'other') } })).rejects.toMatchObject({
      code: 'file_store_mismatch',
    });
    await second.close();
    await start('c');
  });
});
