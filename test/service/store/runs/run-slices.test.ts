/** Searches and far pages of many runs: complete, in order, and in slices between which other requests are answered. */
import { setImmediate } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { searchSlice, skippedSlice } from '../../../../src/service/store/database/slices.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import type { RunFilter } from '../../../../src/service/store/runs/run-filter.ts';
import { countRuns, listRunRows } from '../../../../src/service/store/runs/run-list.ts';
import { temporaryFolder, whenDone } from '../../../support/temporary.ts';

/** Every tenth run is called Blue, every 4,000th one Rare; each two neighbours have the same time. */
const runs = skippedSlice * 2 + 2_500;
const isRare = (number: number): boolean => number % 4_000 === 0;
const isBlue = (number: number): boolean => number % 10 === 0 && !isRare(number);
/** More runs with issues than one query reads; some of the issues are critical. */
const hasIssues = (number: number): boolean => number % 5 === 0;
const isCritical = (number: number): boolean => number % 1_000 === 0;
const isScheduled = (number: number): boolean => number % 700 === 0;
const numbers = Array.from({ length: runs }, (_, index) => index + 1);

let db: Kysely<Database>;

beforeAll(async () => {
  const openedDatabase = await openDatabase(await temporaryFolder());
  whenDone(() => openedDatabase.destroy());
  db = openedDatabase;
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at) values ('a', 't', 'Agent', 'agent', '', '')`.execute(
    db,
  );
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(runs)})
    insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
      turn, submitted_prompt_count, resume_count, case_id, created_at, updated_at)
    select printf('run-%d', i), 't', 'a', 'b', i, 'Run', case when i % 4000 = 0 then 'rare' when i % 10 = 0 then 'blue' else 'plain' end,
      case when i % 3 = 0 then 'failed' else 'completed' end,
      case when i % 700 = 0 then 'schedule' else 'api' end, 's', 'script', 'h', 1, 0, 0,
      case when i % 4000 = 0 then 'case' end, printf('2026-01-01T%08d', i / 2), '' from n`.execute(db);
  await sql`insert into evaluations (run_id, status, passed, total, critical, medium, low, issues, results, created_at, updated_at)
    select id, 'ready', 1, 1, run_number % 1000 = 0, run_number % 1000 > 0, 0, run_number % 5 = 0, '[]', '', '' from runs`.execute(db);
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Queue', '', '')`.execute(db);
  await sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, created_at, updated_at)
    values ('case', 'q', 1, 'Case', '', '', 'pending', 0, '', '')`.execute(db);
  await sql`insert into run_totals (team_id, agent_id, source, status, runs)
    select team_id, agent_id, source, status, count(*) from runs group by 1, 2, 3, 4`.execute(db);
});

const isFailed = (number: number): boolean => number % 3 === 0;
const filterCases: [string, Partial<RunFilter>, (number: number) => boolean][] = [
  ['a common word', { search: 'blue' }, isBlue],
  ['a rare word', { search: 'RARE' }, isRare],
  ['a word of most runs', { search: 'plain' }, (number) => !isBlue(number) && !isRare(number)],
  [
    'a word of most runs among the failed ones',
    { search: 'PLAI', statuses: ['failed'] },
    (number) => !isBlue(number) && !isRare(number) && isFailed(number),
  ],
  ['two characters', { search: 'Ra' }, isRare],
  ['the name of the agent of all runs', { search: 'agent' }, () => true],
  ['a word that does not occur', { search: 'none' }, () => false],
  ['a word among the failed ones', { search: 'blue', statuses: ['failed'] }, (number) => isBlue(number) && isFailed(number)],
  ['a word among those of two statuses', { search: 'rare', statuses: ['failed', 'completed'] }, isRare],
  ['a word of a time', { search: 'rare', since: '2026-01-01T00004000' }, (number) => isRare(number) && number >= 8_000],
  ['runs with issues', { hasIssues: true }, hasIssues],
  ['runs with issues among the failed ones', { hasIssues: true, statuses: ['failed'] }, (number) => hasIssues(number) && isFailed(number)],
  ['critical issues of an agent', { issueSeverity: 'critical', agentId: 'a' }, isCritical],
  ['runs without issues', { hasIssues: false }, (number) => !hasIssues(number)],
  [
    'runs without issues among the failed ones',
    { hasIssues: false, statuses: ['failed'] },
    (number) => !hasIssues(number) && isFailed(number),
  ],
  ['runs with a critical issue', { issueSeverity: 'critical' }, isCritical],
  ['a word among runs with issues', { search: 'rare', hasIssues: true }, isRare],
  ['the runs of one source of an agent', { agentId: 'a', source: 'schedule' }, isScheduled],
  ['the runs since a moment', { since: '2026-01-01T00004000' }, (number) => number >= 8_000],
  ['the runs until a moment', { until: '2026-01-01T00004000', statuses: ['failed', 'completed'] }, (number) => number < 8_000],
  ['the runs of a queue', { caseQueueId: 'q' }, isRare],
  ['a status that is named twice', { statuses: ['failed', 'failed'] }, isFailed],
];

describe.each(filterCases)('%s', (_, filter, matches) => {
  const expected = numbers.filter(matches);

  it('is counted', async () => {
    expect(await countRuns(db, { teamId: 't', ...filter })).toBe(expected.length);
  });

  it.each(['asc', 'desc'] as const)('is listed in order (%s), page by page', async (order) => {
    const orderedNumbers = order === 'asc' ? expected : expected.toReversed();
    for (const offset of [0, 3, Math.floor(orderedNumbers.length / 2), Math.max(0, orderedNumbers.length - 2), orderedNumbers.length]) {
      const rows = await listRunRows(db, { teamId: 't', ...filter }, { limit: 5, offset, order });
      expect(rows.map((row) => row.run_number)).toEqual(orderedNumbers.slice(offset, offset + 5));
    }
  });
});

it.each(['asc', 'desc'] as const)('pages far down the list are those of the list (%s)', async (order) => {
  const orderedNumbers = order === 'asc' ? numbers : numbers.toReversed();
  for (const offset of [skippedSlice, skippedSlice + 1, skippedSlice * 2 + 1, runs - 3, runs, runs * 2]) {
    const rows = await listRunRows(db, { teamId: 't' }, { limit: 5, offset, order });
    expect(rows.map((row) => row.run_number)).toEqual(orderedNumbers.slice(offset, offset + 5));
  }
});

it.each<[string, number, () => Promise<unknown>]>([
  ['a search for two characters', Math.floor(runs / searchSlice), () => countRuns(db, { teamId: 't', search: 'pl' })],
  ['counting a word of most runs', Math.floor((runs * 0.9) / searchSlice), () => countRuns(db, { teamId: 't', search: 'plain' })],
  [
    'a page of a search for two characters',
    Math.floor(runs / searchSlice),
    () => listRunRows(db, { teamId: 't', search: 'pl', caseQueueId: 'other' }, { limit: 5, offset: 0, order: 'desc' }),
  ],
  [
    'counting runs with issues of a source',
    Math.floor(runs / 5 / searchSlice),
    () => countRuns(db, { teamId: 't', hasIssues: true, source: 'slack' }),
  ],
  [
    'a page of runs with issues of a severity that none of an agent has',
    2 * Math.floor(runs / 5 / searchSlice) + 1,
    () => listRunRows(db, { teamId: 't', agentId: 'a', issueSeverity: 'low' }, { limit: 5, offset: 0, order: 'desc' }),
  ],
  [
    'a page of one source of an agent',
    Math.floor(runs / searchSlice),
    () => listRunRows(db, { teamId: 't', agentId: 'a', source: 'slack' }, { limit: 5, offset: 0, order: 'desc' }),
  ],
  [
    'a page of runs without issues, far down',
    Math.floor(15_000 / searchSlice),
    () => listRunRows(db, { teamId: 't', hasIssues: false }, { limit: 5, offset: 15_000, order: 'desc' }),
  ],
  ['counting the runs of a queue', Math.floor(runs / searchSlice), () => countRuns(db, { teamId: 't', caseQueueId: 'other' })],
  ['counting runs since a moment', 2, () => countRuns(db, { teamId: 't', since: '2026' })],
  ['a page far down', 2, () => listRunRows(db, { teamId: 't' }, { limit: 5, offset: skippedSlice * 2 + 1, order: 'desc' })],
])('other requests are answered during %s', async (_, minimumTurns, read) => {
  expect(await turnsDuring(read())).toBeGreaterThanOrEqual(minimumTurns);
});

it('no more is read than a page needs', async () => {
  const page = { limit: 5, offset: 0, order: 'desc' } as const;
  expect(await turnsDuring(listRunRows(db, { teamId: 't', search: 'plain' }, page))).toBeLessThan(5);
});

/** How often other work gets its turn before something is done. */
async function turnsDuring(pending: Promise<unknown>): Promise<number> {
  let isDone = false;
  const settled = pending.finally(() => {
    isDone = true;
  });
  let turns = 0;
  while (!isDone) {
    await setImmediate();
    turns += 1;
  }
  await settled;
  return turns;
}

describe('when few runs have issues', () => {
  beforeAll(async () => {
    await sql`update evaluations set issues = 0 where run_id not in (select id from runs where run_number % 500 = 0)`.execute(db);
  });

  it.each<[Partial<RunFilter>, (number: number) => boolean]>([
    [{ hasIssues: true }, (number) => number % 500 === 0],
    [{ hasIssues: false }, (number) => number % 500 > 0],
    [{ issueSeverity: 'critical', statuses: ['failed'] }, (number) => isCritical(number) && isFailed(number)],
    [
      { hasIssues: true, since: '2026-01-01T00004000', agentId: 'a', source: 'api' },
      (number) => number % 500 === 0 && number >= 8_000 && !isScheduled(number),
    ],
  ])('they are counted and listed (%o)', async (filter, matches) => {
    const expected = numbers.filter(matches).toReversed();
    expect(await countRuns(db, { teamId: 't', ...filter })).toBe(expected.length);
    const rows = await listRunRows(db, { teamId: 't', ...filter }, { limit: 5, offset: 2, order: 'desc' });
    expect(rows.map((row) => row.run_number)).toEqual(expected.slice(2, 7));
  });
});
