/** What a run can do with cases, and what becomes of its own case, in a database without a service. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { ensureLabel } from '../../../../src/service/engine/cases/labels.ts';
import { carryOut, caseOfRun } from '../../../../src/service/engine/cases/run-actions.ts';
import { caseRunAnswered, caseRunAsked, caseRunEnded, caseRunResumed } from '../../../../src/service/engine/cases/run-end.ts';
import type { CaseAction } from '../../../../src/service/runtimes/run-host.ts';
import type { HumanRequestRow, RunRow } from '../../../../src/service/store/database/schema.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { startExecution } from '../../helpers/execution.ts';
import { allRows } from '../../helpers/rows.ts';

/** The run `r` of the agent `a`, which has claimed the case `c` of the queue `q`. */
async function workshop() {
  const { db } = await startExecution();
  const clock = new ManualClock();
  await sql`update cases set delegated_agent_id = 'a', claimed_at = '2026-07-01T00:00:00.000Z'`.execute(db);
  const stored = async () => (await runById(db, 'r')) as RunRow;
  return {
    ...{ db, clock, stored, now: new Date(clock.now()).toISOString() },
    act: async (action: CaseAction, fields: Partial<RunRow> = {}) => {
      const run = { ...(await stored()), ...fields };
      return db.transaction().execute((trx) => carryOut({ clock }, trx, run, action));
    },
    ownCase: () => db.selectFrom('cases').selectAll().where('id', '=', 'c').executeTakeFirstOrThrow(),
    events: () =>
      db.selectFrom('case_events').select(['case_id', 'type', 'reason', 'run_id', 'agent_id', 'human_request_id']).orderBy('seq').execute(),
    /** When the queue is dispatched again; undefined if it is not. */
    dispatchedAt: async () =>
      (await db.selectFrom('jobs').select('due_at').where('kind', '=', 'dispatch_cases').where('subject_id', '=', 'q').executeTakeFirst())
        ?.due_at,
  };
}

const event = (type: string, fields: object = {}) => ({
  ...{ case_id: 'c', type, reason: null, run_id: 'r', agent_id: 'a', human_request_id: null },
  ...fields,
});

describe('a run', () => {
  it('settles its case once; doing so again changes nothing', async () => {
    const { act, db, events, ownCase, dispatchedAt, clock, now } = await workshop();
    const result = { case_id: 'c', status: 'completed' };
    expect(await act({ do: 'complete', reason: 'paid' })).toEqual(result);
    expect(await ownCase()).toMatchObject({ status: 'completed', completed_at: now, delegated_agent_id: null, claimed_by_run_id: 'r' });
    expect([await events(), await dispatchedAt()]).toEqual([[event('completed', { reason: 'paid' })], clock.now()]);
    const before = await allRows(db);
    expect(await act({ do: 'complete' })).toEqual(result);
    await expect(act({ do: 'fail', reason: 'no' })).rejects.toMatchObject({
      ...{ status: 409, error: 'case_is_done', message: 'The case is already completed.' },
    });
    expect(await allRows(db)).toEqual(before);
  });

  it('can fail its case', async () => {
    const { act, events, ownCase } = await workshop();
    expect(await act({ do: 'fail', reason: 'no' })).toEqual({ case_id: 'c', status: 'failed' });
    expect(await ownCase()).toMatchObject({ status: 'failed', completed_at: null, delegated_agent_id: null });
    expect(await events()).toEqual([event('failed', { reason: 'no' })]);
  });

  it('loses a case that it postpones', async () => {
    const { act, clock, ownCase, dispatchedAt } = await workshop();
    const postponed_to = new Date(clock.now() + 60_000).toISOString();
    expect(await act({ do: 'postpone', until: clock.now() + 60_000 })).toEqual({ case_id: 'c', postponed_to });
    expect(await ownCase()).toMatchObject({ status: 'pending', postponed_to, claimed_by_run_id: null, claimed_at: null });
    expect(await dispatchedAt()).toBe(clock.now());
    await expect(act({ do: 'complete' })).rejects.toMatchObject({
      ...{ status: 409, error: 'case_lost', message: 'The case no longer belongs to this run: it was postponed or re-opened.' },
    });
  });

  it('cannot change a case that was deleted, that another run has claimed, or that it never had', async () => {
    const { act, db } = await workshop();
    await expect(act({ do: 'complete' }, { case_id: null })).rejects.toMatchObject({ status: 409, error: 'run_has_no_case' });
    await sql`update cases set claimed_by_run_id = 'other'`.execute(db);
    await expect(act({ do: 'complete' })).rejects.toMatchObject({ status: 409, error: 'case_lost' });
    await sql`delete from cases`.execute(db);
    await expect(act({ do: 'complete' })).rejects.toMatchObject({
      message: 'The case no longer belongs to this run: it was deleted.',
    });
  });

  it('sees its case with its labels', async () => {
    const { act, db, stored } = await workshop();
    expect(await caseOfRun(db, await stored())).toMatchObject({
      id: 'c',
      title: 'Case',
      data: '{}',
      priority: 'none',
      labels: [],
      queue: 'Queue',
    });
    expect(await caseOfRun(db, { ...(await stored()), case_id: null })).toBeUndefined();
    const labels = [{ key: 'kind', value: 'refund' }, { value: 'new' }];
    const { id } = (await act({ do: 'create', queue: 'Queue', draft: { title: 'Next', labels } })) as { id: string };
    const found = await caseOfRun(db, { ...(await stored()), case_id: id });
    expect(found).toMatchObject({ title: 'Next', data: '', labels: expect.arrayContaining([{ key: 'kind', value: 'refund' }]) });
    expect(found?.priority).toBe('none');
    expect(found?.labels).toHaveLength(2);
    expect(await caseOfRun(db, { ...(await stored()), case_id: 'deleted' })).toBeUndefined();
  });
});

