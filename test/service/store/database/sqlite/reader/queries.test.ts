/** The queries of the thread that reads the database, tested without the thread. */
import { Buffer } from 'node:buffer';
import Libsql from 'libsql';
import { beforeEach, expect, it } from 'vitest';
import { packing } from '../../../../../../src/service/store/database/sqlite/packed-rows.ts';
import type { ReaderRequest } from '../../../../../../src/service/store/database/sqlite/reader/messages.ts';
import { maxPrepared, ReaderQueries } from '../../../../../../src/service/store/database/sqlite/reader/queries.ts';
import { afterTest } from '../../../../../support/temporary.ts';

/** The statements that were prepared. */
let prepared: string[];
let queries: ReaderQueries;

beforeEach(() => {
  const database = new Libsql(':memory:');
  afterTest(() => void database.close());
  database.exec("create table letters (id integer primary key, name text); insert into letters values (1, 'a'), (2, 'ä')");
  prepared = [];
  const prepare = (text: string) => {
    prepared.push(text);
    return database.prepare(text);
  };
  queries = new ReaderQueries({ prepare } as Libsql.Database);
});

const request = (format: ReaderRequest['format'], sql: string, parameters: unknown[] = []): ReaderRequest => ({
  ...{ id: 7, format, sql, parameters },
});

/** The rows of a packed answer. */
function unpacked(answer: ReturnType<ReaderQueries['answer']>): unknown[] {
  if (!('bytes' in answer)) throw new Error(JSON.stringify(answer));
  return packing('', answer.columns).unpack(answer.bytes === null ? null : Buffer.from(answer.bytes));
}

const byId = 'select id, name from letters where id >= ? order by id';

it('packs all rows, or only the first one, or does not pack them', () => {
  expect(unpacked(queries.answer(request('packed', byId, [1])))).toEqual([
    { id: 1, name: 'a' },
    { id: 2, name: 'ä' },
  ]);
  expect(unpacked(queries.answer(request('first packed', byId, [2])))).toEqual([{ id: 2, name: 'ä' }]);
  expect(queries.answer(request('rows', byId, [2]))).toMatchObject({
    id: 7,
    columns: [{ name: 'id' }, { name: 'name' }],
    rows: [[2, 'ä']],
  });
});

it('returns no rows if there are none', () => {
  expect(queries.answer(request('packed', byId, [3]))).toMatchObject({ id: 7, bytes: null });
  expect(queries.answer(request('first packed', byId, [3]))).toMatchObject({ id: 7, bytes: null });
  expect(queries.answer(request('rows', byId, [3]))).toMatchObject({ id: 7, rows: [] });
});

it('an error becomes the answer, and the next query succeeds', () => {
  expect(queries.answer(request('rows', 'select nonsense'))).toEqual({
    id: 7,
    problem: { message: expect.stringContaining('nonsense'), code: 'SQLITE_ERROR' },
  });
  expect(queries.answer(request('rows', 'select 1'))).toMatchObject({ rows: [[1]] });
});

it('prepares a statement once for each format, and forgets all when there are many', () => {
  const preparedBy = (sql: string): number => {
    const before = prepared.length;
    queries.answer(request('rows', sql));
    return prepared.length - before;
  };
  // The columns and the rows each have a statement.
  expect(preparedBy('select 0')).toBe(2);
  expect(preparedBy('select 0')).toBe(0);
  queries.answer(request('packed', 'select 0'));
  expect(prepared.at(-1)).toContain('group_concat');
  for (let number = 1; number < maxPrepared - 1; number += 1) preparedBy(`select ${number}`);
  expect(preparedBy('select 0')).toBe(0);
  preparedBy('select -1');
  expect(preparedBy('select -1')).toBe(0);
  expect(preparedBy('select 0')).toBe(2);
  queries.clear();
  expect(preparedBy('select 0')).toBe(2);
});
