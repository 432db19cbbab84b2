/** At most one execution for each key, and one transaction for the key, its changes, and its answer. */
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { insertCredential } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store, UnitOfWork } from '../../../../src/service/store/database/database.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { openDatabase, storeOf } from '../../../../src/service/store/database/sqlite/open.ts';
import {
  type KeyedRequest,
  LocalIdempotencyKeys,
  type StoredAnswer,
  type Verdict,
} from '../../../../src/service/store/idempotency/idempotency-keys.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { type Commits, failingCommits } from '../../helpers/disk.ts';
import { Gate } from '../../helpers/runtime.ts';

const day = 24 * 60 * 60 * 1_000;
const request: KeyedRequest = { credentialId: 'c', teamId: 't', key: 'k', fingerprint: 'f', requestId: 'r' };
const createdAnswer: StoredAnswer = { status: 201, contentType: 'text/plain', location: null, body: 'created' };

async function openStore(bounds?: { records: number; bytes: number }) {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const commits: Commits = { count: 0, failure: undefined };
  const disk = { sync: async (): Promise<void> => undefined };
  const log = { sync: () => disk.sync(), close: async () => undefined };
  const store = storeOf(new LibsqlDialect(failingCommits(new Libsql(`${directory}/aops.db`), commits), log));
  afterTest(() => store.destroy());
  await insertTeam(store, { id: 't', name: 'T', created_at: '' });
  await insertCredential(store, { id: 'c', team_id: 't', kind: 'api_key', name: 'c', created_at: '', revoked_at: null });
  const clock = new ManualClock();
  const keys = new LocalIdempotencyKeys({ store, clock, bounds });
  /** Executes a request whose answer is its verdict. */
  const executeOnce = (overrides: Partial<KeyedRequest>, execute: (unit: UnitOfWork) => Promise<Verdict>) =>
    keys.executeOnce({ ...request, ...overrides }, execute, (verdict) => verdict);
  return { once: executeOnce, store, commits, disk, clock, removeExpired: () => keys.removeExpired() };
}

