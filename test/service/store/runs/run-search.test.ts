/** Searches in more runs than one query may read, which use the index: they find what LIKE finds in titles, IDs, and names of agents. */
import path from 'node:path';
import { type Kysely, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSearch } from '../../../../src/service/store/database/migrations/0031-run-search.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { searchSlice } from '../../../../src/service/store/database/slices.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { countRuns, listRunRows } from '../../../../src/service/store/runs/run-list.ts';
import { temporaryFolder, whenDone } from '../../../support/temporary.ts';

const usualRuns = searchSlice * 2;
/** Runs with other titles, with the numbers 1, 2, 3 ... */
const titles = [
  'Deploy the "blue" service',
  '100% of Müller & Söhne',
  'snake_case and back\\slash',
  'ÄRGER MIT İSTANBUL',
  'tab\tand (a OR b) NOT c*',
  'emoji 👩‍🚀 on board',
  'deploy',
  'dep',
  'a\u0000b zero',
  "it's -1 + column:text ^first",
  '发票检查',
  'quartz',
];

let db: Kysely<Database>;

beforeAll(async () => {
  const openedDatabase = await openDatabase(await temporaryFolder());
  whenDone(() => openedDatabase.destroy());
  db = openedDatabase;
  await sql`pragma foreign_keys = off`.execute(db);
  for (const [id, team, name] of [
    ['a', 't', 'Agent'],
    ['p', 't', 'Payroll Ünit'],
    ['o', 'other', 'Payroll'],
    ['u', 't', 'Usual suspects'],
  ])
    await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at)
      values (${id}, ${team}, ${name}, ${(name as string).toLowerCase()}, '', '')`.execute(db);
  await sql`with recursive n(i) as (select 1001 union all select i + 1 from n where i < ${sql.lit(1_000 + usualRuns)}) ${insertRuns}
    select printf('%08x-0000-7000-8000-%012x', i, i * 7919), 't', 'a', 'b', i, 'Usual "x-1"', 'usual "x-1"', 'completed', 'api', 's', 'script', 'h', 1, 0, 0,
      printf('2026-01-01T%08d', i), '' from n`.execute(db);
  await sql`insert into run_totals (team_id, agent_id, source, status, runs) values ('t', 'a', 'api', 'completed', ${usualRuns + titles.length})`.execute(
    db,
  );
  for (const [index, title] of titles.entries()) await insertRun(index + 1, title);
  await insertRun(101, 'Wages', 'p');
  await insertRun(103, 'Other work', 'u');
  await sql`insert into run_totals (team_id, agent_id, source, status, runs) values ('t', 'u', 'api', 'completed', 1)`.execute(db);
  await insertRun(102, 'Deploy elsewhere', 'o', 'other');
});

const insertRuns = sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id,
  runtime, procedure_hash, turn, submitted_prompt_count, resume_count, created_at, updated_at)`;

const idOf = (number: number): string => `${'0'.repeat(7)}${number % 10}-cafe-7000-8000-${String(number).padStart(12, '0')}`;

async function insertRun(number: number, title: string, agent = 'a', team = 't'): Promise<void> {
  await sql`${insertRuns} values (${idOf(number)}, ${team}, ${agent}, 'b', ${number}, ${title}, ${title.toLowerCase()}, 'completed', 'api', 's',
    'script', 'h', 1, 0, 0, ${`2026-01-01T${String(number).padStart(8, '0')}`}, '')`.execute(db);
}

async function found(search: string, teamId = 't'): Promise<number[]> {
  const rows = await listRunRows(db, { teamId, search }, { limit: 50, offset: 0, order: 'asc' });
  expect(await countRuns(db, { teamId, search })).toBe(rows.length);
  return rows.map((row) => row.run_number);
}

it.each<[string, number[]]>([
  ['deploy', [1, 7]],
  ['DEPLOY THE', [1]],
  ['"blue"', [1]],
  ['blue" service', [1]],
  ['dep', [1, 7, 8]],
  ['de', [1, 7, 8]],
  ['100%', [2]],
  ['0%1', []],
  ['müller & sÖ', [2]],
  ['e_c', [3]],
  ['e?c', []],
  ['k\\s', [3]],
  ['ärger', [4]],
  ['(a or b) not c*', [5]],
  ['b\tand', [5]],
  ['👩‍🚀', [6]],
  ['👩', [6]],
  ['b zero', [9]],
  ['a\u0000b', [9]],
  ["it's -1 + column:text ^first", [10]],
  ['column:te', [10]],
  ['  deploy  ', [1, 7]],
  ['payroll', [101]],
  ['payroll ü', [101]],
  ['service\n0', []],
  ['nothing like it', []],
  ['发', [11]],
  ['票检', [11]],
  ['检查', [11]],
  ['查', [11]],
  ['查发', []],
  ['tz', [12]],
  ['z', [9, 12]],
  ['qu', [12]],
  ['qx', []],
  ['"b', [1]],
  ['%', [2]],
  ['_', [3]],
])('%j finds the runs %j', async (search, numbers) => {
  expect(await found(search)).toEqual(numbers);
});

it('counts the runs of an agent whose name contains a word of many titles', async () => {
  expect(await countRuns(db, { teamId: 't', search: 'usual' })).toBe(usualRuns + 1);
});

it('counts a text with quotes that most titles contain', async () => {
  expect(await countRuns(db, { teamId: 't', search: '"x-1"' })).toBe(usualRuns);
});

it('finds a character with which very many sequences of characters begin', async () => {
  const characters = Array.from({ length: 100 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  await insertRun(201, characters.map((character) => `ø${character}`).join(''));
  await insertRun(202, 'ø龥');
  expect(await found('ø')).toEqual([201, 202]);
  expect(await found('ø龥')).toEqual([202]);
});

it.each([[idOf(3)], [idOf(3).toUpperCase()], [idOf(3).slice(9)], [idOf(3).slice(24)]])('part of an ID finds the run: %s', async (text) => {
  expect(await found(text)).toEqual([3]);
});

it('does not take a short part of an ID for one', async () => {
  expect(await found('cafe')).toEqual([]);
});

it('finds the runs of the team alone', async () => {
  expect(await found('deploy', 'other')).toEqual([102]);
});

describe('the index', () => {
  it('follows a title that changes, and runs that are removed', async () => {
    await sql`update runs set title_folded = 'renamed' where run_number = 8 and team_id = 't'`.execute(db);
    expect(await found('renamed')).toEqual([8]);
    expect(await found('dep')).toEqual([1, 7]);
    await sql`delete from runs where run_number = 8 and team_id = 't'`.execute(db);
    expect(await found('renamed')).toEqual([]);
    expect(await matches('renamed')).toBe(0);
  });

  it('has nothing of a transaction that failed', async () => {
    const failure = new Error('failed');
    await expect(
      db.transaction().execute(async (trx) => {
        await sql`update runs set title_folded = 'never' where run_number = 7`.execute(trx);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await matches('never')).toBe(0);
    expect(await found('deploy')).toEqual([1, 7]);
  });

  it('is complete in a copy, and when it is created for existing runs', async () => {
    const copy = await temporaryFolder();
    await sql`vacuum into ${path.join(copy, 'aops.db')}`.execute(db);
    const opened = await openDatabase(copy);
    whenDone(() => opened.destroy());
    expect(await rowsOf(opened)).toEqual(await rowsOf(db));
    for (const name of ['insert', 'update', 'delete']) await sql`drop trigger ${sql.id(`run_search_${name}`)}`.execute(opened);
    await sql`drop table run_search`.execute(opened);
    await runSearch.up(opened as never);
    expect(await rowsOf(opened)).toEqual(await rowsOf(db));
  });
});

const matches = async (word: string): Promise<number> =>
  (await sql`select rowid from run_search where run_search match ${word}`.execute(db)).rows.length;

const rowsOf = async (database: Kysely<Database>): Promise<unknown[]> =>
  (
    await sql`select runs.id from run_search join runs on runs.rowid = run_search.rowid where run_search match 'deploy' order by 1`.execute(
      database,
    )
  ).rows;