describe('a new case', () => {
  const create = (fields: object) => ({ do: 'create' as const, queue: 'Queue', draft: { title: 'New' }, ...fields }) as CaseAction;

  it('is added to the queue of the team with this name', async () => {
    const { act, db, events, dispatchedAt, clock, now } = await workshop();
    const result = await act(create({ draft: { title: 'New', data: '{"a":1}', priority: 'high' } }));
    expect(result).toEqual({ id: expect.any(String), queue: 'Queue', title: 'New', created_at: now });
    const row = await db.selectFrom('cases').selectAll().where('title', '=', 'New').executeTakeFirstOrThrow();
    expect(row).toMatchObject({ queue_id: 'q', status: 'pending', data: '{"a":1}', search_text: 'new\n{"a":1}', delegated_agent_id: null });
    expect([await events(), await dispatchedAt()]).toEqual([[event('created', { case_id: row.id })], clock.now()]);
    await expect(act(create({ queue: 'Other' }))).rejects.toMatchObject({ status: 404, error: 'queue_not_found' });
    await expect(act(create({}), { team_id: 'other' })).rejects.toMatchObject({ status: 404, error: 'queue_not_found' });
  });

  it('has no priority, and is not found by words that it does not contain', async () => {
    const { act, db } = await workshop();
    await act(create({}));
    const row = await db.selectFrom('cases').select(['data', 'priority', 'search_text']).where('title', '=', 'New').executeTakeFirst();
    expect(row).toEqual({ data: '', priority: 0, search_text: 'new\n' });
  });

  it('shares its labels with other cases of the queue; those with another key are others', async () => {
    const { act, db } = await workshop();
    const labels = ['first', 'second'].map((key) => ({ key, value: 'x' }));
    await act(create({ draft: { title: 'New', labels: [...labels, { key: 'first', value: 'x' }] } }));
    await act(create({ draft: { title: 'Newer', labels } }));
    await ensureLabel(db, 'q', { key: 'first', value: 'x', color_hue: 7 }, '');
    await ensureLabel(db, 'q', { value: 'coloured', color_hue: 7 }, '');
    const rows = await db.selectFrom('queue_labels').select(['key', 'value', 'color_hue']).orderBy('value').orderBy('key').execute();
    expect(rows).toMatchObject([{ value: 'coloured', color_hue: 7 }, { key: 'first' }, { key: 'second' }]);
    expect(rows[1]?.color_hue).not.toBe(7);
    const links = await db.selectFrom('case_labels').selectAll().execute();
    expect(links).toHaveLength(4);
  });

  it('is reported to webhooks, like its completion', async () => {
    const { act, db } = await workshop();
    await sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
      values ('s', 't', 'http://127.0.0.1:9/', '["*"]', 1, 0, '', '')`.execute(db);
    await act(create({}));
    await act({ do: 'complete' });
    await sql`update cases set status = 'pending'`.execute(db);
    await act({ do: 'fail', reason: 'no' });
    const events = await db.selectFrom('events').select('kind').execute();
    expect(events.map(({ kind }) => kind).sort()).toEqual(['queue.case.completed', 'queue.case.created']);
  });

  it.each(['', '  ', 'x'.repeat(501)])('does not have the title %j', async (title) => {
    const { act, db } = await workshop();
    const before = await allRows(db);
    await expect(act(create({ draft: { title } }))).rejects.toMatchObject({ status: 400, error: 'invalid_case' });
    expect(await allRows(db)).toEqual(before);
  });

  it('can have a title of 500 characters, but no empty label', async () => {
    const { act, db } = await workshop();
    const title = '\u{1F600}'.repeat(500);
    expect(await act(create({ draft: { title } }))).toMatchObject({ title });
    const before = await allRows(db);
    const labels = [{ value: 'full' }, { value: '' }];
    await expect(act(create({ draft: { title: 'New', labels } }))).rejects.toMatchObject({ status: 400, message: 'A label is empty.' });
    expect(await allRows(db)).toEqual(before);
  });

  it('can be delegated to a handover target of the revision, and to no other agent', async () => {
    const { act, db } = await workshop();
    await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at) values ('b', 't', 'Auditor', 'auditor', '', '')`.execute(
      db,
    );
    const delegated = () => act(create({ agent: 'Auditor' }));
    await expect(act(create({ agent: 'Nobody' }))).rejects.toMatchObject({ status: 404, error: 'agent_not_found' });
    await expect(delegated()).rejects.toMatchObject({ status: 409, error: 'not_a_handover_target' });
    await sql`insert into builds (id, agent_id, revision_number, name, handover_target_ids, created_at, updated_at)
      values ('b', 'a', 1, '', '["x"]', '', '')`.execute(db);
    await expect(delegated()).rejects.toMatchObject({ status: 409, error: 'not_a_handover_target' });
    await sql`update builds set handover_target_ids = '["x","b"]'`.execute(db);
    await delegated();
    const row = await db.selectFrom('cases').select('delegated_agent_id').where('title', '=', 'New').executeTakeFirst();
    expect(row?.delegated_agent_id).toBe('b');
  });
});