const insertSetting = (store: Store, name: string) => store.insertInto('settings').values({ name, value: '' }).execute();
const names = async (store: Store) => (await store.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);
const storedKeys = (store: Store) => store.selectFrom('idempotency_keys').select(['key', 'status', 'body']).orderBy('key').execute();
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('a request with a key', () => {
  it('is executed once, and answered from the store afterwards', async () => {
    const { once, store } = await openStore();
    const execute = async ({ store: unit }: UnitOfWork) => {
      await insertSetting(unit, 'done');
      return { store: createdAnswer };
    };
    expect(await once({}, execute)).toEqual({ state: 'executed', result: { store: createdAnswer } });
    expect(await once({}, execute)).toMatchObject({ state: 'answered', row: { status: 201, body: 'created', request_id: 'r' } });
    expect(await once({ fingerprint: 'other' }, execute)).toEqual({ state: 'reused' });
    expect(await names(store)).toEqual(['done']);
  });

  it('commits its changes, its key, and its answer together', async () => {
    const { once, store, commits } = await openStore();
    await once({ key: 'first' }, async () => ({ store: createdAnswer }));
    const before = commits.count;
    await once({}, async (unit) => {
      await insertSetting(unit.store, 'one');
      await unit.store.transaction().execute((trx) => trx.insertInto('settings').values({ name: 'two', value: '' }).execute());
      await turns();
      expect(commits.count).toBe(before);
      return { store: createdAnswer };
    });
    expect(commits.count).toBe(before + 1);
    expect(await names(store)).toEqual(['one', 'two']);
  });

  it('is executed for one of fifty callers, however slow it is', async () => {
    const { once, store, clock } = await openStore();
    const resumeGate = new Gate();
    let executions = 0;
    const attempts = Array.from({ length: 50 }, () =>
      once({}, async (unit) => {
        executions += 1;
        await resumeGate.opened;
        await insertSetting(unit.store, 'done');
        return { store: createdAnswer };
      }),
    );
    clock.advance(2 * 60 * 60 * 1_000);
    expect(await Promise.all(attempts.slice(1))).toEqual(attempts.slice(1).map(() => ({ state: 'in_progress' })));
    expect(await once({ fingerprint: 'other' }, async () => 'free')).toEqual({ state: 'reused' });
    resumeGate.open();
    expect(await attempts[0]).toMatchObject({ state: 'executed' });
    expect(await once({}, async () => 'free')).toMatchObject({ state: 'answered' });
    expect([executions, await names(store)]).toEqual([1, ['done']]);
  });

  it('does not delay other requests before its first change', async () => {
    const { once, store } = await openStore();
    const resumeGate = new Gate();
    const slowRequest = once({}, async () => {
      await resumeGate.opened;
      return { store: createdAnswer };
    });
    await insertSetting(store, 'other');
    expect(await once({ key: 'other' }, async () => ({ store: createdAnswer }))).toMatchObject({ state: 'executed' });
    resumeGate.open();
    expect(await slowRequest).toMatchObject({ state: 'executed' });
  });

  it('keeps its changes and frees its key when its answer is not to be stored', async () => {
    const { once, store } = await openStore();
    const execute = (name: string) => async (unit: UnitOfWork) => {
      await insertSetting(unit.store, name);
      return 'free' as const;
    };
    expect(await once({}, execute('a'))).toMatchObject({ state: 'executed' });
    expect(await once({}, execute('b'))).toMatchObject({ state: 'executed' });
    expect([await names(store), await storedKeys(store)]).toEqual([['a', 'b'], []]);
  });

  it('leaves nothing behind when it is rolled back, and can be repeated', async () => {
    const { once, store } = await openStore();
    const execute = (verdict: Verdict) => async (unit: UnitOfWork) => {
      await insertSetting(unit.store, 'done');
      return verdict;
    };
    expect(await once({}, execute('undo'))).toEqual({ state: 'executed', result: 'undo' });
    expect([await names(store), await storedKeys(store)]).toEqual([[], []]);
    expect(await once({}, execute({ store: createdAnswer }))).toMatchObject({ state: 'executed' });
    expect(await names(store)).toEqual(['done']);
  });

  it('executes again after its answer has expired', async () => {
    const { once, clock, store } = await openStore({ records: 1, bytes: 1_000 });
    await once({}, async () => ({ store: createdAnswer }));
    clock.advance(day - 1);
    expect(await once({}, async () => 'free')).toMatchObject({ state: 'answered' });
    clock.advance(1);
    const otherVerdict = { store: { ...createdAnswer, body: 'again' } };
    expect(await once({}, async () => otherVerdict)).toMatchObject({ state: 'executed' });
    expect(await storedKeys(store)).toEqual([{ key: 'k', status: 201, body: 'again' }]);
    // The expired answer was subtracted only once.
    expect(await once({ key: 'second' }, async () => 'free')).toMatchObject({ state: 'full' });
  });

  it('replaces its expired answer, which then no longer counts', async () => {
    const { once, clock } = await openStore({ records: 2, bytes: 1_000 });
    const storeCreated = async () => ({ store: createdAnswer });
    await once({}, storeCreated);
    clock.advance(day);
    await once({}, storeCreated);
    expect(await once({ key: 'second' }, storeCreated)).toMatchObject({ state: 'executed' });
    expect(await once({ key: 'third' }, storeCreated)).toMatchObject({ state: 'full' });
  });
});

it('a full store reports when its first answer expires', async () => {
  const { once, clock } = await openStore({ records: 2, bytes: 1_000 });
  const start = clock.now();
  for (const key of ['a', 'b']) {
    await once({ key }, async () => ({ store: createdAnswer }));
    clock.advance(1_000);
  }
  expect(await once({ key: 'c' }, async () => 'free')).toEqual({ state: 'full', now: start + 2_000, expiry: start + day });
  const empty = await openStore({ records: 0, bytes: 0 });
  expect(await empty.once({}, async () => 'free')).toMatchObject({ state: 'full', expiry: undefined });
});

it('answers are stored until their bytes reach the limit of the credential', async () => {
  const { once, store } = await openStore({ records: 100, bytes: createdAnswer.body.length + 1 });
  await insertCredential(store, { id: 'other', team_id: 't', kind: 'api_key', name: 'other', created_at: '', revoked_at: null });
  const storeCreated = async () => ({ store: createdAnswer });
  for (const key of ['a', 'b']) expect(await once({ key }, storeCreated)).toMatchObject({ state: 'executed' });
  expect(await once({ key: 'c' }, storeCreated)).toMatchObject({ state: 'full' });
  expect(await once({ key: 'c', credentialId: 'other' }, storeCreated)).toMatchObject({ state: 'executed' });
  expect(await storedKeys(store)).toHaveLength(3);
});

