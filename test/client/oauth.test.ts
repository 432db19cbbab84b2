import { describe, expect, it } from 'vitest';
import { clientCredential } from '../../src/client/oauth.ts';
import { answer, json, nothing, type RawServer, reply } from '../faults/raw-server.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { failureOf, newClient, scripted } from './harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const fine = json(200, { run: { id: 'r1' } });
const refused = json(401, { error: 'unauthorized' });

const token = (access_token: string, expires_in?: unknown) => json(200, { access_token, token_type: 'Bearer', expires_in });

function credentialOf(server: RawServer, clock = new ManualClock(), client_secret = 's/e c:r&é') {
  return clientCredential({ client_id: 'my id', client_secret, token_url: `${server.url}/oauth/token?tenant=1` }, clock);
}

describe('client credentials', () => {
  it('are sent form-encoded, in the header alone', async () => {
    const server = await scripted(token('t1', 3600));
    expect(await credentialOf(server).authorization()).toBe('Bearer t1');
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/oauth/token?tenant=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(request?.body.toString()).toBe('grant_type=client_credentials');
    expect(Buffer.from(request?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()).toBe(
      'my+id:s%2Fe+c%3Ar%26%C3%A9',
    );
  });

  it('give one token for all who wait, until shortly before it expires', async () => {
    const server = await scripted(token('t1', 3600), token('t2', '3600'));
    const clock = new ManualClock();
    const credential = credentialOf(server, clock);
    expect(new Set(await Promise.all(Array.from({ length: 50 }, () => credential.authorization())))).toEqual(new Set(['Bearer t1']));
    clock.advance(3_239_999);
    expect(await credential.authorization()).toBe('Bearer t1');
    clock.advance(1);
    expect(await credential.authorization()).toBe('Bearer t2');
    expect(server.requests).toHaveLength(2);
  });

  it.each([undefined, 0, -5, 'soon', null, 20])('with a life of %j are asked for each time', async (life) => {
    const server = await scripted(token('t1', life), token('t2', life));
    const credential = credentialOf(server);
    expect([await credential.authorization(), await credential.authorization()]).toEqual(['Bearer t1', 'Bearer t2']);
  });

  it.each([
    ['an error of the standard', json(400, { error: 'invalid_client', error_description: 'SECRET' }), { exit: 4, code: 'invalid_client' }],
    ['401 without a body', answer(401, ''), { exit: 4, code: 'token_refused' }],
    ['an error in strange words', json(400, { error: 'SECRET' }), { exit: 4, code: 'token_refused' }],
    ['HTML', answer(200, '<html>SECRET'), { exit: 4, code: 'token_refused' }],
    ['no token', json(200, { token: 'SECRET' }), { exit: 4 }],
    ['a token that is no header', json(200, { access_token: 'SECRET\r\nX-Evil: 1', expires_in: 60 }), { exit: 4 }],
    ['null', json(200, null), { exit: 4 }],
    ['a redirect', answer(302, '', { location: 'https://elsewhere.example/SECRET' }), { exit: 4 }],
    ['500', json(500, { error: 'SECRET' }), { exit: 8 }],
    ['429', json(429, {}), { exit: 8 }],
    ['a reset', nothing('reset'), { exit: 8 }],
  ])('answered with %s fail, and no secret is told', async (_, step, expected) => {
    const server = (await scripted()).always(step);
    const error = await failureOf(credentialOf(server).authorization());
    expect(error).toMatchObject(expected);
    const told = JSON.stringify([error, error.message, error.hint, String(error.stack)]);
    expect(told).not.toContain('SECRET');
    expect(told).not.toContain('s/e c');
  });

  it('that failed once are asked for again', async () => {
    const server = await scripted(answer(400, ''), token('t1', 3600));
    const credential = credentialOf(server);
    await failureOf(credential.authorization());
    expect(await credential.authorization()).toBe('Bearer t1');
  });

  it('can be given up while they are asked for', async () => {
    const server = await scripted(nothing('stall'));
    const controller = new AbortController();
    const failure = failureOf(credentialOf(server).authorization(controller.signal));
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
  });
});

describe('a token that the service refuses', () => {
  it('is renewed once, and the change keeps its key', async () => {
    const tokens = await scripted(token('t1', 3600), token('t2', 3600));
    const server = await scripted();
    server.always(reply(({ headers }) => (headers.authorization === 'Bearer t2' ? json(201, { run: {} }) : refused)));
    const { client, clock } = newClient(server.url, { credential: credentialOf(tokens) });
    await client.call('startRun', start);
    expect(server.header('authorization')).toEqual(['Bearer t1', 'Bearer t2']);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(clock.waits).toEqual([]);
  });

  it('twice is the end', async () => {
    const tokens = (await scripted()).always(token('t1', 3600));
    const server = (await scripted()).always(refused);
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 4 });
    expect([server.requests.length, tokens.requests.length]).toEqual([2, 2]);
  });

  it('is renewed once for all requests that it failed', async () => {
    const tokens = await scripted(token('t1', 3600), token('t2', 3600));
    const server = await scripted();
    server.always(reply(({ headers }) => (headers.authorization === 'Bearer t2' ? fine : refused)));
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    await Promise.all(Array.from({ length: 5 }, () => client.call('getRun', getRun)));
    expect(tokens.requests).toHaveLength(2);
  });

  it('when it is a static key is the end at once', async () => {
    const server = await scripted(refused);
    expect(await failureOf(newClient(server.url).client.call('getRun', getRun))).toMatchObject({ exit: 4 });
    expect(server.requests).toHaveLength(1);
  });

  it('after a lost answer leaves the change open when no other can be had', async () => {
    const tokens = await scripted(token('t1', 3600), json(500, {}), json(500, {}), json(500, {}), json(500, {}));
    const server = await scripted(nothing('reset'), refused);
    const { client } = newClient(server.url, { credential: credentialOf(tokens) });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13 });
  });
});
