import { describe, expect, it } from 'vitest';
import { clientCredential, type TokenOptions } from '../../../src/client/access/oauth.ts';
import { answer, json, noAnswer, type RawServer, reply } from '../../faults/raw-server.ts';
import { runPromptly } from '../../support/promptly.ts';
import { afterTest } from '../../support/temporary.ts';
import { startHttps } from '../../support/tls.ts';
import { failureOf, newClient, scriptedServer, WaitClock } from '../harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const success = json(200, { run: { id: 'r1' } });
const refusal = json(401, { error: 'unauthorized' });

const secret = 's/e c:r&é';
const token = (access_token: string, expires_in?: unknown) => json(200, { access_token, token_type: 'Bearer', expires_in });

/** A credential whose waits pass immediately; jitter is half of its maximum. */
function credentialOf(server: RawServer, clock = new WaitClock(), options: TokenOptions & { scope?: string; client_secret?: string } = {}) {
  const { scope, client_secret = secret, ...otherOptions } = options;
  const credentials = { client_id: 'my id', client_secret, token_url: `${server.url}/oauth/token?tenant=1`, scope };
  return clientCredential(credentials, {
    clock,
    userAgent: 'aops/test',
    random: () => 0.5,
    onEvent: (event) => event.type === 'retry' && clock.announce(),
    ...otherOptions,
  });
}

