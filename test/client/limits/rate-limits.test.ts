import { describe, expect, it } from 'vitest';
import { resetWait, retryAfter, serverTime } from '../../../src/client/limits/rate-limit.ts';
import { json } from '../../faults/raw-server.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const success = (headers: Record<string, string | string[]> = {}) => json(200, { run: { id: 'r1' } }, headers);
const rateLimitAnswer = (headers: Record<string, string | string[]> = {}) =>
  json(429, { error: 'rate_limited', message: 'Slow down.' }, headers);
const busyAnswer = (headers: Record<string, string>) => json(503, { error: 'unavailable' }, headers);

/** The start time of the harness's clock. */
const now = Date.parse('2026-07-18T09:00:00.000Z');
const date = (offset = 0) => new Date(now + offset).toUTCString();
const seconds = (offset: number) => String((now + offset) / 1000);

describe('Retry-After', () => {
  it('is honoured with a little jitter, so that not all clients return at once', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': '2' }), busyAnswer({ 'retry-after': '3' }), success());
    const { client, clock, events } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([2100, 3150]);
    expect(events.map(({ type }) => type).filter((type) => type.startsWith('rate_limit'))).toEqual([
      'rate_limit.waiting',
      'rate_limit.resumed',
    ]);
  });

  it("as a date is interpreted by the service's clock, however wrong ours is", async () => {
    for (const skew of [-3_600_000, 0, 3_600_000]) {
      const server = await scriptedServer(rateLimitAnswer({ 'retry-after': date(skew + 10_000), date: date(skew) }), success());
      const { client, clock } = newClient(server.url);
      await client.call('getRun', getRun);
      expect(clock.waitTimes).toEqual([10_500]);
    }
  });

  it.each(['soon', '-5', '', '1e20', ' ', '0', date(-60_000), 'NaN'])('%j means our own back-off', async (value) => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': value, date: date() }), success());
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([525]);
  });

  it('is understood with fractions, or when it is sent twice', async () => {
    const server = await scriptedServer(
      rateLimitAnswer({ 'retry-after': '1.5' }),
      rateLimitAnswer({ 'retry-after': ['4', '60'] }),
      success(),
    );
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([1575, 4200]);
  });

  it('above --max-wait fails immediately with exit code 7', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': '3600' }));
    const { client, clock } = newClient(server.url);
    const error = await failureOf(client.call('startRun', start));
    expect(error).toMatchObject({ exit: 7, code: 'rate_limited', details: { retry_after_seconds: 3600 } });
    expect(error.hint).toContain('3600 s');
    expect(clock.waitTimes).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it('of a 503 above --max-wait is never shortened', async () => {
    const server = await scriptedServer(busyAnswer({ 'retry-after': '3600' }));
    const { client, clock } = newClient(server.url);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 8, status: 503 });
    expect(clock.waitTimes).toEqual([]);
  });

  it('is waited for as far as --max-wait allows', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': '3600' }), success());
    const { client, clock } = newClient(server.url, { maxWaitMilliseconds: 3_600_000 });
    await client.call('getRun', getRun);
    expect(clock.waitTimes[0]).toBeGreaterThanOrEqual(3_600_000);
  });
});

describe('a 429', () => {
  it('keeps the key of a change', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': '1' }), json(201, { run: {} }));
    await newClient(server.url).client.call('startRun', start);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
  });

  it('with only RateLimit-Reset waits until then', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'ratelimit-reset': seconds(7_000), date: date() }), success());
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([7350]);
  });

  it('without any header backs off, and finally fails', async () => {
    const server = (await scriptedServer()).always(rateLimitAnswer());
    const { client, clock } = newClient(server.url);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 7, message: 'Slow down.' });
    expect(clock.waitTimes).toEqual([525, 1050, 2100]);
  });
});

describe('the gate', () => {
  const usedUpAnswer = (reset: string, headers: Record<string, string> = {}) =>
    success({ 'ratelimit-remaining': '0', 'ratelimit-reset': reset, date: date(), ...headers });

  it('holds the next request while nothing remains', async () => {
    const server = await scriptedServer(usedUpAnswer(seconds(5_000)), success());
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([]);
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([6300]);
  });

  it('works with a wrong local clock', async () => {
    for (const skew of [-600_000, 600_000]) {
      const server = await scriptedServer(usedUpAnswer(seconds(skew + 5_000), { date: date(skew) }), success());
      const { client, clock } = newClient(server.url);
      await client.call('getRun', getRun);
      await client.call('getRun', getRun);
      expect(clock.waitTimes).toEqual([6300]);
    }
  });

  it('refuses to hold longer than --max-wait', async () => {
    const server = await scriptedServer(usedUpAnswer(seconds(120_000)));
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 7, details: { retry_after_seconds: 121 } });
    expect(clock.waitTimes).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it('does not report a change as refused that may have been carried out', async () => {
    const server = await scriptedServer(
      json(500, { error: 'internal' }, { 'ratelimit-remaining': '0', 'ratelimit-reset': seconds(120_000), date: date() }),
    );
    expect(await failureOf(newClient(server.url).client.call('startRun', start))).toMatchObject({ exit: 13 });
  });

  it('stays open when requests remain, and for nonsensical headers', async () => {
    const oddHeaders: Record<string, string>[] = [
      { 'ratelimit-remaining': '1', 'ratelimit-reset': seconds(30_000) },
      { 'ratelimit-remaining': 'none', 'ratelimit-reset': seconds(30_000) },
      { 'ratelimit-remaining': '0', 'ratelimit-reset': 'later' },
      { 'ratelimit-remaining': '0', 'ratelimit-reset': '-4' },
      { 'ratelimit-remaining': '0' },
    ];
    const server = await scriptedServer(...oddHeaders.map((headers) => success(headers)), success());
    const { client, clock } = newClient(server.url);
    for (let count = 0; count <= oddHeaders.length; count += 1) await client.call('getRun', getRun);
    expect(clock.waitTimes).toEqual([]);
  });

  it('is interrupted by Ctrl-C', async () => {
    const server = await scriptedServer(usedUpAnswer(seconds(5_000)));
    const { client } = newClient(server.url, { hold: true });
    await client.call('getRun', getRun);
    const controller = new AbortController();
    const failure = failureOf(client.call('getRun', getRun, { signal: controller.signal }));
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
  });
});

describe('the headers', () => {
  it('are read in Unix seconds, Unix milliseconds and seconds from now', () => {
    expect(resetWait({ 'ratelimit-reset': seconds(9_000) }, now)).toBe(9000);
    expect(resetWait({ 'ratelimit-reset': String(now + 9_000) }, now)).toBe(9000);
    expect(resetWait({ 'ratelimit-reset': '9' }, now)).toBe(9000);
    expect(resetWait({ 'ratelimit-reset': seconds(-9_000) }, now)).toBe(0);
    expect(resetWait({ 'ratelimit-reset': ['9', '1'] }, now)).toBe(9000);
    expect(resetWait({}, now)).toBeUndefined();
  });

  it('contain times of the service, or else the local clock is used', () => {
    expect(serverTime({ date: 'yesterday' }, 42)).toBe(42);
    expect(serverTime({ date: date(0) }, 42)).toBe(now);
    expect(retryAfter({ 'retry-after': date(5_000) }, now)).toBe(5000);
  });
});
