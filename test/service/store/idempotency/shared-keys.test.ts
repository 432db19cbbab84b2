/** At most one execution for each idempotency key, whichever node gets the request, and whatever happens to its connection. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/service/errors.ts';
import { insertCredential } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store, UnitOfWork } from '../../../../src/service/store/database/database.ts';
import type { KeyedRequest, StoredAnswer, Verdict } from '../../../../src/service/store/idempotency/idempotency-keys.ts';
import { removeExpiredKeys } from '../../../../src/service/store/idempotency/key-rows.ts';
import { SharedIdempotencyKeys } from '../../../../src/service/store/idempotency/shared-keys.ts';
import { DatabaseProxy } from '../../../support/database-proxy.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { openNode } from '../../helpers/postgres.ts';
import { Gate } from '../../helpers/runtime.ts';

const request: KeyedRequest = { credentialId: 'c', teamId: 't', key: 'k', fingerprint: 'f', requestId: 'r' };
const created: StoredAnswer = { status: 201, contentType: 'text/plain', location: null, body: 'created' };

async function openKeys() {
  const database = await newDatabase();
  const proxy = await DatabaseProxy.to(database);
  const clock = new ManualClock();
  const node = async (name: string, bounds?: { records: number; bytes: number }) => {
    const store = await openNode(proxy.url, name);
    const keys = new SharedIdempotencyKeys({ store, clock, bounds });
    const once = (overrides: Partial<KeyedRequest>, execute: (unit: UnitOfWork) => Promise<Verdict>) =>
      keys.executeOnce({ ...request, ...overrides }, execute, (verdict) => verdict);
    return { store, once, removeExpired: () => keys.removeExpired() };
  };
  const a = await node('a');
  await insertTeam(a.store, { id: 't', name: 'T', created_at: '' });
  await insertCredential(a.store, { id: 'c', team_id: 't', kind: 'api_key', name: 'c', created_at: '', revoked_at: null });
  return { database, proxy, clock, node, a, b: await node('b') };
}

const insert = (store: Store, name: string) => store.insertInto('settings').values({ name, value: '' }).execute();
/** Without the setting that the migrations have written. */
const names = async (store: Store) => {
  const rows = await store.selectFrom('settings').select('name').where('name', '!=', 'schema_min').orderBy('name').execute();
  return rows.map(({ name }) => name);
};
const creating = (name: string) => async (unit: UnitOfWork) => {
  await insert(unit.store, name);
  return { store: created };
};

/** Repeats a request until the database has noticed that the connection of an earlier one was lost. */
const onceFree = <Result extends { state: string }>(send: () => Promise<Result>): Promise<Result> =>
  eventually('the key is free', async () => {
    const result = await send();
    return result.state !== 'in_progress' && result;
  });

