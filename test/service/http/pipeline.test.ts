import type { FileHandle } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { version } from '../../../src/base/version.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { auth, bodyOf, raw, statusOf } from '../helpers/raw.ts';
import { type Answer, type Api, startApi } from '../helpers/service.ts';

const json = { 'content-type': 'application/json' };
const codeOf = (answer: Answer) => [answer.status, (answer.body as { error?: string } | undefined)?.error];
const agentsPath = (api: Api) => `/v2/teams/${api.service.teamId}/agents`;

describe('access', () => {
  it('requires a valid token on every path that is not public', async () => {
    const api = await startApi();
    for (const authorization of [undefined, 'Bearer', 'Bearer wrong', `Basic ${api.service.token}`, api.service.token]) {
      const answer = await api.send('GET', '/v2/anything', {
        anonymous: true,
        headers: authorization === undefined ? {} : { authorization },
      });
      expect(codeOf(answer)).toEqual([401, 'invalid_token']);
      // RFC 6750 section 3.1: without a token of the right form, the challenge has no error code.
      const hasToken = /^Bearer \S/.test(authorization ?? '');
      expect(answer.headers['www-authenticate']).toBe(hasToken ? 'Bearer error="invalid_token"' : 'Bearer');
    }
    expect(
      (await api.send('GET', agentsPath(api), { anonymous: true, headers: { authorization: `bearer ${api.service.token}` } })).status,
    ).toBe(200);
  });

  it('requires a Host of this service, and no foreign Origin', async () => {
    const api = await startApi();
    for (const host of ['evil.test', '10.0.0.1', 'localhost.evil.test']) {
      expect(codeOf(await api.send('GET', '/healthz', { headers: { host } }))).toEqual([403, 'host_not_allowed']);
    }
    for (const host of ['localhost', `LOCALHOST:${api.service.port}`, '[::1]:1'])
      expect((await api.send('GET', '/healthz', { headers: { host } })).status).toBe(200);
    const { port, url } = api.service;
    const foreignOrigins = ['http://localhost:3000', 'http://127.0.0.1', `https://127.0.0.1:${port}`, `http://localhost:${port}`];
    for (const origin of ['https://evil.test', 'null', 'http://127.0.0.1.evil.test', ...foreignOrigins]) {
      expect(codeOf(await api.send('GET', '/healthz', { headers: { origin } })), origin).toEqual([403, 'origin_not_allowed']);
    }
    expect((await api.send('GET', '/healthz', { headers: { origin: url } })).status).toBe(200);
    const headers = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    expect((await api.send('GET', '/healthz', { headers })).status).toBe(200);
  });

  it.each([
    ['a user name', 'x@127.0.0.1'],
    ['a path', '127.0.0.1/../e'],
    ['a fragment', '127.0.0.1#evil.test'],
    ['a query', '127.0.0.1?evil.test'],
    ['a backslash', '127.0.0.1\\evil.test'],
    ['an escape', '127.0.0.%31'],
    ['an invalid port', '127.0.0.1:99999'],
    ['a space', '127.0.0.1 evil.test'],
    ['nothing', ''],
  ])('rejects a Host with %s', async (_, host) => {
    const api = await startApi();
    const answer = await raw(api, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect([statusOf(answer), (bodyOf(answer) as { error: string }).error]).toEqual([400, 'invalid_request']);
  });

  it('uses the host of a request target in absolute form instead of the Host header', async () => {
    const api = await startApi();
    const get = (target: string, host: string) => raw(api, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const metadata = '/.well-known/oauth-authorization-server';
    expect(statusOf(await get(`http://evil.test${metadata}`, '127.0.0.1'))).toBe(403);
    expect(statusOf(await get(`http://x@127.0.0.1${metadata}`, '127.0.0.1'))).toBe(400);
    const answer = await get(`http://LOCALHOST:1${metadata}`, '127.0.0.1');
    expect(bodyOf(answer)).toMatchObject({ issuer: 'http://localhost:1' });
  });

  it('requires no token for its health and the description of the interface', async () => {
    const api = await startApi();
    const health = await api.send('GET', '/healthz', { anonymous: true });
    expect(health.body).toEqual({ status: 'ok', version, instance_id: api.service.instanceId });
    const description = await api.send('GET', '/v2/openapi.json', { anonymous: true });
    expect(description.body).toMatchObject({ openapi: '3.1.0', info: { version: '2026-07-18' } });
    expect(codeOf(await api.send('POST', '/healthz', { anonymous: true }))).toEqual([405, 'method_not_allowed']);
  });
});

describe('the rate limit', () => {
  it('rejects the request that exceeds it, and reports when it ends', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, rateLimit: { limit: 2, windowSeconds: 10 } });
    clock.advance(1_500);
    const [first, second, third] = [
      await api.send('GET', agentsPath(api)),
      await api.send('GET', agentsPath(api)),
      await api.send('GET', agentsPath(api)),
    ];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect([first.headers['ratelimit-remaining'], second.headers['ratelimit-remaining']]).toEqual(['1', '0']);
    expect(codeOf(third)).toEqual([429, 'rate_limited']);
    const retryAfter = Number(third.headers['retry-after']);
    const reset = Number(third.headers['ratelimit-reset']);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(third.headers['ratelimit-remaining']).toBe('0');
    expect(reset - Date.parse(String(third.headers.date)) / 1_000).toBe(retryAfter);
    clock.advance(retryAfter * 1_000);
    expect((await api.send('GET', agentsPath(api))).headers['ratelimit-remaining']).toBe('1');
  });

  it('is reported with every response, and only counts down within a window', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, rateLimit: { limit: 6, windowSeconds: 60 } });
    const answers = [
      await api.send('GET', agentsPath(api)),
      await api.send('GET', '/v2/nowhere'),
      await api.send('PUT', agentsPath(api)),
      await api.send('POST', agentsPath(api), { headers: { ...json, 'idempotency-key': 'a' }, body: '{"name":"A"}' }),
      await api.send('POST', agentsPath(api), { headers: { ...json, 'idempotency-key': 'a' }, body: '{"name":"A"}' }),
      await api.send('POST', agentsPath(api), { headers: json, body: '{' }),
      await api.send('GET', agentsPath(api)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 405, 201, 201, 400, 429]);
    expect(answers.map(({ headers }) => Number(headers['ratelimit-remaining']))).toEqual([5, 4, 3, 2, 1, 0, 0]);
    expect(new Set(answers.map(({ headers }) => headers['ratelimit-reset'])).size).toBe(1);
  });

  it('counts attempts without a valid token against their address only', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, rateLimit: { limit: 2, windowSeconds: 10 } });
    const attempt = () => api.send('GET', agentsPath(api), { anonymous: true });
    expect([(await attempt()).status, (await attempt()).status, (await attempt()).status]).toEqual([401, 401, 429]);
    expect((await api.send('GET', agentsPath(api))).status).toBe(200);
    expect((await api.send('GET', '/healthz', { anonymous: true })).status).toBe(200);
  });

  it('follows the clock, like the Date header', async () => {
    for (const skew of [-3_600_000, 3_600_000]) {
      const clock = new ManualClock(Date.now() + skew);
      const api = await startApi({ clock, rateLimit: { limit: 5, windowSeconds: 30 } });
      const { headers } = await api.send('GET', agentsPath(api));
      const date = Date.parse(String(headers.date)) / 1_000;
      expect(date).toBe(Math.floor(clock.now() / 1_000));
      expect(Number(headers['ratelimit-reset']) - date).toBeGreaterThan(0);
      expect(Number(headers['ratelimit-reset']) - date).toBeLessThanOrEqual(30);
    }
  });
});

