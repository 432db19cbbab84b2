/** Changes of cases: each affects exactly the cases that it names, and none that changed in the meantime. */
import { type Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { insertCaseEvents, listCaseEvents } from '../../../../src/service/store/cases/case-events.ts';
import { runsForCases } from '../../../../src/service/store/cases/case-line.ts';
import {
  caseIdsOf,
  casesOfQueue,
  changeCase,
  deleteCaseRows,
  findCase,
  inChunks,
  insertCases,
  updateCases,
} from '../../../../src/service/store/cases/cases.ts';
import type { CaseRow, Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

let db: Kysely<Database>;
beforeEach(async () => {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const openedDatabase = await openDatabase(directory);
  afterTest(() => openedDatabase.destroy());
  db = openedDatabase;
  // Rows of other tables are left out.
  await sql`pragma foreign_keys = off`.execute(db);
});

const newCase = (id: string, changes: Partial<CaseRow> = {}) => ({
  ...{ id, title: id, data: '', search_text: id, status: 'pending' as const, priority: 0, delegated_agent_id: null },
  ...{ claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to: null, created_at: '2026-01-01', updated_at: '' },
  ...changes,
});
const manyIds = Array.from({ length: 1_001 }, (_, index) => `c${index}`);
/** Puts all of them into a queue, without their statements taking most of the time. */
const insertMany = (queueId: string) =>
  sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, created_at, updated_at)
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 1000)
    select 'c' || i, ${queueId}, i + 1, '', '', '', 'pending', 0, '', '' from n`.execute(db);
const rows = (): Promise<CaseRow[]> => db.selectFrom('cases').selectAll().orderBy('id').execute();

describe('cases of a queue', () => {
  it('are numbered one after another, separately for each queue', async () => {
    const first = await insertCases(db, 'q1', [newCase('a'), newCase('b')]);
    const otherCases = await insertCases(db, 'q2', [newCase('c')]);
    const second = await insertCases(db, 'q1', [newCase('d')]);
    expect([...first, ...otherCases, ...second].map(({ id, queue_id, number }) => [id, queue_id, number])).toEqual([
      ['a', 'q1', 1],
      ['b', 'q1', 2],
      ['c', 'q2', 1],
      ['d', 'q1', 3],
    ]);
  });

  it('are found once each, and only in their queue', async () => {
    await insertMany('q1');
    await insertCases(db, 'q2', [newCase('other')]);
    const foundCases = await casesOfQueue(db, 'q1', [...manyIds, 'c0', 'other', 'missing']);
    expect(foundCases.map(({ id }) => id).sort()).toEqual([...manyIds].sort());
    expect((await caseIdsOf(db, 'q1')).sort()).toEqual([...manyIds].sort());
    expect(await caseIdsOf(db, 'q2')).toEqual(['other']);
  });

  it('are found only in the team of the queue', async () => {
    await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q1', 't', 'Queue', '', '')`.execute(db);
    await insertCases(db, 'q1', [newCase('a')]);
    expect((await findCase(db, 't', 'a'))?.id).toBe('a');
    expect(await findCase(db, 'other', 'a')).toBeUndefined();
    expect(await findCase(db, 't', 'b')).toBeUndefined();
  });
});

describe('changing a case', () => {
  it.each([
    ['has another status', { status: 'completed' }, { status: 'pending', runId: null }],
    ['was claimed in the meantime', { claimed_by_run_id: 'r1' }, { status: 'pending', runId: null }],
    ['was released in the meantime', {}, { status: 'pending', runId: 'r1' }],
    ['was claimed by another run in the meantime', { claimed_by_run_id: 'r2' }, { status: 'pending', runId: 'r1' }],
  ] as const)('has no effect if it %s', async (_, state, from) => {
    await insertCases(db, 'q', [newCase('a', state), newCase('b')]);
    const before = await rows();
    expect(await changeCase(db, 'a', from, { priority: 3 })).toBeUndefined();
    expect(await rows()).toEqual(before);
  });

  it.each([null, 'r1'])('affects this case alone if it is still claimed by run %s', async (runId) => {
    await insertCases(db, 'q', [newCase('a', { claimed_by_run_id: runId }), newCase('b', { claimed_by_run_id: runId })]);
    expect(await changeCase(db, 'a', { status: 'pending', runId }, { priority: 3 })).toMatchObject({ id: 'a', priority: 3 });
    expect((await rows()).map(({ priority }) => priority)).toEqual([3, 0]);
  });

  it('puts it at the end of the line when it is postponed, and back when it no longer is', async () => {
    await insertCases(db, 'q', [newCase('a'), newCase('b')]);
    const from = { status: 'pending', runId: null } as const;
    expect(await changeCase(db, 'a', from, { postponed_to: '2027-01-01' })).toMatchObject({ line_rank: 2 });
    // A change of anything else leaves it there.
    expect(await changeCase(db, 'a', from, { priority: 1 })).toMatchObject({ line_rank: 2 });
    expect(await changeCase(db, 'a', from, { postponed_to: null })).toMatchObject({ line_rank: 1 });
  });
});

