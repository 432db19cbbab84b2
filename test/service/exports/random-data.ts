/** Data directories whose every table has rows with values of all kinds, which refer to each other as the tables require. */
import path from 'node:path';
import Libsql from 'libsql';
import { exportedTables } from '../../../src/service/store/database/portable/tables.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { randomFrom } from '../../support/random.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

const texts = [
  '',
  'plain',
  'Größe',
  '請求書',
  '👩‍👩‍👧‍👦',
  'a\nb\r\n\u2028',
  '"quoted\\"',
  '\u001b[31m',
  '\ufffd',
  '0',
  'null',
  'z'.repeat(3_000),
];
const integers = [0, 1, -1, 9_007_199_254_740_991, 1_700_000_000_000];

/** Files are named after IDs, and a folder that was never created is as old as its sandbox. */
const plainColumns: Readonly<Record<string, readonly string[]>> = { runs: ['id'], run_files: ['id'], sandboxes: ['id', 'created_at'] };

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** A data directory with a number of rows in each table. The same seed results in the same rows. */
export async function randomData(seed: number, rowCount = 40): Promise<string> {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const database = new Libsql(path.join(directory, 'aops.db'));
  const random = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  database.exec('begin');
  for (const table of exportedTables) {
    const columns = database.prepare(`pragma table_info(${table})`).all() as Column[];
    const references = database.prepare(`pragma foreign_key_list(${table})`).all() as { from: string; table: string; to: string }[];
    const parents = new Map(
      references.map(({ from, table: parent, to }) => [
        from,
        database.prepare(`select ${to} from ${parent}`).raw(true).all() as [unknown][],
      ]),
    );
    const marks = columns.map(() => '?').join();
    const insert = database.prepare(`insert or ignore into ${table} (${columns.map(({ name }) => name).join()}) values (${marks})`);
    for (let index = 0; index < rowCount; index++) {
      const values = columns.map(({ name, type, notnull, pk }) => {
        if (notnull === 0 && pk === 0 && random() < 0.3) return null;
        const parent = parents.get(name);
        if (parent !== undefined) return pick(parent)[0];
        if (plainColumns[table]?.includes(name)) return name === 'id' ? `id-${Math.floor(random() * 1e9)}` : '2026-01-01T00:00:00.000Z';
        if (type.toLowerCase() !== 'text') return pk > 0 || random() < 0.5 ? Math.floor(random() * 1_000_000) : pick(integers);
        return `${pick(texts)}${Math.floor(random() * 1e9)}`;
      });
      insert.run(values);
    }
  }
  database.exec('commit');
  database.close();
  return directory;
}
