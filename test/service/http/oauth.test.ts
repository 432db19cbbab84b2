/** The token endpoint, according to RFC 6749 and RFC 8414. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { scopes as allScopes, type Scope } from '../../../src/interface/scopes.ts';
import type { LogEntry } from '../../../src/service/log.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import { serviceCommits } from '../helpers/disk.ts';
import { type Answer, type Api, startApi, type TestOptions } from '../helpers/service.ts';

interface TestClient {
  id: string;
  secret: string;
}

async function withClient(scopes?: Scope[], options: TestOptions = {}, overrides: object = {}): Promise<{ api: Api; client: TestClient }> {
  const api = await startApi(options);
  const { client, secret } = await api.ok('createLocalClient', {
    body: { name: 'c', ...(scopes === undefined ? {} : { scopes }), ...overrides },
  });
  return { api, client: { id: client.id, secret } };
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` });
const grant = 'grant_type=client_credentials';

const ask = (api: Api, body: string, headers: Record<string, string> = {}) =>
  api.send('POST', '/oauth/token', { anonymous: true, headers: { ...formType, ...headers }, body });

/** Checks that a response is a success according to RFC 6749 section 5.1. */
async function token(api: Api, client: TestClient, form = grant): Promise<{ access_token: string; expires_in: number; scope?: string }> {
  const answer = await ask(api, form, basic(client.id, client.secret));
  expect(answer.status, answer.text).toBe(200);
  expectUncached(answer);
  expect(answer.body).toMatchObject({ token_type: 'Bearer', access_token: expect.stringMatching(/^aops_access_[\w-]{43}$/) });
  return answer.body as { access_token: string; expires_in: number };
}

function expectUncached({ headers }: Answer): void {
  expect([headers['cache-control'], headers.pragma]).toEqual(['no-store', 'no-cache']);
  expect(headers['content-type']).toMatch(/^application\/json/);
}

/** Checks that a response is a refusal according to section 5.2, and contains nothing else. */
function expectRefusal(answer: Answer, status: number, error: string, description?: string): void {
  expect([answer.status, (answer.body as { error: string }).error], description ?? answer.text).toEqual([status, error]);
  expect(Object.keys(answer.body as object)).toEqual(['error', 'error_description']);
  expectUncached(answer);
  expect(answer.headers['www-authenticate'] ?? null).toBe(status === 401 ? 'Basic realm="aops", charset="UTF-8"' : null);
}

