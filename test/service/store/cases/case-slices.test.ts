/** Lists of a long queue's cases without an index: complete, in order, and in slices between which other requests are answered. */
import { setImmediate } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CaseFilter, type CasePage, countCases, listCaseRows } from '../../../../src/service/store/cases/case-list.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { caseSlice } from '../../../../src/service/store/database/slices.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { temporaryFolder, whenDone } from '../../../support/temporary.ts';

const cases = caseSlice * 3 + 500;
const isBlue = (number: number): boolean => number % 10 === 0;
const isFailed = (number: number): boolean => number % 3 === 0;
const isUrgent = (number: number): boolean => number % 7 === 0;
const isLabelled = (number: number): boolean => number % 4 === 0;
const isPostponed = (number: number): boolean => number % 5 === 0 && !isFailed(number);
const numbers = Array.from({ length: cases }, (_, index) => index + 1);

let db: Kysely<Database>;

beforeAll(async () => {
  const openedDatabase = await openDatabase(await temporaryFolder());
  whenDone(() => openedDatabase.destroy());
  db = openedDatabase;
  await sql`pragma foreign_keys = off`.execute(db);
  // Two neighbours have the same time, and the case that was changed last was created first.
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(cases)})
    insert into cases (id, queue_id, number, title, data, search_text, status, priority, postponed_to, created_at, updated_at)
    select printf('case-%d', i), 'q', i, 'Case', '', case when i % 10 = 0 then 'blue' else 'plain' end,
      case when i % 3 = 0 then 'failed' else 'pending' end, i % 7 = 0,
      case when i % 5 = 0 and i % 3 > 0 then printf('2027-01-01T%06d', i) end,
      printf('2026-01-01T%06d', i / 2), printf('2026-02-01T%06d', ${sql.lit(cases)} - i) from n`.execute(db);
  await sql`insert into queue_labels (id, queue_id, key, value, color_hue, created_at) values ('l', 'q', 'kind', 'a', 0, '')`.execute(db);
  await sql`insert into case_labels (case_id, label_id) select id, 'l' from cases where number % 4 = 0`.execute(db);
});

const filterOf = (filter: Partial<CaseFilter>): CaseFilter => ({ queueId: 'q', now: '2026-06', ...filter });
const listNumbers = async (filter: Partial<CaseFilter>, page: Partial<CasePage>): Promise<number[]> => {
  const { rows } = await listCaseRows(db, filterOf(filter), { limit: 5, offset: 0, sortBy: 'created_at', order: 'asc', ...page });
  return rows.map(({ number }) => number);
};

const filterCases: [string, Partial<CaseFilter>, (number: number) => boolean][] = [
  ['a common word', { search: 'BLUE' }, isBlue],
  ['a word that is nowhere', { search: 'none' }, () => false],
  ['two statuses', { statuses: ['failed', 'postponed'] }, (number) => isFailed(number) || isPostponed(number)],
  ['cases that wait', { statuses: ['pending'] }, (number) => !isFailed(number) && !isPostponed(number)],
  ['a priority', { priorities: [1] }, isUrgent],
  ['a label', { labels: [{ key: 'kind', values: ['a', 'b'] }] }, isLabelled],
  ['a label with a word', { labels: [{ key: 'kind', values: ['a'] }], search: 'blue' }, (number) => isLabelled(number) && isBlue(number)],
  ['a word since a moment', { search: 'blue', createdFrom: '2026-01-01T000600' }, (number) => isBlue(number) && number >= 1_200],
];

describe.each(filterCases)('%s', (_, filter, matches) => {
  const expected = numbers.filter(matches);

  it('is counted', async () => {
    expect(await countCases(db, filterOf(filter))).toBe(expected.length);
  });

  it.each(['asc', 'desc'] as const)('is listed in the order of creation (%s), page by page', async (order) => {
    const orderedNumbers = order === 'asc' ? expected : expected.toReversed();
    for (const offset of [0, 3, Math.floor(orderedNumbers.length / 2), Math.max(0, orderedNumbers.length - 2), orderedNumbers.length])
      expect(await listNumbers(filter, { offset, order })).toEqual(orderedNumbers.slice(offset, offset + 5));
  });

  it.each(['asc', 'desc'] as const)('is listed in the order of changes (%s)', async (order) => {
    const orderedNumbers = order === 'asc' ? expected.toReversed() : expected;
    for (const offset of [0, Math.floor(orderedNumbers.length / 2)])
      expect(await listNumbers(filter, { offset, order, sortBy: 'updated_at' })).toEqual(orderedNumbers.slice(offset, offset + 5));
  });
});

it.each(['asc', 'desc'] as const)('cases that are not postponed come last (%s)', async (order) => {
  const inDirection = (list: number[]) => (order === 'asc' ? list : list.toReversed());
  const orderedNumbers = [...inDirection(numbers.filter(isPostponed)), ...inDirection(numbers.filter((number) => !isPostponed(number)))];
  const offset = numbers.filter(isPostponed).length - 2;
  expect(await listNumbers({}, { offset, order, sortBy: 'postponed_to' })).toEqual(orderedNumbers.slice(offset, offset + 5));
});

it.each<[string, () => Promise<unknown>]>([
  ['a count', () => countCases(db, filterOf({ search: 'none' }))],
  ['a page', () => listNumbers({ search: 'none' }, {})],
  ['a page in the order of changes', () => listNumbers({ search: 'none' }, { sortBy: 'updated_at' })],
])('other requests are answered during %s', async (_, read) => {
  let isDone = false;
  const pendingRead = read().finally(() => {
    isDone = true;
  });
  let turns = 0;
  while (!isDone) {
    await setImmediate();
    turns += 1;
  }
  await pendingRead;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(cases / caseSlice));
});