describe('client credentials', () => {
  it('are sent form-encoded, and only in the header', async () => {
    const server = await scriptedServer(token('t1', 3600));
    expect(await credentialOf(server).authorization()).toBe('Bearer t1');
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/oauth/token?tenant=1',
      headers: {
        'content-type': expect.stringMatching(/^application\/x-www-form-urlencoded/),
        accept: 'application/json',
        'user-agent': 'aops/test',
      },
    });
    expect(request?.body.toString()).toBe('grant_type=client_credentials');
    expect(Buffer.from(request?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()).toBe(
      'my+id:s%2Fe+c%3Ar%26%C3%A9',
    );
  });

  it('yield one token for all waiting requests, until shortly before it expires', async () => {
    const server = await scriptedServer(token('t1', 3600), token('t2', '3600'));
    const clock = new WaitClock();
    const credential = credentialOf(server, clock);
    expect(new Set(await Promise.all(Array.from({ length: 50 }, () => credential.authorization())))).toEqual(new Set(['Bearer t1']));
    clock.advance(3_239_999);
    expect(await credential.authorization()).toBe('Bearer t1');
    clock.advance(1);
    expect(await credential.authorization()).toBe('Bearer t2');
    expect(server.requests).toHaveLength(2);
  });

  it.each([undefined, 0, -5, 'soon', null, 20])('request a token with a lifetime of %j each time', async (life) => {
    const server = await scriptedServer(token('t1', life), token('t2', life));
    const credential = credentialOf(server);
    expect([await credential.authorization(), await credential.authorization()]).toEqual(['Bearer t1', 'Bearer t2']);
  });

  it.each([
    ['an error of the standard', json(400, { error: 'invalid_client', error_description: 'SECRET' }), { exit: 4, code: 'invalid_client' }],
    ['401 without a body', answer(401, ''), { exit: 4, code: 'token_refused' }],
    ['an error in strange words', json(400, { error: 'SECRET' }), { exit: 4, code: 'token_refused' }],
    ['HTML', answer(200, '<html>SECRET'), { exit: 4, code: 'token_refused' }],
    ['no token', json(200, { token: 'SECRET' }), { exit: 4 }],
    ['a token that is no header', json(200, { access_token: 'SECRET\r\nX-Evil: 1', token_type: 'Bearer', expires_in: 60 }), { exit: 4 }],
    ['null', json(200, null), { exit: 4 }],
    [
      'a token of another type',
      json(200, { access_token: 'SECRET', token_type: 'mac', expires_in: 60 }),
      { exit: 4, code: 'token_refused' },
    ],
    ['404', answer(404, 'SECRET'), { exit: 4, hint: expect.stringContaining('--token-url') }],
    [
      '401 with a challenge',
      json(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="SECRET"' }),
      { exit: 4, code: 'invalid_client' },
    ],
    [
      'an unknown scope',
      json(400, { error: 'invalid_scope' }),
      { exit: 4, code: 'invalid_scope', hint: expect.stringContaining('--scope') },
    ],
    ['a redirect', answer(302, '', { location: 'https://elsewhere.example/SECRET' }), { exit: 4 }],
    ['500', json(500, { error: 'SECRET' }), { exit: 8 }],
    ['429', json(429, { error: 'SECRET' }), { exit: 7 }],
    ['a reset', noAnswer('reset'), { exit: 8 }],
  ])('answered with %s fail without revealing a secret', async (_, step, expected) => {
    const server = (await scriptedServer()).always(step);
    const error = await failureOf(credentialOf(server).authorization());
    expect(error).toMatchObject(expected);
    const visibleTexts = JSON.stringify([error, error.message, error.hint, String(error.stack)]);
    expect(visibleTexts).not.toContain('SECRET');
    expect(visibleTexts).not.toContain('s/e c');
  });

  it.each([
    ['a reset', noAnswer('reset')],
    ['500', json(500, {})],
    ['503', json(503, {}, { 'retry-after': '2' })],
    ['429', json(429, {}, { 'retry-after': '1' })],
  ])('request a token again after %s', async (_, step) => {
    const server = await scriptedServer(step, step, token('t1', 3600));
    const clock = new WaitClock();
    expect(await credentialOf(server, clock).authorization()).toBe('Bearer t1');
    expect([server.requests.length, clock.waitTimes.length]).toEqual([3, 2]);
    const requestedPause = { 503: 2_000, 429: 1_000 }[_] ?? 0;
    for (const wait of clock.waitTimes) expect(wait).toBeGreaterThanOrEqual(requestedPause);
  });

  it.each([400, 401, 403, 404, 302])('do not request a token again after %i', async (status) => {
    const server = (await scriptedServer()).always(answer(status, ''));
    await failureOf(credentialOf(server).authorization());
    expect(server.requests).toHaveLength(1);
  });

  it('wait no longer than --max-wait', async () => {
    const server = (await scriptedServer()).always(json(429, {}, { 'retry-after': '61' }));
    expect(await failureOf(credentialOf(server).authorization())).toMatchObject({ exit: 7, code: 'rate_limited' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([201, 299, 300, 399, 400, 404, 405, 410, 499])('explain what to do about a refusal with %i', async (status) => {
    const server = await scriptedServer(answer(status, ''));
    const error = await failureOf(credentialOf(server).authorization());
    const isRedirect = status >= 300 && status < 400;
    expect(error).toMatchObject({
      exit: 4,
      code: 'token_refused',
      message: isRedirect
        ? `The token endpoint answered with a redirect (${status}), and aops does not follow redirects.`
        : `The token endpoint refused the client credentials (${status} token_refused).`,
      hint: expect.stringContaining(
        isRedirect || status === 404 || status === 405 ? 'Check the token URL' : 'Check the client ID and secret',
      ),
      details: { method: 'POST', path: '/oauth/token', status },
    });
  });

  it('report each attempt, without the query of the URL', async () => {
    const server = await scriptedServer(noAnswer('reset'), json(503, {}), token('t1', 3600));
    const clock = new WaitClock();
    const events: unknown[] = [];
    const credential = credentialOf(server, clock, {
      onEvent: (event) => {
        events.push(event);
        if (event.type === 'retry') clock.announce();
      },
    });
    await credential.authorization();
    const trace = { type: 'trace', method: 'POST', url: `${server.url}/oauth/token`, milliseconds: 0 };
    expect(events).toEqual([
      { ...trace, reason: 'the connection was reset' },
      { type: 'retry', reason: 'no access token: the connection was reset', waitMilliseconds: 250, attempt: 1 },
      { ...trace, status: 503 },
      { type: 'retry', reason: 'the token endpoint answered 503', waitMilliseconds: 500, attempt: 2 },
      { ...trace, status: 200 },
    ]);
    // No connection is left open.
    await runPromptly(() => server.until(({ open }) => open === 0), 2_000);
  });

  it('request a token again when no answer arrives within 30 s', async () => {
    const server = await scriptedServer(noAnswer('stall'), token('t1', 3600));
    const clock = new WaitClock();
    const result = credentialOf(server, clock).authorization();
    await server.until(({ requests }) => requests.length === 1);
    clock.advance(29_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    expect(await result).toBe('Bearer t1');
    expect(server.requests).toHaveLength(2);
  });

  it('say where to look when the endpoint cannot be reached', async () => {
    const server = (await scriptedServer()).always(noAnswer('reset'));
    expect(await failureOf(credentialOf(server).authorization())).toMatchObject({
      message: `Could not get an access token from ${server.url}: the connection was reset.`,
      hint: expect.stringContaining('Check the network and the token URL'),
    });
    const unsafeServer = await startHttps('self-signed', (_, response) => response.end());
    afterTest(unsafeServer.close);
    const clock = new WaitClock();
    const client = { client_id: 'my id', client_secret: secret, token_url: `https://127.0.0.1:${unsafeServer.port}/token` };
    const error = await failureOf(clientCredential(client, { clock }).authorization());
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining('self-signed'), hint: expect.stringContaining('--ca-file') });
    expect(clock.waitTimes).toEqual([]);
  });

  it('wait as long as --max-wait allows, and report a longer pause as what it is', async () => {
    const server = await scriptedServer(json(503, {}, { 'retry-after': '60' }), token('t1', 3600), json(503, {}, { 'retry-after': '61' }));
    const clock = new WaitClock();
    expect(await credentialOf(server, clock).authorization()).toBe('Bearer t1');
    expect(clock.waitTimes).toEqual([60_000]);
    expect(await failureOf(credentialOf(server).authorization())).toMatchObject({ exit: 8, code: 'service_unavailable' });
  });

  it('need no options', async () => {
    const server = await scriptedServer(token('t1', 3600));
    const credential = clientCredential({ client_id: 'my id', client_secret: secret, token_url: `${server.url}/token` });
    expect([await credential.authorization(), await credential.authorization()]).toEqual(['Bearer t1', 'Bearer t1']);
    expect(server.header('user-agent')).toEqual(['aops']);
  });

  it('request the configured scope', async () => {
    const server = await scriptedServer(token('t1', 3600));
    await credentialOf(server, new WaitClock(), { scope: 'runs:read runs:write' }).authorization();
    expect(Object.fromEntries(new URLSearchParams(server.requests[0]?.body.toString()))).toEqual({
      grant_type: 'client_credentials',
      scope: 'runs:read runs:write',
    });
  });

  it('keep the old token when the endpoint is unavailable shortly before it expires', async () => {
    const server = await scriptedServer(token('t1', 3600));
    server.always(json(503, {}));
    const clock = new WaitClock();
    const credential = credentialOf(server, clock);
    await credential.authorization();
    clock.advance(3_300_000);
    expect(await credential.authorization()).toBe('Bearer t1');
    clock.advance(300_000);
    expect(await failureOf(credential.authorization())).toMatchObject({ exit: 8 });
  });

  it.each([
    ['answers 429 to every attempt', json(429, {})],
    ['requests a long pause', json(429, {}, { 'retry-after': '61' })],
  ])('keep the old token until it expires when the endpoint %s', async (_, step) => {
    const server = await scriptedServer(token('t1', 3600));
    server.always(step);
    const clock = new WaitClock();
    const credential = credentialOf(server, clock);
    await credential.authorization();
    clock.advance(3_300_000);
    expect(await credential.authorization()).toBe('Bearer t1');
    clock.set(Date.parse('2026-07-18T10:00:00.000Z'));
    expect(await failureOf(credential.authorization())).toMatchObject({ exit: 7 });
  });

  it('do not keep a token without a lifetime when the endpoint is unavailable', async () => {
    const server = await scriptedServer(token('t1'));
    server.always(json(503, {}));
    const credential = credentialOf(server);
    await credential.authorization();
    expect(await failureOf(credential.authorization())).toMatchObject({ exit: 8 });
  });

  it('report the values that must not be shown', async () => {
    const server = await scriptedServer(token('t1', 3600));
    const secrets: string[] = [];
    await credentialOf(server, new WaitClock(), { protect: (value) => secrets.push(value) }).authorization();
    expect(secrets).toEqual(expect.arrayContaining([secret, 'my+id:s%2Fe+c%3Ar%26%C3%A9', 't1']));
  });

  it('request a token again after a failure', async () => {
    const server = await scriptedServer(answer(400, ''), token('t1', 3600));
    const credential = credentialOf(server);
    await failureOf(credential.authorization());
    expect(await credential.authorization()).toBe('Bearer t1');
  });

  it('can be aborted while requesting a token', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    const controller = new AbortController();
    const failure = failureOf(credentialOf(server).authorization(controller.signal));
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
  });
});

describe('a token that the service rejects', () => {
  it('is renewed once, and the change keeps its key', async () => {
    const tokens = await scriptedServer(token('t1', 3600), token('t2', 3600));
    const server = await scriptedServer();
    server.always(reply(({ headers }) => (headers.authorization === 'Bearer t2' ? json(201, { run: {} }) : refusal)));
    const { client, clock } = newClient(server.url, { credential: credentialOf(tokens) });
    await client.call('startRun', start);
    expect(server.header('authorization')).toEqual(['Bearer t1', 'Bearer t2']);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(clock.waitTimes).toEqual([]);
  });

  it('and that this process never used is replaced', async () => {
    const tokens = await scriptedServer(token('t1', 3600));
    expect(await credentialOf(tokens).refresh?.('Bearer t0')).toBe(true);
  });

  it('twice is an error, also for later requests', async () => {
    const tokens = await scriptedServer(token('t1', 3600), token('t2', 3600), token('t3', 3600));
    const server = (await scriptedServer()).always(refusal);
    const clock = new WaitClock();
    const { client } = newClient(server.url, { credential: credentialOf(tokens, clock) });
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 4, status: 401 });
    expect(server.header('authorization')).toEqual(['Bearer t1', 'Bearer t2']);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 4, status: 401 });
    expect([server.requests.length, tokens.requests.length]).toEqual([3, 2]);
    // Much later, the token may be the problem after all.
    clock.advance(60_000);
    await failureOf(client.call('getRun', getRun));
    expect([server.requests.length, tokens.requests.length]).toEqual([5, 3]);
  });

  it('and that is issued again is not tried again', async () => {
    const tokens = (await scriptedServer()).always(token('t1', 3600));
    const server = (await scriptedServer()).always(refusal);
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    for (const _ of [1, 2, 3]) expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 4, status: 401 });
    expect([server.requests.length, tokens.requests.length]).toEqual([3, 2]);
  });

  it('is renewed once for all requests that failed with it', async () => {
    const tokens = await scriptedServer(token('t1', 3600), token('t2', 3600));
    const server = await scriptedServer();
    server.always(reply(({ headers }) => (headers.authorization === 'Bearer t2' ? success : refusal)));
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    await Promise.all(Array.from({ length: 5 }, () => client.call('getRun', getRun)));
    expect(tokens.requests).toHaveLength(2);
  });

  it('is an immediate error when it is a static key', async () => {
    const server = await scriptedServer(refusal);
    expect(await failureOf(newClient(server.url).client.call('getRun', getRun))).toMatchObject({ exit: 4 });
    expect(server.requests).toHaveLength(1);
  });

  it('after a lost answer leaves the outcome of the change unknown when it cannot be renewed', async () => {
    const tokens = await scriptedServer(token('t1', 3600), json(500, {}), json(500, {}), json(500, {}), json(500, {}));
    const server = await scriptedServer(noAnswer('reset'), refusal);
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13 });
  });
});