describe('a token', () => {
  it('is issued to a client that authenticates with Basic or in the form', async () => {
    const { api, client } = await withClient(['runs:read']);
    const byHeader = await token(api, client);
    expect(byHeader).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3_600, scope: 'runs:read' });
    const byForm = await ask(api, `${grant}&client_id=${client.id}&client_secret=${client.secret}`);
    expect([byForm.status, Object.keys(byForm.body as object)]).toEqual([200, Object.keys(byHeader)]);
    const withBoth = await ask(api, `${grant}&client_id=${client.id}`, basic(client.id, client.secret));
    expect(withBoth.status).toBe(200);
    await api.as(byHeader.access_token).ok('listRuns');
  });

  it('is issued if every character of the ID, the secret, and the form is escaped', async () => {
    const { api, client } = await withClient(['runs:read', 'files:read']);
    const escapeAll = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const answer = await ask(
      api,
      `${escapeAll('grant_type')}=${escapeAll('client_credentials')}&scope=runs%3Aread+files%3aread`,
      basic(escapeAll(client.id), escapeAll(client.secret)),
    );
    expect([answer.status, (answer.body as { scope: string }).scope]).toEqual([200, 'runs:read files:read']);
  });

  it('is issued despite unknown parameters, and those without a value', async () => {
    const { api, client } = await withClient(['runs:read']);
    expect((await token(api, client, `${grant}&scope=&audience=x&__proto__=y&`)).scope).toBe('runs:read');
  });

  it('has the requested scopes, or all scopes of the client', async () => {
    const { api, client } = await withClient(['runs:read', 'runs:write']);
    expect((await token(api, client)).scope).toBe('runs:read runs:write');
    const narrow = await token(api, client, `${grant}&scope=runs:read`);
    expect(narrow.scope).toBe('runs:read');
    const refusal = await api.as(narrow.access_token).call('startRun', { body: { agent_id: randomUUID() } });
    expect([refusal.status, refusal.body]).toMatchObject([403, { error: 'insufficient_scope', scope: 'runs:write' }]);
  });

  it('of a client with full access has that if no scope is requested, and otherwise only the requested scopes', async () => {
    const { api, client } = await withClient();
    const fullToken = await token(api, client);
    expect(fullToken.scope).toBeUndefined();
    await api.as(fullToken.access_token).ok('createAgent', { body: { name: 'A' } });
    const narrow = await token(api, client, `${grant}&scope=${allScopes.join('+')}`);
    expect(narrow.scope).toBe(allScopes.join(' '));
    expect((await api.as(narrow.access_token).call('createAgent', { body: { name: 'B' } })).status).toBe(403);
  });

  it('expires after an hour, or with its client', async () => {
    const clock = new ManualClock();
    const { api, client } = await withClient(undefined, { clock }, { expires_in_seconds: 5_400 });
    const first = api.as((await token(api, client)).access_token);
    clock.advance(3_599_999);
    await first.ok('getTeam');
    const last = await token(api, client);
    expect(last.expires_in).toBe(1_800);
    clock.advance(1);
    const lateAnswer = await first.call('getTeam');
    expect([lateAnswer.status, lateAnswer.body, lateAnswer.headers['www-authenticate']]).toMatchObject([
      401,
      { error: 'invalid_token' },
      'Bearer error="invalid_token"',
    ]);
    clock.advance(1_800_000);
    expect((await api.as(last.access_token).call('getTeam')).status).toBe(401);
    expectRefusal(await ask(api, grant, basic(client.id, client.secret)), 401, 'invalid_client');
  });

  it('that replaces another one shares its idempotency keys and its rate limit', async () => {
    const clock = new ManualClock();
    const { api, client } = await withClient(undefined, { clock });
    const create = async (access: string) =>
      api.as(access).call('createAgent', { body: { name: 'Once' }, headers: { 'idempotency-key': 'k' } });
    const first = await create((await token(api, client)).access_token);
    clock.advance(3_600_000);
    const freshToken = (await token(api, client)).access_token;
    const before = Number((await api.as(freshToken).call('getTeam')).headers['ratelimit-remaining']);
    const secondAnswer = await create(freshToken);
    expect([secondAnswer.status, secondAnswer.text, secondAnswer.headers['idempotency-replayed']]).toEqual([201, first.text, 'true']);
    const otherToken = (await token(api, client)).access_token;
    // One each for the replay, the token, and this request.
    expect(Number((await api.as(otherToken).call('getTeam')).headers['ratelimit-remaining'])).toBe(before - 3);
  });
});

