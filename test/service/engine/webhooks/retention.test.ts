/** What is removed of the log of deliveries, and what happens to deliveries whose subscription is gone. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { deliverJob } from '../../../../src/service/engine/webhooks/delivery.ts';
import { forgetDeliveriesJob } from '../../../../src/service/engine/webhooks/retention.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { receiver } from '../../helpers/webhooks.ts';

/** An engine with two teams, each with a subscription. */
async function engineWithWebhooks(clock: ManualClock, url = 'http://127.0.0.1:9/'): Promise<StartableEngine> {
  const dataDirectory = await temporaryDirectory();
  await putEmptyDatabase(dataDirectory);
  const engine = await idleEngine(clock, { dataDirectory, webhooks: { allow: ['loopback'] } });
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  for (const team of ['a', 'b']) {
    await sql`insert into teams (id, name, created_at) values (${team}, ${team}, '')`.execute(store);
    await sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
      values (${`of ${team}`}, ${team}, ${url}, '["*"]', 1, 0, '', '')`.execute(store);
  }
  return engine;
}

/** Adds deliveries of a team, each of an event of its own, numbered from `from`. */
async function add({ store }: StartableEngine, team: string, range: [from: number, to: number], completedAt: string | null): Promise<void> {
  const teamId = sql`cast(${team} as text)`;
  const numbers = sql`with recursive n (n) as (select cast(${range[0]} as integer) union all select n + 1 from n where n < ${range[1]})`;
  await sql`insert into events (id, team_id, kind, payload, created_at)
    ${numbers} select ${teamId} || n, ${teamId}, 'run.completed', '{}', '' from n`.execute(store);
  await sql`insert into deliveries (id, seq, team_id, event_id, kind, subscription_id, endpoint, url, status, tries, attempt_count,
      next_attempt_at, created_at, completed_at)
    ${numbers} select ${teamId} || n, n, ${teamId}, ${teamId} || n, 'run.completed', ${`of ${team}`}, ${`of ${team}`}, 'http://127.0.0.1:9/',
      ${completedAt === null ? 'pending' : 'delivered'}, 0, 0, cast(${completedAt === null ? 0 : null} as bigint), '', ${completedAt} from n`.execute(
    store,
  );
}

const seqs = async ({ store }: StartableEngine, team: string) =>
  (await store.selectFrom('deliveries').select('seq').where('team_id', '=', team).orderBy('seq').execute()).map(({ seq }) => Number(seq));

it('the newest 10,000 deliveries of each team are retained, and those that have not ended', async () => {
  const clock = new ManualClock();
  const engine = await engineWithWebhooks(clock);
  const yesterday = new Date(clock.now() - 24 * 60 * 60 * 1_000).toISOString();
  await add(engine, 'a', [1, 1], null);
  await add(engine, 'a', [2, 11_200], yesterday);
  await add(engine, 'b', [1, 3], yesterday);
  await execute(engine, forgetDeliveriesJob, 'all');
  const [first, second, ...laterSeqs] = await seqs(engine, 'a');
  expect([first, second, laterSeqs.length + 2, await seqs(engine, 'b')]).toEqual([1, 1_201, 10_001, [1, 2, 3]]);
  const { events } = await engine.store
    .selectFrom('events')
    .select((select) => select.fn.countAll<number>().as('events'))
    .executeTakeFirstOrThrow();
  expect(Number(events)).toBe(10_004);
  const job = await engine.store.selectFrom('jobs').select(['status', 'due_at']).executeTakeFirstOrThrow();
  expect([job.status, Number(job.due_at) - clock.now()]).toEqual(['queued', 60 * 60 * 1_000]);
});

it('nothing more is removed once the job is aborted', async () => {
  const clock = new ManualClock();
  const engine = await engineWithWebhooks(clock);
  await add(engine, 'a', [1, 2], new Date(clock.now()).toISOString());
  clock.advance(31 * 24 * 60 * 60 * 1_000);
  const job = await claimedJob(engine, forgetDeliveriesJob.kind, 'all');
  await forgetDeliveriesJob.run(engine, job, AbortSignal.abort(new Error('stopped')));
  expect(await seqs(engine, 'a')).toEqual([1, 2]);
});

it('the job is due at every start, also if its last execution put it off', async () => {
  const clock = new ManualClock();
  const engine = await engineWithWebhooks(clock);
  await forgetDeliveriesJob.atStart?.(engine);
  await execute(engine, forgetDeliveriesJob, 'all');
  clock.advance(1_000);
  await forgetDeliveriesJob.atStart?.(engine);
  const jobs = await engine.store.selectFrom('jobs').select(['kind', 'status', 'due_at']).execute();
  expect(jobs).toEqual([{ kind: forgetDeliveriesJob.kind, status: 'queued', due_at: clock.now() }]);
});

it('a deleted subscription is removed with its last delivery', async () => {
  const clock = new ManualClock();
  const engine = await engineWithWebhooks(clock);
  const ids = async () => (await engine.store.selectFrom('webhook_subscriptions').select('id').orderBy('id').execute()).map(({ id }) => id);
  await add(engine, 'a', [1, 1], new Date(clock.now()).toISOString());
  await sql`update webhook_subscriptions set deleted_at = '2026-07-01' where team_id = 'a'`.execute(engine.store);
  clock.advance(30 * 24 * 60 * 60 * 1_000);
  await execute(engine, forgetDeliveriesJob, 'all');
  expect(await ids()).toEqual(['of a', 'of b']);
  clock.advance(1);
  await execute(engine, forgetDeliveriesJob, 'all');
  expect(await ids()).toEqual(['of b']);
});

it.each([
  ['was disabled', 'enabled = 0', 'the subscription is disabled'],
  ['was deleted', "deleted_at = '2026-07-01'", 'the subscription was deleted'],
])('pending deliveries of a subscription that %s are cancelled, and nothing is sent', async (_, change, reason) => {
  const hook = await receiver();
  const engine = await engineWithWebhooks(new ManualClock(), hook.url);
  await add(engine, 'a', [1, 3], null);
  await sql`update webhook_subscriptions set ${sql.raw(change)} where team_id = 'a'`.execute(engine.store);
  await execute(engine, deliverJob, 'of a');
  const rows = await engine.store.selectFrom('deliveries').select(['status', 'last_error', 'attempt_count']).execute();
  expect(rows).toEqual(Array(3).fill({ status: 'cancelled', last_error: reason, attempt_count: 0 }));
  expect(hook.deliveries).toEqual([]);
});