it('answers that have expired can be removed, and no longer count', async () => {
  const { once, store, clock, removeExpired } = await openStore({ records: 2, bytes: 1_000 });
  const storeCreated = async () => ({ store: createdAnswer });
  await once({ key: 'a' }, storeCreated);
  clock.advance(day - 1);
  await once({ key: 'b' }, storeCreated);
  await removeExpired();
  expect((await storedKeys(store)).map(({ key }) => key)).toEqual(['a', 'b']);
  clock.advance(1);
  await removeExpired();
  expect((await storedKeys(store)).map(({ key }) => key)).toEqual(['b']);
  expect(await once({ key: 'c' }, storeCreated)).toMatchObject({ state: 'executed' });
  expect(await once({ key: 'd' }, storeCreated)).toMatchObject({ state: 'full' });
});

describe('a commit that fails', () => {
  it('rejects the request, leaves nothing behind, and frees the key and its capacity', async () => {
    const { once, store, commits } = await openStore({ records: 1, bytes: 1_000 });
    const execute = async (unit: UnitOfWork) => {
      await insertSetting(unit.store, 'done');
      return { store: createdAnswer };
    };
    commits.failure = new Error('no space left');
    await expect(once({}, execute)).rejects.toBe(commits.failure);
    await expect(once({}, execute)).rejects.toBe(commits.failure);
    commits.failure = undefined;
    expect([await names(store), await storedKeys(store)]).toEqual([[], []]);
    expect(await once({}, execute)).toMatchObject({ state: 'executed' });
    expect(await once({}, execute)).toMatchObject({ state: 'answered' });
  });

  it('leaves an expired answer, which still counts', async () => {
    const { once, store, commits, clock } = await openStore({ records: 2, bytes: 1_000 });
    const storeCreated = async () => ({ store: createdAnswer });
    await once({}, storeCreated);
    clock.advance(day);
    commits.failure = new Error('no space left');
    await expect(once({}, storeCreated)).rejects.toBe(commits.failure);
    commits.failure = undefined;
    expect(await storedKeys(store)).toHaveLength(1);
    // Only one fits in addition, until the expired answer is removed, and then only one more.
    for (const key of ['a', 'b']) expect(await once({ key }, storeCreated)).toMatchObject({ state: 'executed' });
    expect(await once({ key: 'c' }, storeCreated)).toMatchObject({ state: 'full' });
    expect((await storedKeys(store)).map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('does not concern a request whose changes an earlier commit contains', async () => {
    const { once, store, commits, disk } = await openStore();
    const execute = (name: string) => async (unit: UnitOfWork) => {
      await insertSetting(unit.store, name);
      return { store: createdAnswer };
    };
    const resumeGate = new Gate();
    disk.sync = () => resumeGate.opened;
    const first = once({}, execute('first'));
    const before = commits.count;
    while (commits.count === before) await turns();
    commits.failure = new Error('no space left');
    const rejection = expect(once({ key: 'second' }, execute('second'))).rejects.toBe(commits.failure);
    await turns();
    resumeGate.open();
    await rejection;
    commits.failure = undefined;
    expect(await first).toMatchObject({ state: 'executed' });
    expect(await once({}, execute('again'))).toMatchObject({ state: 'answered' });
    expect(await names(store)).toEqual(['first']);
  });
});

it('a key that cannot be stored fails its own request only', async () => {
  const { once, store } = await openStore();
  const execute = (name: string) => async (unit: UnitOfWork) => {
    await insertSetting(unit.store, name);
    return { store: createdAnswer };
  };
  const strangerRequest = once({ credentialId: 'gone' }, execute('stranger'));
  const otherRequests = Promise.all(['a', 'b', 'c'].map((key) => once({ key }, execute(key))));
  await expect(strangerRequest).rejects.toThrow(/FOREIGN KEY/);
  for (const state of await otherRequests) expect(state).toMatchObject({ state: 'executed' });
  expect(await names(store)).toEqual(['a', 'b', 'c']);
});