describe('a request is refused', () => {
  it('as invalid_client without a client, with an unknown one, or with a wrong secret', async () => {
    const { api, client } = await withClient();
    const { secret: otherSecret } = await api.ok('createLocalClient', { body: { name: 'other' } });
    const tokenId = (await (await api.withToken()).ok('getLocalCredential')).credential.id;
    const cases: [string, string, Record<string, string>?][] = [
      ['nothing', grant],
      ['id alone', `${grant}&client_id=${client.id}`],
      ['secret alone', `${grant}&client_secret=${client.secret}`],
      ['wrong secret in the form', `${grant}&client_id=${client.id}&client_secret=wrong`],
      ['wrong secret', grant, basic(client.id, 'wrong')],
      ["another's secret", grant, basic(client.id, otherSecret)],
      ['unknown client', grant, basic(randomUUID(), client.secret)],
      // Its hash is compared if there is no such client.
      ['unknown client with any other secret', grant, basic(randomUUID(), 'nobody')],
      ['no client but a token', grant, basic(tokenId, api.service.token)],
      ['empty', grant, basic('', '')],
      ['no colon', grant, { authorization: `Basic ${Buffer.from('x').toString('base64')}` }],
      ['no base64', grant, { authorization: 'Basic ***' }],
      ['another scheme', grant, { authorization: `Bearer ${api.service.token}` }],
    ];
    for (const [label, body, headers] of cases) expectRefusal(await ask(api, body, headers), 401, 'invalid_client', label);
    await api.ok('revokeLocalClient', { params: { client_id: client.id } });
    expectRefusal(await ask(api, grant, basic(client.id, client.secret)), 401, 'invalid_client');
  });

  it('as invalid_request if it is not a form, or contains something twice or in two places', async () => {
    const { api, client } = await withClient();
    const ownHeaders = basic(client.id, client.secret);
    const cases: [string, string, Record<string, string>?][] = [
      ['JSON', '{"grant_type":"client_credentials"}', { ...ownHeaders, 'content-type': 'application/json' }],
      ['no grant type', 'scope=runs:read', ownHeaders],
      ['empty grant type', 'grant_type=', ownHeaders],
      ['grant type twice', `${grant}&${grant}`, ownHeaders],
      ['scope twice', `${grant}&scope=runs:read&scope=runs:write`, ownHeaders],
      ['a name twice, once escaped', `${grant}&scope=&sc%6fpe=runs:read`, ownHeaders],
      ['a secret in both places', `${grant}&client_id=${client.id}&client_secret=${client.secret}`, ownHeaders],
      ['another client in the form', `${grant}&client_id=other`, ownHeaders],
      ['a broken escape', `${grant}&scope=%zz`, ownHeaders],
      ['no UTF-8', `${grant}&scope=%ff`, ownHeaders],
      ['no UTF-8 in the header', grant, { authorization: `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}` }],
      ['a broken escape in the header', grant, basic('%zz', 'x')],
    ];
    for (const [label, body, headers] of cases) expectRefusal(await ask(api, body, headers), 400, 'invalid_request', label);
    const inUrl = await api.send('POST', `/oauth/token?client_id=${client.id}&client_secret=${client.secret}`, {
      anonymous: true,
      headers: formType,
      body: grant,
    });
    expectRefusal(inUrl, 400, 'invalid_request');
    expect(inUrl.text).not.toContain(client.secret);
  });

  it('as unsupported_grant_type or invalid_scope for anything unknown', async () => {
    const { api, client } = await withClient(['runs:read']);
    const ownHeaders = basic(client.id, client.secret);
    for (const type of ['password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS'])
      expectRefusal(await ask(api, `grant_type=${type}`, ownHeaders), 400, 'unsupported_grant_type', type);
    for (const scope of ['admin', 'runs:write', 'runs:read+runs:write', 'runs:read++runs:read', '+', 'runs%3Aread%0a', '%22'])
      expectRefusal(await ask(api, `${grant}&scope=${scope}`, ownHeaders), 400, 'invalid_scope', scope);
  });

  it('with other methods, and if it is too large', async () => {
    const { api, client } = await withClient();
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await api.send(method, '/oauth/token', { anonymous: true });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
    }
    const largeAnswer = await ask(api, `${grant}&x=${'x'.repeat(20_000)}`, basic(client.id, client.secret));
    expect([largeAnswer.status, largeAnswer.headers['cache-control']]).toEqual([413, 'no-store']);
  });

  it('with 429 after ten wrong secrets for a client in a minute, while the right one is accepted', async () => {
    const clock = new ManualClock();
    const { api, client } = await withClient(undefined, { clock });
    for (let attempt = 0; attempt < 10; attempt++)
      expectRefusal(await ask(api, grant, basic(client.id, `wrong${attempt}`)), 401, 'invalid_client');
    const limitedAnswer = await ask(api, grant, basic(client.id, 'wrong again'));
    expect([limitedAnswer.status, limitedAnswer.body]).toMatchObject([429, { error: 'rate_limited' }]);
    expect([limitedAnswer.headers['ratelimit-limit'], limitedAnswer.headers['ratelimit-remaining']]).toEqual(['10', '0']);
    expect(Number(limitedAnswer.headers['retry-after'])).toBeGreaterThan(0);
    expectUncached(limitedAnswer);
    await token(api, client);
    clock.advance(Number(limitedAnswer.headers['retry-after']) * 1_000);
    expectRefusal(await ask(api, grant, basic(client.id, 'wrong')), 401, 'invalid_client');
  });

  it('with 429 above the rate limit, which is that of the address for refusals and of the client for tokens', async () => {
    const clock = new ManualClock();
    const { api, client } = await withClient(undefined, { clock, rateLimit: { limit: 2, windowSeconds: 60 } });
    const statuses = async (headers: Record<string, string>) =>
      [await ask(api, grant, headers), await ask(api, grant, headers), await ask(api, grant, headers)].map(({ status }) => status);
    expect(await statuses({})).toEqual([401, 401, 429]);
    expect(await statuses(basic(client.id, client.secret))).toEqual([200, 200, 429]);
    // The limit that a response reports is the one that applies to it.
    clock.advance(60_000);
    const remaining = async (headers: Record<string, string>) => (await ask(api, grant, headers)).headers['ratelimit-remaining'];
    const ownHeaders = basic(client.id, client.secret);
    expect([await remaining({}), await remaining(ownHeaders), await remaining(ownHeaders)]).toEqual(['1', '1', '0']);
  });

  it('with 429 above the rate limit of the address, also if its bodies are not read', async () => {
    const { api } = await withClient(undefined, { clock: new ManualClock(), rateLimit: { limit: 2, windowSeconds: 60 } });
    const postLarge = async () => (await ask(api, 'x'.repeat(20_000))).status;
    expect([await postLarge(), await postLarge(), await postLarge()]).toEqual([413, 413, 429]);
  });

  itNeeding(needsSqlite, 'with an error of the service if the token cannot be stored, which is logged', async () => {
    const commits = serviceCommits();
    const log: LogEntry[] = [];
    const { api, client } = await withClient(undefined, { log: (entry) => log.push(entry) });
    commits.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    const answer = await ask(api, grant, basic(client.id, client.secret));
    expect([answer.status, answer.body]).toMatchObject([503, { error: 'disk_full' }]);
    expect(log).toContainEqual(expect.objectContaining({ level: 'error', message: 'a request failed' }));
  });

  it('with 429 after wrong secrets, counted for each client that a trusted proxy reports', async () => {
    const { api, client } = await withClient(undefined, { clock: new ManualClock(), trustedProxies: ['127.0.0.1'] });
    const askFrom = async (address: string) => (await ask(api, grant, { ...basic(client.id, 'wrong'), 'x-forwarded-for': address })).status;
    for (let attempt = 0; attempt < 10; attempt++) expect(await askFrom('192.0.2.1')).toBe(401);
    expect([await askFrom('192.0.2.1'), await askFrom('192.0.2.2')]).toEqual([429, 401]);
  });
});

