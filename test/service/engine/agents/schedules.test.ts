/** What the job of a schedule does at moments that a running service rarely meets. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { scheduleJob, updateSchedule } from '../../../../src/service/engine/agents/schedules.ts';
import { defaultPlan } from '../../../../src/service/store/access/plan.ts';
import { savePlan } from '../../../../src/service/store/access/plans.ts';
import type { ScheduleRow } from '../../../../src/service/store/database/schema.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { testRuntime } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';

const hour = 60 * 60 * 1_000;

/** An engine with an hourly schedule, whose job is executed by the test. */
async function hourly() {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const agentId = await api.agent();
  const body = { enabled: true, frequency: 'hourly', timezone: 'UTC' } as const;
  const { id } = await api.ok('createSchedule', { params: { agent_id: agentId }, body });
  await api.service.close();
  const runtimes = [testRuntime({ done: async () => ({ status: 'completed' }) })];
  const logEntries: unknown[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  return {
    ...{ engine, store, clock, agentId, id, logEntries },
    fire: () => execute(engine, scheduleJob, id),
    row: (): Promise<ScheduleRow> => store.selectFrom('schedules').selectAll().executeTakeFirstOrThrow(),
    job: () => store.selectFrom('jobs').select(['status', 'due_at']).where('kind', '=', 'schedule').executeTakeFirstOrThrow(),
    runs: async () => (await store.selectFrom('runs').select('id').execute()).length,
  };
}

it('waits for its instant if the clock was set back after it became due', async () => {
  const { clock, fire, row, job, runs } = await hourly();
  const instant = Number((await row()).next_at);
  expect(instant - clock.now()).toBe(hour);
  clock.set(instant - 1);
  await fire();
  expect([await runs(), await job(), Number((await row()).next_at)]).toEqual([0, { status: 'queued', due_at: instant }, instant]);
  clock.set(instant);
  await fire();
  const next = instant + hour;
  expect([await runs(), await job(), Number((await row()).next_at)]).toEqual([1, { status: 'queued', due_at: next }, next]);
});

it('fires once for each instant if the next one passes while a run is started', async () => {
  // The database can let a transaction wait for several seconds between any two readings of the clock.
  for (let seconds = 0; seconds <= 8; seconds++) {
    const { clock, store, fire, row } = await hourly();
    const instant = Number((await row()).next_at);
    clock.set(instant + hour - seconds * 1_000);
    const now = clock.now.bind(clock);
    clock.now = () => {
      clock.advance(1_000);
      return now();
    };
    await fire();
    const { created_at } = await store.selectFrom('runs').select('created_at').executeTakeFirstOrThrow();
    const passed = Math.floor((Date.parse(created_at) - instant) / hour);
    expect(Number((await row()).next_at)).toBe(instant + (passed + 1) * hour);
  }
});

it('still fires at an instant that has passed if its task is changed before', async () => {
  const { engine, store, clock, agentId, id, fire, row, runs } = await hourly();
  const before = await row();
  clock.advance(hour + 1);
  await store.transaction().execute((trx) => updateSchedule(engine, trx, { agentId, scheduleId: id }, { task: 'Check the invoices' }));
  expect(await row()).toMatchObject({ next_at: before.next_at, task: 'Check the invoices' });
  await fire();
  expect(await runs()).toBe(1);
});

it.each([
  ['disabled', sql`update schedules set enabled = 0`],
  ['without a next instant', sql`update schedules set next_at = null`],
  ['deleted', sql`delete from schedules`],
])('does nothing if it is %s', async (_, change) => {
  const { store, clock, fire, job, runs } = await hourly();
  clock.advance(hour);
  await change.execute(store);
  await fire();
  expect([await runs(), (await job()).status]).toEqual([0, 'done']);
});

it('is left unchanged by a failure of the service, so that the job is retried', async () => {
  const { store, clock, fire, row, runs, logEntries } = await hourly();
  clock.advance(hour);
  await sql`update builds set config = '{'`.execute(store);
  const before = await row();
  await expect(fire()).rejects.toBeInstanceOf(SyntaxError);
  expect([await row(), await runs(), logEntries]).toEqual([before, 0, []]);
});

it('reports each run that it starts', async () => {
  const { store, clock, id, fire, logEntries } = await hourly();
  clock.advance(hour);
  await fire();
  const { id: run } = await store.selectFrom('runs').select('id').executeTakeFirstOrThrow();
  expect(logEntries).toEqual([['info', 'a schedule started a run', { schedule: id, run }]]);
});

it('reports why it could not start a run, and that it is disabled', async () => {
  const { store, clock, id, fire, row, job, logEntries } = await hourly();
  await store.updateTable('agents').set({ live_build_id: null }).execute();
  await store.updateTable('schedules').set({ failures: 3 }).execute();
  for (let count = 0; count < 2; count++) {
    clock.advance(hour);
    await fire();
  }
  expect([(await row()).enabled, (await job()).status]).toEqual([0, 'done']);
  const entryFor = (disabled: boolean) => [
    'warn',
    'a schedule could not start a run',
    { schedule: id, error: 'agent_has_no_live_revision', disabled },
  ];
  expect(logEntries).toEqual([entryFor(false), entryFor(true)]);
});

it('keeps the record of missing connections while the plan allows no run', async () => {
  const { store, clock, fire, row } = await hourly();
  const record = { missing_connection_failures: 2, first_missing_connection_at: 'first', last_missing_connection_at: 'last' };
  await store
    .updateTable('schedules')
    .set({ ...record, failures: 2 })
    .execute();
  const { team_id } = await store.selectFrom('agents').select('team_id').executeTakeFirstOrThrow();
  await savePlan(store, team_id, { ...defaultPlan, limits: { ...defaultPlan.limits, agentRuns: 0 } }, '2026-07-18T09:00:00.000Z');
  clock.advance(hour);
  await fire();
  expect(await row()).toMatchObject({ ...record, failures: 2, enabled: 1, last_error: expect.stringContaining('plan') });
});