describe('many cases', () => {
  beforeEach(async () => {
    await insertMany('q');
    await insertCases(db, 'q', [newCase('other')]);
  });

  it('are changed completely, and no others with them', async () => {
    await updateCases(db, manyIds, { priority: 3 });
    expect((await rows()).filter(({ priority }) => priority === 0).map(({ id }) => id)).toEqual(['other']);
  });

  it('are deleted with their labels and history, and no others with them', async () => {
    const allIds = [...manyIds, 'other'];
    await insertCaseEvents(db, allIds, { type: 'created' }, 'now');
    for (const id of ['c0', 'c1000', 'other']) await sql`insert into case_labels (case_id, label_id) values (${id}, 'l')`.execute(db);
    await deleteCaseRows(db, manyIds);
    expect((await rows()).map(({ id }) => id)).toEqual(['other']);
    expect(await db.selectFrom('case_events').select('case_id').execute()).toEqual([{ case_id: 'other' }]);
    expect(await db.selectFrom('case_labels').select('case_id').execute()).toEqual([{ case_id: 'other' }]);
  });

  it('get the same entry in their histories, numbered by case', async () => {
    await insertCaseEvents(db, ['c1'], { type: 'created' }, '2026-01-01');
    await insertCaseEvents(db, manyIds, { type: 'claimed', runId: 'r', reason: 'why' }, '2026-01-02');
    const summary = async (id: string) =>
      (await listCaseEvents(db, id)).map(({ seq, type, reason, run_id }) => [seq, type, reason, run_id]);
    expect(await summary('c1')).toEqual([
      [1, 'created', null, null],
      [2, 'claimed', 'why', 'r'],
    ]);
    expect(await summary('c1000')).toEqual([[1, 'claimed', 'why', 'r']]);
    expect(await summary('other')).toEqual([]);
  });
});

it('lists of IDs are cut into chunks that contain each of them once', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => index);
  for (const [count, sizes] of [
    [0, []],
    [1, [1]],
    [500, [500]],
    [501, [500, 1]],
    [1_000, [500, 500]],
  ] as const) {
    expect(inChunks(ids(count)).map(({ length }) => length)).toEqual(sizes);
    expect(inChunks(ids(count)).flat()).toEqual(ids(count));
  }
});

it('counts the runs of an agent that work on a queue, and those that wait for a person with an open case', async () => {
  let runs = 0;
  const run = async (status: string, { agent = 'a', queue = 'q', isOpen = true, isClaimed = true } = {}) => {
    const id = `r${++runs}`;
    await insertCases(db, queue, [
      newCase(`case-${id}`, { status: isOpen ? 'pending' : 'completed', claimed_by_run_id: isClaimed ? id : null }),
    ]);
    await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
      turn, submitted_prompt_count, resume_count, created_at, updated_at, case_id)
      values (${id}, 't', ${agent}, 'b', ${runs}, '', '', ${status}, 'case', 's', 'script', 'h', 1, 0, 0, '', '', ${`case-${id}`})`.execute(
      db,
    );
  };
  expect(await runsForCases(db, 'q', 'a')).toEqual({ executing: 0, waiting: 0 });
  for (const status of ['pending', 'starting', 'running']) await run(status);
  // They settled their cases, and have not ended yet.
  await run('running', { isOpen: false });
  await run('running', { isClaimed: false });
  for (let index = 0; index < 2; index++) await run('waiting');
  // These wait without an open case.
  await run('waiting', { isOpen: false });
  await run('waiting', { isClaimed: false });
  for (const status of ['completed', 'failed', 'interrupted']) await run(status);
  await run('running', { agent: 'other' });
  await run('waiting', { queue: 'other' });
  expect(await runsForCases(db, 'q', 'a')).toEqual({ executing: 5, waiting: 2 });
});