describe('bodies', () => {
  it('that are not JSON objects of the expected shape are rejected with every problem', async () => {
    const api = await startApi();
    const post = (body: string, headers: Record<string, string> = json) => api.send('POST', agentsPath(api), { headers, body });
    for (const body of ['', '{', 'null', '[]', '"text"', '{"name":1}', '{"name":"\ud800"', `${'['.repeat(5_000)}${']'.repeat(5_000)}`]) {
      expect(codeOf(await post(body))).toEqual([400, 'invalid_request']);
    }
    expect(codeOf(await post('{"name":"A"}', { 'content-type': 'text/plain' }))).toEqual([400, 'invalid_request']);
    expect(codeOf(await api.send('POST', agentsPath(api), { headers: json, body: Buffer.from([0x22, 0xff, 0x22]) }))).toEqual([
      400,
      'invalid_request',
    ]);
    const refusal = await post(
      '{"thread_id":"x","build":{"name":"","config":{"version":"v1","data":{"models":{},"input":[{"role":"boss","content":"c"}]}}}}',
    );
    const { message, details } = refusal.body as { message: string; details: { path: string; message: string }[] };
    expect(message).toContain('name is required');
    expect(details).toEqual(
      expect.arrayContaining([
        { path: 'name', message: 'is required' },
        { path: 'thread_id', message: 'must be a UUID' },
        { path: 'build.name', message: 'must not be empty' },
        { path: 'build.config.version', message: 'must be v2' },
      ]),
    );
  });

  it('that are nested too deeply or try to change prototypes do no harm', async () => {
    const api = await startApi();
    const post = (body: string) => api.send('POST', agentsPath(api), { headers: json, body });
    const deepBody = `{"name":"A","build":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
    expect(codeOf(await post(deepBody))).toEqual([400, 'invalid_request']);
    expect((await post('{"name":"A","__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}')).status).toBe(201);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    const nul = await post('{"name":"a\\u0000b"}');
    expect((nul.body as { agent: { name: string } }).agent.name).toBe('a\ufffdb');
  });

  it('that are too large are rejected, whether or not their length was announced', async () => {
    const api = await startApi();
    const big = Buffer.alloc(2 * 1024 * 1024, ' ');
    expect(codeOf(await api.send('POST', agentsPath(api), { headers: json, body: big }))).toEqual([413, 'body_too_large']);
    const { sandbox_id } = await api.ok('createSandbox');
    const form = new FormData();
    form.append('path', 'big');
    form.append('file', new File([Buffer.alloc(11 * 1024 * 1024)], 'big'));
    expect((await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form })).status).toBe(413);
    const endlessAnswer = await raw(
      api,
      `POST ${agentsPath(api)} HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n`,
    );
    expect(endlessAnswer).toMatch(/^HTTP\/1.1 413 .*Connection: close/s);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });

  it('that were received on the disk leave no open file, whether they are accepted or not', async () => {
    const files = vi.spyOn(SandboxStore.prototype, 'openAnonymousFile');
    afterTest(async () => files.mockRestore());
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    for (const path of ['big', '../outside']) {
      const form = new FormData();
      form.append('path', path);
      form.append('file', new File([Buffer.alloc(2 * 1024 * 1024)], 'big'));
      expect((await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form })).status).toBe(path === 'big' ? 201 : 400);
    }
    const handles = await Promise.all(files.mock.results.map(({ value }) => value as Promise<FileHandle>));
    expect(handles.map(({ fd }) => fd)).toEqual([-1, -1]);
  });

  it('are ignored by operations that need none', async () => {
    const api = await startApi();
    const { agent } = await api.ok('createAgent', { body: { name: 'A' } });
    expect((await api.send('DELETE', `/v2/agents/${agent.id}`, { headers: json, body: '{' })).status).toBeLessThan(300);
  });

  it('of an unexpected type are rejected where a file is expected', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const path = `/v2/sandboxes/${sandbox_id}/files`;
    expect(codeOf(await api.send('POST', path, { headers: json, body: '{}' }))).toEqual([400, 'invalid_request']);
    expect(codeOf(await api.send('POST', path, { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: 'junk' }))).toEqual([
      400,
      'invalid_request',
    ]);
    const form = new FormData();
    form.append('path', 'a');
    expect(codeOf(await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form }))).toEqual([400, 'invalid_request']);
    form.append('file', 'only text');
    expect(codeOf(await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form }))).toEqual([400, 'invalid_request']);
  });
});

describe('paths and methods', () => {
  it('that do not exist all get the same kind of response', async () => {
    const api = await startApi();
    const runs = `/v2/teams/${api.service.teamId}/runs`;
    for (const path of ['/v2', '/v2/', `${runs}/`, `//v2/teams`, '/v2/runs', '/v2/runs/', '/v3/runs/x', '/V2/runs/x']) {
      expect(codeOf(await api.send('GET', path))).toEqual([404, 'route_not_found']);
    }
    for (const path of ['/v2/runs/..', '/v2/runs/%2e%2e', '/v2/runs/.', '/v2/agents/../runs/x'])
      expect(await rawStatus(api, `GET ${path}`)).toBe(404);
    // An encoded slash is part of an id, and there is no such run.
    expect(codeOf(await api.send('GET', '/v2/runs/a%2Fb'))).toEqual([404, 'run_not_found']);
    expect(codeOf(await api.send('GET', '/v2/runs/%zz'))).toEqual([400, 'invalid_request']);
    expect(await rawStatus(api, `GET http://127.0.0.1${runs}`)).toBe(200);
  });

  it('list the methods that they allow', async () => {
    const api = await startApi();
    const answer = await api.send('DELETE', agentsPath(api));
    expect(codeOf(answer)).toEqual([405, 'method_not_allowed']);
    expect(answer.headers.allow).toBe('GET, HEAD, POST');
    expect((await api.send('OPTIONS', agentsPath(api))).status).toBe(405);
    const head = await api.send('HEAD', agentsPath(api));
    expect([head.status, head.text]).toEqual([200, '']);
    const missingAnswer = await api.send('HEAD', '/v2/nowhere');
    expect([missingAnswer.status, missingAnswer.text]).toEqual([404, '']);
  });

  it('that are not valid HTTP get a response and do no harm', async () => {
    const api = await startApi();
    const garbage = await raw(api, 'NONSENSE\r\n\r\n');
    expect(garbage).toMatch(/^HTTP\/1.1 400 .*RateLimit-Limit: \d+.*"error":"invalid_request"/s);
    const longText = await raw(api, `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(longText).toMatch(/^HTTP\/1.1 431 /);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });
});

it('a failure of the service is a 500 that reveals nothing, and is logged without the token', async () => {
  const lines: string[] = [];
  // A broken runtime: its validate throws something that is no ServiceError.
  const brokenApi = await startApi({
    log: (entry) => lines.push(JSON.stringify(entry)),
    runtimes: [
      {
        name: 'test',
        validate: () => {
          throw new Error('secret detail');
        },
        countSteps: () => 0,
        advance: async () => ({ status: 'completed' }),
      },
    ],
  });
  const answer = await brokenApi.call('createAgent', {
    body: {
      name: 'A',
      build: {
        name: 'b',
        config: { version: 'v2', data: { models: { agent: { model: 'test' }, browsing: { provider: 'google', model: 'm' } }, input: 'x' } },
      },
    },
  });
  expect(codeOf(answer)).toEqual([500, 'internal_error']);
  expect(answer.text).not.toContain('secret detail');
  expect(lines.join('\n')).toContain('secret detail');
  expect(lines.join('\n')).not.toContain(brokenApi.service.token);
});

async function rawStatus(api: Api, line: string): Promise<number> {
  const answer = await raw(api, `${line} HTTP/1.1\r\n${auth(api)}Connection: close\r\n\r\n`);
  return statusOf(answer);
}