it('publishes where and how to get tokens (RFC 8414)', async () => {
  const api = await startApi();
  const metadata = await api.send('GET', '/.well-known/oauth-authorization-server', { anonymous: true });
  expect(metadata.body).toEqual({
    issuer: api.service.url,
    token_endpoint: `${api.service.url}/oauth/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    scopes_supported: allScopes,
  });
  expect((await api.send('POST', '/.well-known/oauth-authorization-server', { anonymous: true })).status).toBe(405);
});

describe('the metadata of protected resources (RFC 9728)', () => {
  it('contains the token endpoint for the MCP endpoint, and for the service as a whole', async () => {
    const api = await startApi();
    const { url } = api.service;
    for (const resource of ['', '/v2/mcp']) {
      const metadata = await api.send('GET', `/.well-known/oauth-protected-resource${resource}`, { anonymous: true });
      expect([metadata.status, metadata.body]).toEqual([
        200,
        { resource: url + resource, authorization_servers: [url], bearer_methods_supported: ['header'], scopes_supported: allScopes },
      ]);
    }
    const { authorization_servers: servers } = (await api.send('GET', '/.well-known/oauth-protected-resource/v2/mcp', { anonymous: true }))
      .body as { authorization_servers: string[] };
    expect((await api.send('GET', `${servers[0]}/.well-known/oauth-authorization-server`, { anonymous: true })).body).toMatchObject({
      issuer: servers[0],
    });
  });

  it('is referred to by refusals of the MCP endpoint only', async () => {
    const api = await startApi();
    const limitedApi = await api.withToken({ scopes: ['runs:read'] });
    const metadataParameter = `resource_metadata="${api.service.url}/.well-known/oauth-protected-resource/v2/mcp"`;
    const message = { headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
    const challenge = async (caller: Api, path: string, anonymous = false) => {
      const { status, headers } = await caller.send('POST', path, { ...message, anonymous });
      return [status, headers['www-authenticate']];
    };
    expect(await challenge(api, '/v2/mcp', true)).toEqual([401, `Bearer ${metadataParameter}`]);
    expect(await challenge(api.as('wrong'), '/v2/mcp')).toEqual([401, `Bearer error="invalid_token", ${metadataParameter}`]);
    expect(await challenge(limitedApi, '/v2/mcp')).toEqual([
      403,
      `Bearer error="insufficient_scope", scope="mcp:call", ${metadataParameter}`,
    ]);
    expect(await challenge(api, '/v2/sandboxes', true)).toEqual([401, 'Bearer']);
  });

  it('leaves other well-known documents not found, rather than forbidden', async () => {
    const api = await startApi();
    for (const name of ['openid-configuration', 'oauth-protected-resource/v2/runs', 'oauth-authorization-server/v2/mcp', 'x'])
      expect((await api.send('GET', `/.well-known/${name}`, { anonymous: true })).status, name).toBe(404);
    expect((await api.send('POST', '/.well-known/oauth-protected-resource', { anonymous: true })).status).toBe(405);
  });
});
