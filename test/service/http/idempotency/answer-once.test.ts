/** Which responses are stored under a key, and what remains of a request whose response is not. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Answer, jsonAnswer } from '../../../../src/service/http/answer.ts';
import { answerOnce } from '../../../../src/service/http/idempotency/idempotency.ts';
import { insertCredential } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { LocalIdempotencyKeys } from '../../../../src/service/store/idempotency/idempotency-keys.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { Gate } from '../../helpers/runtime.ts';

/** Sends the same request twice, each time with the number of its execution as its change. Returns both answers, and what is stored. */
async function sentTwice(answer: (execution: number) => Answer) {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  await insertTeam(store, { id: 't', name: 'T', created_at: '' });
  await insertCredential(store, { id: 'c', team_id: 't', kind: 'api_key', name: 'c', created_at: '', revoked_at: null });
  const keys = new LocalIdempotencyKeys({ store, clock: new ManualClock() });
  const request = { credentialId: 'c', teamId: 't', key: 'k', fingerprint: 'f', requestId: 'r' };
  let executions = 0;
  const send = () =>
    answerOnce(keys, request, async (unit) => {
      executions += 1;
      const change = { name: String(executions), value: '' };
      await unit.store.transaction().execute((trx) => trx.insertInto('settings').values(change).execute());
      return answer(executions);
    });
  const [first, second] = [await send(), await send()];
  const storedNames = (await store.selectFrom('settings').select('name').orderBy('name').execute()).map(({ name }) => name);
  return { first, second, storedNames, isReplayed: second.headers['Idempotency-Replayed'] === 'true' };
}

describe('a request that is sent twice with its key', () => {
  it.each([201, 404, 409])('is executed once when it is answered %i', async (status) => {
    const { first, second, storedNames, isReplayed } = await sentTwice((execution) =>
      jsonAnswer(status, { execution }, { Location: '/x' }),
    );
    expect([second.status, second.body, second.headers.Location]).toEqual([status, first.body, '/x']);
    expect([isReplayed, storedNames]).toEqual([true, ['1']]);
  });

  it.each([500, 503])('is executed again, and nothing remains of the first time, when that is answered %i', async (status) => {
    const { first, second, storedNames, isReplayed } = await sentTwice((execution) => jsonAnswer(execution === 1 ? status : 201, {}));
    expect([first.status, second.status, isReplayed, storedNames]).toEqual([status, 201, false, ['2']]);
  });

  it('is answered without a Location, and without a type, if it was so the first time', async () => {
    const { first, second, isReplayed } = await sentTwice(() => ({ status: 204, headers: {}, body: '' }));
    expect([isReplayed, Object.keys(first.headers)]).toEqual([true, []]);
    expect(Object.keys(second.headers).sort()).toEqual(['Idempotency-Replayed', 'X-Original-Request-Id']);
  });

  it.each([
    ['a redirect', () => jsonAnswer(308, {}, { Location: '/elsewhere' })],
    ['the first status of redirects', () => jsonAnswer(300, {})],
    ['a stream', (): Answer => ({ status: 200, headers: {}, body: Readable.from(['a']) })],
  ])('is executed again, with both changes, when it is answered with %s', async (_, answer) => {
    const { first, second, storedNames, isReplayed } = await sentTwice(answer);
    expect([first.status, second.status, isReplayed, storedNames]).toEqual([answer().status, answer().status, false, ['1', '2']]);
  });
});

describe('a credential whose places are all taken by requests in progress', () => {
  it('may try again after a second, because no stored key says when one becomes free', async () => {
    const store = await openDatabase(await temporaryDirectory());
    afterTest(() => store.destroy());
    const keys = new LocalIdempotencyKeys({ store, clock: new ManualClock(), bounds: { records: 1, bytes: 1e9 } });
    const request = { credentialId: 'c', teamId: 't', key: 'k', fingerprint: 'f', requestId: 'r' };
    const gate = new Gate();
    const first = answerOnce(keys, request, async () => {
      await gate.opened;
      return jsonAnswer(500, {});
    });
    await expect(answerOnce(keys, { ...request, key: 'next' }, async () => jsonAnswer(201, {}))).rejects.toMatchObject({
      error: 'idempotency_store_full',
      headers: { 'Retry-After': '1' },
    });
    gate.open();
    await first;
  });
});
