/** What is kept under idempotency keys is bounded for each credential, and never given up before its time. */
import { describe, expect, it } from 'vitest';
import type { IdempotencyBounds } from '../../../../src/service/store/idempotency/key-usage.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { type Answer, type Api, startApi } from '../../helpers/service.ts';

const day = 24 * 60 * 60 * 1_000;
const isReplayed = (answer: Answer) => answer.headers['idempotency-replayed'] === 'true';
const failure = (answer: Answer) => [answer.status, (answer.body as { error?: string }).error];

const startBounded = (idempotencyBounds: IdempotencyBounds, clock = new ManualClock()) => startApi({ clock, idempotencyBounds });
const create = (api: Api, key: string, name = key) => api.call('createAgent', { body: { name }, headers: { 'idempotency-key': key } });

describe('a credential that has stored as many keys as it may', () => {
  it('gets 503 for a new key until the first one expires, and stored responses are still replayed', async () => {
    const clock = new ManualClock();
    const api = await startBounded({ records: 2, bytes: 1e9 }, clock);
    expect((await create(api, 'a')).status).toBe(201);
    clock.advance(60_000);
    expect((await create(api, 'b')).status).toBe(201);
    const refusal = await create(api, 'c');
    expect(failure(refusal)).toEqual([503, 'idempotency_store_full']);
    expect(Number(refusal.headers['retry-after'])).toBe((day - 60_000) / 1_000);
    expect([isReplayed(await create(api, 'a')), isReplayed(await create(api, 'b'))]).toEqual([true, true]);
    expect((await api.ok('listAgents')).total).toBe(2);
    // Without a key nothing has to be kept.
    await api.ok('createAgent', { body: { name: 'without' } });
    clock.advance(day - 60_000);
    expect((await create(api, 'c')).status).toBe(201);
    expect(failure(await create(api, 'd'))).toEqual([503, 'idempotency_store_full']);
    expect(isReplayed(await create(api, 'b'))).toBe(true);
  });

  it('does not prevent other credentials from storing keys', async () => {
    const api = await startBounded({ records: 1, bytes: 1e9 });
    const otherApi = await api.withToken();
    await create(api, 'a');
    expect(failure(await create(api, 'b'))).toEqual([503, 'idempotency_store_full']);
    expect((await create(otherApi, 'b')).status).toBe(201);
  });

  it('is also limited by the size of the stored responses', async () => {
    const api = await startBounded({ records: 1_000, bytes: 2_000 });
    let storedCount = 0;
    while ((await create(api, `k${storedCount}`, `${'x'.repeat(200)}${storedCount}`)).status === 201) storedCount += 1;
    expect(storedCount).toBeGreaterThan(1);
    expect(storedCount).toBeLessThan(10);
    expect(isReplayed(await create(api, 'k0', `${'x'.repeat(200)}0`))).toBe(true);
  });

  it('is recognised after a restart', async () => {
    const clock = new ManualClock();
    const api = await startBounded({ records: 1, bytes: 1e9 }, clock);
    await create(api, 'a');
    await api.service.close();
    const restartedApi = await startApi({ clock, idempotencyBounds: { records: 1, bytes: 1e9 }, dataDirectory: api.dataDirectory });
    expect(isReplayed(await create(restartedApi, 'a'))).toBe(true);
    expect(failure(await create(restartedApi, 'b'))).toEqual([503, 'idempotency_store_full']);
  });

  it('gets its capacity back after a failure of the service', async () => {
    let isBroken = true;
    const api = await startApi({
      idempotencyBounds: { records: 1, bytes: 1e9 },
      runtimes: [
        {
          name: 'test',
          validate: () => {
            if (isBroken) throw new Error('broken');
          },
          countSteps: () => 0,
          advance: async () => ({ status: 'completed' }),
        },
      ],
    });
    const models = { agent: { model: 'test' }, browsing: { provider: 'google' as const, model: 'm' } };
    const body = { name: 'A', build: { name: 'b', config: { version: 'v2' as const, data: { models, input: 'x' } } } };
    const attempt = (key: string) => api.call('createAgent', { body, headers: { 'idempotency-key': key } });
    for (const key of ['a', 'a', 'b']) expect((await attempt(key)).status).toBe(500);
    isBroken = false;
    expect([(await attempt('a')).status, isReplayed(await attempt('a'))]).toEqual([201, true]);
  });
});