describeNeeding(needsPostgres, 'a key of several nodes', () => {
  it('is executed by one of them, and answered by all', async () => {
    const { a, b } = await openKeys();
    expect(await a.once({}, creating('by a'))).toMatchObject({ state: 'executed' });
    expect(await b.once({}, creating('by b'))).toMatchObject({ state: 'answered', row: { body: 'created', request_id: 'r' } });
    expect(await b.once({ fingerprint: 'other' }, creating('by b'))).toEqual({ state: 'reused' });
    expect(await names(b.store)).toEqual(['by a']);
  });

  it('is in progress for the others as soon as it has changed something', async () => {
    const { a, b } = await openKeys();
    const gate = new Gate();
    const changed = new Gate();
    const first = a.once({}, async (unit) => {
      await insert(unit.store, 'by a');
      changed.open();
      await gate.opened;
      return { store: created };
    });
    await changed.opened;
    expect(await b.once({}, creating('by b'))).toEqual({ state: 'in_progress' });
    gate.open();
    expect(await first).toMatchObject({ state: 'executed' });
    expect(await names(a.store)).toEqual(['by a']);
  });

  it('in progress is an expected refusal for the handlers of other nodes, and neither stored nor counted for them', async () => {
    const { a, node } = await openKeys();
    const bounded = await node('c', { records: 1, bytes: 1e9 });
    let refusal: unknown;
    const result = await a.once({}, async (unit) => {
      await insert(unit.store, 'by a');
      const refused = await bounded.once({}, async (other) => {
        refusal = await insert(other.store, 'by c').catch((error: unknown) => error);
        return { store: { ...created, status: 409, body: 'refused' } };
      });
      expect(refused).toEqual({ state: 'in_progress' });
      expect(await bounded.once({ key: 'next' }, creating('next'))).toMatchObject({ state: 'executed' });
      return { store: created };
    });
    expect(refusal).toBeInstanceOf(ServiceError);
    expect(refusal).toMatchObject({ status: 409, error: 'idempotency_in_progress' });
    expect(result).toMatchObject({ state: 'executed' });
    expect(await a.once({}, creating('again'))).toMatchObject({ state: 'answered', row: { body: 'created' } });
  });

  it('is in progress for its own node before it has changed anything', async () => {
    const { a } = await openKeys();
    const gate = new Gate();
    const first = a.once({}, async (unit) => {
      await gate.opened;
      return creating('first')(unit);
    });
    expect(await a.once({}, creating('second'))).toEqual({ state: 'in_progress' });
    expect(await a.once({ fingerprint: 'other' }, creating('second'))).toEqual({ state: 'reused' });
    gate.open();
    expect(await first).toMatchObject({ state: 'executed' });
    expect(await names(a.store)).toEqual(['first']);
  });

  it('is not stored when its answer need not be, and what was changed remains', async () => {
    const { a } = await openKeys();
    for (const name of ['first', 'second']) {
      const execute = async (unit: UnitOfWork): Promise<Verdict> => {
        await insert(unit.store, name);
        return 'free';
      };
      expect(await a.once({}, execute)).toEqual({ state: 'executed', result: 'free' });
    }
    expect(await names(a.store)).toEqual(['first', 'second']);
  });

  it('that was looked up before another node answered it is not executed again', async () => {
    const { a, b } = await openKeys();
    const late = await b.once({}, async (unit) => {
      expect(await a.once({}, creating('by a'))).toMatchObject({ state: 'executed' });
      // Whatever a handler makes of the refusal: it has changed nothing.
      await insert(unit.store, 'by b').catch(() => undefined);
      return 'undo';
    });
    expect(late).toMatchObject({ state: 'answered', row: { body: 'created' } });
    expect(await names(a.store)).toEqual(['by a']);
  });

  it('is free again when the connection of its node breaks', async () => {
    const { a, b, proxy } = await openKeys();
    const attempt = a.once({}, async (unit) => {
      await insert(unit.store, 'by a');
      proxy.cut();
      return { store: created };
    });
    await expect(attempt).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    proxy.restore();
    expect(await onceFree(() => b.once({}, creating('by b')))).toMatchObject({ state: 'executed' });
    expect(await names(b.store)).toEqual(['by b']);
  });

  it('is looked up when its commit was not answered, and its effects take place once', async () => {
    const { a, b, proxy } = await openKeys();
    const effects: string[] = [];
    const result = await a.once({}, async (unit) => {
      await insert(unit.store, 'by a');
      unit.afterCommit(() => effects.push('effect'));
      proxy.loseAnswerTo('commit');
      return { store: created };
    });
    expect(result).toMatchObject({ state: 'executed' });
    expect(effects).toEqual(['effect']);
    expect(await b.once({}, creating('by b'))).toMatchObject({ state: 'answered' });
    expect(await names(b.store)).toEqual(['by a']);
  });

  it('is looked up only when its commit has ended', async () => {
    const { database, a, b, proxy } = await openKeys();
    const observer = await openNode(database, 'observer');
    const blockingLock = 1;
    await sql`create function wait() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(${sql.lit(blockingLock)}); return null; end'`.execute(observer);
    await sql`create constraint trigger slow_commit after insert on settings deferrable initially deferred
      for each row execute function wait()`.execute(observer);
    const waiting = async (): Promise<number> => {
      const { rows } = await sql`select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and wait_event = 'advisory' and datname = current_database()`.execute(observer);
      return rows.length;
    };

    let attempt: Promise<unknown> | undefined;
    let isAnswered = false;
    const locker = await openNode(database, 'locker');
    await locker.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(${blockingLock}) as locked`.execute(trx);
      attempt = a.once({}, creating('by a')).finally(() => {
        isAnswered = true;
      });
      attempt.catch(() => undefined);
      await eventually('the commit waits', async () => (await waiting()) === 1);
      proxy.cut();
      proxy.restore();
      await eventually('the lookup waits, too', async () => isAnswered || (await waiting()) === 2);
      expect(isAnswered).toBe(false);
    });
    expect(await attempt).toMatchObject({ state: 'executed' });
    expect(await names(b.store)).toEqual(['by a']);
  });

  it('is free after 24 hours, and then executed by one node', async () => {
    const { a, b, clock } = await openKeys();
    await a.once({}, creating('first'));
    clock.advance(24 * 60 * 60 * 1_000);
    expect(await b.once({ fingerprint: 'other' }, creating('second'))).toMatchObject({ state: 'executed' });
    clock.advance(24 * 60 * 60 * 1_000);
    await a.removeExpired();
    expect(await a.store.selectFrom('idempotency_keys').selectAll().execute()).toEqual([]);
  });

  it('counts against the bound of its credential, also on the other nodes after a minute', async () => {
    const { a, b, node, clock } = await openKeys();
    const c = await node('c', { records: 2, bytes: 1e9 });
    expect(await c.once({ key: '1' }, creating('1'))).toMatchObject({ state: 'executed' });
    expect(await c.once({ key: '2' }, async () => 'undo')).toMatchObject({ state: 'executed' });
    expect(await c.once({ key: '2' }, creating('2'))).toMatchObject({ state: 'executed' });
    expect(await c.once({ key: '3' }, creating('3'))).toMatchObject({ state: 'full' });
    const d = await node('d', { records: 3, bytes: 1e9 });
    expect(await d.once({ key: '3' }, creating('3'))).toMatchObject({ state: 'executed' });
    for (const key of ['4', '5']) await a.once({ key }, creating(key));
    clock.advance(60_000);
    expect(await d.once({ key: '6' }, creating('6'))).toMatchObject({ state: 'full' });
    expect(await b.once({ key: '6' }, creating('6'))).toMatchObject({ state: 'executed' });
  });

  it('can be used as soon as another one has expired, also while another node is removing that', async () => {
    const { b, node, clock } = await openKeys();
    const c = await node('c', { records: 1, bytes: 1e9 });
    expect(await c.once({ key: '1' }, creating('1'))).toMatchObject({ state: 'executed' });
    clock.advance(24 * 60 * 60 * 1_000 - 1_000);
    expect(await c.once({ key: '2' }, creating('2'))).toMatchObject({ state: 'full' });
    clock.advance(1_000);
    await b.store.transaction().execute(async (trx) => {
      expect(await removeExpiredKeys(trx, clock.now())).toHaveLength(1);
      // Neither waits for that transaction, nor depends on how it ends.
      expect(await c.once({ key: '2' }, creating('2'))).toMatchObject({ state: 'executed' });
    });
    expect(await c.once({ key: '3' }, creating('3'))).toMatchObject({ state: 'full' });
  });

  it('can be used as soon as another one has expired that another node has removed', async () => {
    const { b, node, clock } = await openKeys();
    const c = await node('c', { records: 1, bytes: 1e9 });
    await c.once({ key: '1' }, creating('1'));
    clock.advance(24 * 60 * 60 * 1_000 - 1_000);
    expect(await c.once({ key: '2' }, creating('2'))).toMatchObject({ state: 'full' });
    clock.advance(1_000);
    await b.removeExpired();
    expect(await c.once({ key: '2' }, creating('2'))).toMatchObject({ state: 'executed' });
  });

  it('counts for all requests that count what is stored at the same time', async () => {
    const { node, a } = await openKeys();
    const c = await node('c', { records: 2, bytes: 1e9 });
    await a.once({ key: '1' }, creating('1'));
    const states = await Promise.all(['2', '3', '4'].map(async (key) => (await c.once({ key }, creating(key))).state));
    expect(states.sort()).toEqual(['executed', 'full', 'full']);
  });

  it('of other nodes is counted once a minute', async () => {
    const { a, node, clock } = await openKeys();
    const bounded = await node('c', { records: 4, bytes: 1e9 });
    const isExecuted = async (key: string) => (await bounded.once({ key }, creating(key))).state === 'executed';
    expect(await isExecuted('1')).toBe(true);
    for (const key of ['2', '3', '4']) await a.once({ key }, creating(key));
    clock.advance(59_999);
    expect(await isExecuted('5')).toBe(true);
    clock.advance(1);
    expect(await isExecuted('6')).toBe(false);
  });

  it('is executed for another request as soon as it expires, although its row is still there', async () => {
    const { a, clock } = await openKeys();
    await a.once({}, creating('first'));
    clock.advance(24 * 60 * 60 * 1_000 - 1);
    await a.once({ key: 'counted' }, creating('counted'));
    clock.advance(1);
    expect(await a.once({ fingerprint: 'other' }, creating('second'))).toMatchObject({ state: 'executed' });
  });

  it('counts no bytes of an answer that was not committed', async () => {
    const { node, proxy } = await openKeys();
    const bounded = await node('c', { records: 9, bytes: created.body.length });
    const attempt = bounded.once({}, async (unit) => {
      await insert(unit.store, 'lost');
      proxy.cut();
      return { store: created };
    });
    await expect(attempt).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    proxy.restore();
    expect(await onceFree(() => bounded.once({}, creating('kept')))).toMatchObject({ state: 'executed' });
    expect(await bounded.once({ key: 'next' }, creating('next'))).toMatchObject({ state: 'full' });
  });
});
