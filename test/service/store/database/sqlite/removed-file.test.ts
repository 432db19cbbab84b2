/** A database whose file is removed by the process that held its lock before, as when data is deleted. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Libsql from 'libsql';
import { expect, it, onTestFinished, vi } from 'vitest';
import { removeDatabase } from '../../../../../src/service/store/data-directory.ts';
import { openDatabase } from '../../../../../src/service/store/database/sqlite/open.ts';
import { temporaryFolder } from '../../../../support/temporary.ts';

const insert = async (folder: string, name: string) => {
  const store = await openDatabase(folder);
  await store.insertInto('settings').values({ name, value: '' }).execute();
  await store.destroy();
};
const names = async (folder: string) => {
  const store = await openDatabase(folder);
  const rows = await store.selectFrom('settings').select('name').orderBy('name').execute();
  await store.destroy();
  return rows.map(({ name }) => name);
};

/** Calls `act` when the next database has been opened, before it is locked. */
function beforeTheLock(act: () => void): void {
  const { pragma } = Libsql.prototype;
  const spy = vi.spyOn(Libsql.prototype, 'pragma').mockImplementationOnce(function (this: Libsql.Database, ...input) {
    act();
    return Reflect.apply(pragma, this, input) as unknown;
  });
  onTestFinished(() => spy.mockRestore());
}

it.each([
  ['nothing', () => undefined],
  ['another file', (file: string) => renameSync(`${file}.next`, file)],
])('is opened again if %s has taken the place of its file before it was locked', async (_, replace) => {
  const folder = await temporaryFolder();
  const file = path.join(folder, 'aops.db');
  await insert(folder, 'before');
  await writeFile(`${file}.next`, '');
  beforeTheLock(() => {
    rmSync(file);
    replace(file);
  });
  await insert(folder, 'after');
  expect(await names(folder)).toEqual(['after']);
});

it('leaves the log of the database that replaces it when it is closed', async () => {
  const folder = await temporaryFolder();
  const file = path.join(folder, 'aops.db');
  await insert(folder, 'before');
  const { close } = Libsql.prototype;
  const spy = vi.spyOn(Libsql.prototype, 'close').mockImplementationOnce(function (this: Libsql.Database) {
    writeFileSync(`${file}-wal`, '');
    return Reflect.apply(close, this, []);
  });
  onTestFinished(() => spy.mockRestore());
  await removeDatabase(folder, async () => undefined);
  expect(await readdir(folder)).toEqual(['aops.db-wal']);
});