describe('the case of a run', () => {
  const request = { id: 'h', response: 'approved' } as HumanRequestRow;

  it('gets the outcome of the run, or goes back into the queue', async () => {
    for (const [outcome, expected] of [
      ['completed', { status: 'completed', claimed_by_run_id: 'r' }],
      ['failed', { status: 'failed', claimed_by_run_id: 'r' }],
      ['released', { status: 'pending', claimed_by_run_id: null, claimed_at: null, delegated_agent_id: null }],
    ] as const) {
      const { clock, db, stored, events, ownCase, dispatchedAt } = await workshop();
      await caseRunEnded({ clock }, db, await stored(), { outcome, reason: 'why' });
      expect(await ownCase()).toMatchObject(expected);
      expect([await events(), await dispatchedAt()]).toEqual([[event(outcome, { reason: 'why' })], clock.now()]);
    }
  });

  it('notes that input is needed, and that it was received', async () => {
    const { clock, db, stored, events, ownCase, dispatchedAt, now } = await workshop();
    await caseRunAsked({ clock }, db, await stored(), request);
    expect([(await ownCase()).updated_at, await dispatchedAt()]).toEqual([now, clock.now()]);
    clock.advance(1_000);
    await caseRunAnswered({ clock }, db, await stored(), request);
    expect((await ownCase()).updated_at).toBe(new Date(clock.now()).toISOString());
    await caseRunAnswered({ clock }, db, await stored(), { ...request, response: null });
    expect(await events()).toEqual([
      event('needs_input', { human_request_id: 'h' }),
      event('input_received', { human_request_id: 'h', reason: 'approved' }),
      event('input_received', { human_request_id: 'h' }),
    ]);
  });

  it.each([
    ['another run has claimed it', "update cases set claimed_by_run_id = 'other'"],
    ['the run has settled it', "update cases set status = 'completed'"],
  ])('is left alone if %s, but the agent can take the next one', async (_, change) => {
    const { clock, db, stored, events, ownCase, dispatchedAt } = await workshop();
    await sql.raw(change).execute(db);
    const before = await ownCase();
    await caseRunAnswered({ clock }, db, await stored(), request);
    expect(await dispatchedAt()).toBeUndefined();
    await caseRunAsked({ clock }, db, await stored(), request);
    expect(await dispatchedAt()).toBe(clock.now());
    await sql`delete from jobs`.execute(db);
    await caseRunEnded({ clock }, db, await stored(), { outcome: 'completed' });
    expect([await dispatchedAt(), await ownCase(), await events()]).toEqual([clock.now(), before, []]);
  });

  it('that was deleted, or that it never had, concerns nobody', async () => {
    const { clock, db, stored } = await workshop();
    const run = await stored();
    await sql`delete from cases`.execute(db);
    const before = await allRows(db);
    for (const case_id of [run.case_id, null]) {
      const each = { ...run, case_id, status: 'interrupted' as const };
      await caseRunAsked({ clock }, db, each, request);
      await caseRunAnswered({ clock }, db, each, request);
      await caseRunEnded({ clock }, db, each, { outcome: 'completed' });
      await caseRunResumed({ clock }, db, each);
    }
    expect(await allRows(db)).toEqual(before);
  });

  it('is given back to an interrupted run that continues, if its stop has failed the case', async () => {
    const { clock, db, stored, events, ownCase, now } = await workshop();
    await sql`update cases set status = 'failed'`.execute(db);
    const run = await stored();
    for (const status of ['completed', 'running'] as const) await caseRunResumed({ clock }, db, { ...run, status });
    await caseRunResumed({ clock }, db, { ...run, status: 'interrupted', id: 'other' });
    expect([(await ownCase()).status, await events()]).toEqual(['failed', []]);
    await caseRunResumed({ clock }, db, { ...run, status: 'interrupted' });
    expect(await ownCase()).toMatchObject({ status: 'pending', updated_at: now });
    expect(await events()).toEqual([event('resumed')]);
    // It has the case already.
    await caseRunResumed({ clock }, db, { ...run, status: 'interrupted' });
    expect(await events()).toHaveLength(1);
  });
});
