/** What operators need: liveness, readiness, metrics, TLS, proxies, and the log. */
import { X509Certificate } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { checkTls } from '../../../src/service/http/tls.ts';
import type { LogEntry } from '../../../src/service/service.ts';
import { runPromptly } from '../../support/promptly.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { authority, certificate, tlsFile } from '../../support/tls.ts';
import { ManualClock } from '../helpers/clock.ts';
import { auth, dial, raw, receiveAll, statusOf } from '../helpers/raw.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Api, config, startApi } from '../helpers/service.ts';

describe('/healthz and /readyz', () => {
  it('report to anybody that the service is alive and ready', async () => {
    const api = await startApi();
    expect(await api.send('GET', '/healthz', { anonymous: true })).toMatchObject({
      status: 200,
      body: { status: 'ok', instance_id: api.service.instanceId },
    });
    const ready = await api.send('GET', '/readyz', { anonymous: true });
    expect(ready).toMatchObject({ status: 200, body: { status: 'ready', checks: { store: 'ok', files: 'ok', worker: 'ok' } } });
    expect(ready.headers['cache-control']).toBe('no-store');
    expect((await api.send('POST', '/readyz', { anonymous: true })).status).toBe(405);
  });

  it('report that the service is no longer ready before it stops accepting requests', async () => {
    const api = await startApi({ drain: { delay: 500 } });
    const closing = api.service.close();
    expect(await api.send('GET', '/readyz', { anonymous: true })).toMatchObject({ status: 503, body: { status: 'draining' } });
    expect((await api.call('listAgents')).status).toBe(200);
    await closing;
    await expect(api.send('GET', '/healthz', { anonymous: true })).rejects.toThrow();
  });
});

/** The metrics by name and labels. */
function figures(text: string): Map<string, number> {
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^(# (HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.e+-]+)$/);
  return new Map(
    text
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

describe('/metrics', () => {
  it('has metrics of requests, runs, jobs, and the process, and identifies nobody', async () => {
    const usage = { residentBytes: 5e7, heapBytes: 2e7, cpuSeconds: 1.5 };
    const api = await startApi({ usage: () => usage, behaviours: { stuck: () => new Gate().opened as never } });
    const run = await api.run();
    await api.until(run.id, 'completed');
    const stuckRun = await api.run('stuck');
    await api.until(stuckRun.id, 'running');
    await api.call('getAgent', { params: { agent_id: run.id } });
    const answer = await api.send('GET', '/metrics', { anonymous: true });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const readings = figures(answer.text);
    expect(readings.get('aops_http_requests_total{operation="getAgent",status="404"}')).toBe(1);
    expect(readings.get('aops_http_requests_total{operation="startRun",status="201"}')).toBe(2);
    expect(readings.get('aops_http_request_duration_seconds_count{operation="startRun"}')).toBe(2);
    expect(readings.get('aops_http_request_duration_seconds_bucket{operation="startRun",le="+Inf"}')).toBe(2);
    expect(readings.get('aops_runs{status="completed"}')).toBe(1);
    expect(readings.get('aops_runs{status="running"}')).toBe(1);
    expect(readings.get('aops_jobs_running{kind="run"}')).toBe(1);
    expect(readings.get('aops_jobs_due{kind="run"}')).toBe(0);
    expect(readings.get('process_resident_memory_bytes')).toBe(5e7);
    expect(readings.get('process_cpu_seconds_total')).toBe(1.5);
    expect(readings.get('nodejs_eventloop_lag_max_seconds')).toBeGreaterThanOrEqual(0);
    for (const secret of [api.service.teamId, run.id, stuckRun.id, run.agent_id as string]) expect(answer.text).not.toContain(secret);
    expect(answer.text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  it('reports how late jobs are', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, runConcurrency: 1, behaviours: { stuck: () => new Gate().opened as never } });
    await api.until((await api.run('stuck')).id, 'running');
    await api.ok('startRun', { body: { agent_id: await api.agent('done') } });
    clock.advance(4_000);
    const readings = figures((await api.send('GET', '/metrics', { anonymous: true })).text);
    expect([readings.get('aops_jobs_due{kind="run"}'), readings.get('aops_jobs_late_seconds{kind="run"}')]).toEqual([1, 4]);
  });

  it('can be read on this machine, but not through a proxy', async () => {
    const api = await startApi({ publicUrl: 'https://agents.example.com' });
    expect((await api.send('GET', '/metrics', { anonymous: true })).status).toBe(200);
    expect((await api.send('GET', '/metrics', { anonymous: true, headers: { Host: 'agents.example.com' } })).status).toBe(403);
    for (const name of ['X-Forwarded-For', 'Forwarded', 'Via', 'X-Real-IP']) {
      const answer = await api.send('GET', '/metrics', { headers: { [name]: '127.0.0.1' } });
      expect([answer.status, (answer.body as { error: string }).error]).toEqual([403, 'metrics_forbidden']);
    }
  });

  it('requires the token if there is one', async () => {
    const token = 'figures-0123456789';
    const api = await startApi({ metricsToken: token, rateLimit: { limit: 3, windowSeconds: 60 }, clock: new ManualClock() });
    const as = async (authorization?: string) =>
      (await api.send('GET', '/metrics', { anonymous: true, headers: authorization === undefined ? {} : { authorization } })).status;
    expect([await as(`Bearer ${token}`), await as(), await as(`Bearer ${api.service.token}`), await as('Bearer x')]).toEqual([
      200, 401, 401, 401,
    ]);
    // Wrong guesses are counted, which does not affect clients with the token.
    expect([await as('Bearer y'), await as(`Bearer ${token}`)]).toEqual([429, 200]);
  });
});

describe('the log', () => {
  it('has a line for each request, with its caller and outcome', async () => {
    const entries: LogEntry[] = [];
    const api = await startApi({ log: (entry) => entries.push(entry), logLevel: 'info' });
    const lines = () =>
      entries.filter(({ message }) => message === 'request').map(({ level, fields }): Record<string, unknown> => ({ level, ...fields }));
    const listAnswer = await api.call('listAgents');
    const { credential } = await api.ok('getLocalCredential');
    await api.send('GET', '/v2/nothing');
    await api.send('GET', '/v2/agents', { anonymous: true });
    await api.send('GET', '/readyz', { anonymous: true });
    await raw(api, 'nonsense\r\n\r\n');
    expect(lines()).toMatchObject([
      {
        level: 'info',
        method: 'GET',
        operation: 'listAgents',
        status: 200,
        credential: credential.id,
        request: listAnswer.headers['x-request-id'],
      },
      { operation: 'getLocalCredential', status: 200 },
      { operation: null, status: 404, credential: credential.id },
      { operation: null, status: 401, credential: null },
      { operation: null, status: 400, method: null },
    ]);
    for (const { ms } of lines()) expect(ms).toBeGreaterThanOrEqual(0);
  });

  it('only has entries of the configured level or above', async () => {
    const entries: LogEntry[] = [];
    const api = await startApi({ log: (entry) => entries.push(entry), logLevel: 'warn' });
    await api.call('listAgents');
    expect(entries).toEqual([]);
  });
});

/** A request over TLS to 127.0.0.1 that verifies the certificate. */
const secure = (port: number, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    const clientRequest = httpsRequest({ port, host: '127.0.0.1', path, headers, ca: authority, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    clientRequest.on('error', reject);
    clientRequest.end();
  });

/** The name in the certificate of the service. */
const fingerprintOn = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().fingerprint256));
      socket.destroy();
    });
    socket.on('error', reject);
  });

describe('the check of a certificate', () => {
  it('refuses it from the moment on at which it expires', () => {
    const pair = certificate('server');
    const end = Date.parse(new X509Certificate(pair.cert).validTo);
    expect(() => checkTls(pair, end - 1)).not.toThrow();
    expect(() => checkTls(pair, end)).toThrow(/certificate expired on/);
  });
});

describe('TLS', () => {
  it('uses the certificate, and a new one for connections after it was changed', async () => {
    const { service, ...api } = await startApi({ tls: certificate('server') });
    expect(service.url).toBe(`https://127.0.0.1:${service.port}`);
    const headers = { authorization: `Bearer ${service.token}` };
    expect((await secure(service.port, '/v2/local/credential', headers)).status).toBe(200);
    const metadata = JSON.parse((await secure(service.port, '/.well-known/oauth-authorization-server')).body);
    expect(metadata.token_endpoint).toBe(`${service.url}/oauth/token`);
    // A plain HTTP request ends the connection.
    expect(await raw({ service, ...api } as Api, 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')).toBe('');
    const first = await fingerprintOn(service.port);
    service.setTls(certificate('wrong-name'));
    const second = await fingerprintOn(service.port);
    expect(second).not.toBe(first);
    expect(() => service.setTls(certificate('expired'))).toThrow(/certificate expired on/);
    expect(() => service.setTls({ ...certificate('server'), key: certificate('client').key })).toThrow(
      /does not belong to the TLS certificate/,
    );
    expect(() => service.setTls({ cert: 'none', key: 'none' })).toThrow(/--tls-cert does not contain a PEM certificate/);
    expect(() => service.setTls({ ...certificate('server'), key: 'none' })).toThrow(/--tls-key does not contain a PEM private key/);
    expect(await fingerprintOn(service.port)).toBe(second);
    service.setTls(certificate('server'));
    expect((await secure(service.port, '/healthz')).status).toBe(200);
  });

  it('is required to listen beyond this machine, unless plain HTTP is explicitly allowed', async () => {
    const dataDirectory = await temporaryDirectory();
    for (const host of ['0.0.0.0', '::', 'example.com', '127.example.com'])
      await expect(startApi({ dataDirectory, host })).rejects.toMatchObject({ code: 'tls_required', exit: 2 });
    const tls = { cert: tlsFile('server'), key: '' };
    await expect(startApi({ dataDirectory, host: '0.0.0.0', tls })).rejects.toMatchObject({ code: 'tls_invalid', exit: 2 });
    const open = await startApi({ dataDirectory, host: '0.0.0.0', insecureHttp: true });
    expect((await fetch(`http://127.0.0.1:${open.service.port}/healthz`)).status).toBe(200);
  });
});

describe('behind a proxy', () => {
  const publicUrl = 'https://agents.example.com';

  it('gives URLs that lead through the proxy', async () => {
    const api = await startApi({ publicUrl });
    const metadata = await api.send('GET', '/.well-known/oauth-authorization-server', { anonymous: true });
    expect(metadata.body).toMatchObject({ issuer: publicUrl, token_endpoint: `${publicUrl}/oauth/token` });
    expect((await api.ok('createLocalClient', { body: { name: 'ci' } })).token_url).toBe(`${publicUrl}/oauth/token`);
    const { sandbox_id } = await api.ok('createSandbox');
    const { upload_url: url } = await api.ok('createSandboxUploadUrl', {
      params: { sandbox_id },
      body: { path: '/workspace/a.txt' },
    } as never);
    expect(url).toMatch(/^https:\/\/agents\.example\.com\/uploads\//);
  });

  it('answers to its own names, to that of the proxy, and to allowed ones', async () => {
    const api = await startApi({ publicUrl, allowedHosts: ['agents.internal'] });
    const status = async (host: string, origin?: string) =>
      statusOf(
        await raw(
          api,
          `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${origin === undefined ? '' : `Origin: ${origin}\r\n`}Connection: close\r\n\r\n`,
        ),
      );
    expect(await status('agents.example.com')).toBe(200);
    expect(await status('AGENTS.internal:4010')).toBe(200);
    expect(await status(`127.0.0.1:${api.service.port}`)).toBe(200);
    expect(await status('evil.example.com')).toBe(403);
    expect(await status('agents.example.com', publicUrl)).toBe(200);
    // A proxy might pass on the name by which it reaches the service.
    expect(await status(`127.0.0.1:${api.service.port}`, publicUrl)).toBe(200);
    for (const origin of ['https://evil.example.com', 'http://agents.example.com', `${publicUrl}:8443`, 'https://agents.internal'])
      expect(await status('agents.example.com', origin), origin).toBe(403);
  });

  it('takes the address of a client from a trusted proxy, for rate limits and the log', async () => {
    const lines: LogEntry[] = [];
    const rateLimit = { limit: 1, windowSeconds: 60 };
    const trustingApi = await startApi({
      clock: new ManualClock(),
      rateLimit,
      trustedProxies: ['127.0.0.0/8'],
      log: (entry) => lines.push(entry),
    });
    const otherApi = await startApi({ clock: new ManualClock(), rateLimit });
    const requestFrom = async (api: Api, headers: Record<string, string>) =>
      (await api.send('GET', '/v2/anything', { anonymous: true, headers })).status;
    expect(await requestFrom(trustingApi, { 'x-forwarded-for': '192.0.2.1' })).toBe(401);
    expect(await requestFrom(trustingApi, { 'x-forwarded-for': '192.0.2.1' })).toBe(429);
    expect(await requestFrom(trustingApi, { 'x-forwarded-for': '192.0.2.1, 192.0.2.2' })).toBe(401);
    expect(lines.filter(({ message }) => message === 'request').map(({ fields }) => fields.address)).toEqual([
      '192.0.2.1',
      '192.0.2.1',
      '192.0.2.2',
    ]);
    expect([
      await requestFrom(otherApi, { 'x-forwarded-for': '192.0.2.1' }),
      await requestFrom(otherApi, { 'x-forwarded-for': '192.0.2.2' }),
    ]).toEqual([401, 429]);
  });

  it('answers to any name if it listens on every interface, unless allowed names are configured', async () => {
    const any = await startApi({ host: '0.0.0.0', insecureHttp: true });
    const restrictedApi = await startApi({ host: '0.0.0.0', insecureHttp: true, allowedHosts: ['agents.internal'] });
    const status = async (api: Api, host: string) =>
      statusOf(await raw(api, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
    expect([
      await status(any, 'whatever'),
      await status(restrictedApi, 'whatever'),
      await status(restrictedApi, 'agents.internal'),
    ]).toEqual([200, 403, 200]);
  });

  it('on every interface refuses requests from pages of other sites, by whatever name it is reached', async () => {
    const api = await startApi({ host: '0.0.0.0', insecureHttp: true });
    const requestFrom = async (origin: string) =>
      statusOf(await raw(api, `GET /healthz HTTP/1.1\r\nHost: agents.internal\r\nOrigin: ${origin}\r\nConnection: close\r\n\r\n`));
    expect(await requestFrom('http://agents.internal')).toBe(200);
    expect([
      await requestFrom('http://elsewhere.example'),
      await requestFrom('null'),
      await requestFrom('https://agents.internal'),
    ]).toEqual([403, 403, 403]);
  });
});

describe('shutting down', () => {
  it('ends in time, releases runs, and leaves them to the next start', async () => {
    const gate = new Gate();
    const behaviours = { slow: async () => gate.opened.then(() => ({ status: 'completed' as const })) };
    const api = await startApi({ behaviours, drain: { time: 200 } });
    const run = await api.run('slow');
    await api.until(run.id, 'running');
    const stuckSocket = await dial(api);
    const end = receiveAll(stuckSocket);
    stuckSocket.write(`POST /v2/sandboxes HTTP/1.1\r\n${auth(api)}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n`);
    await new Promise<void>((resolve) => stuckSocket.once('data', () => resolve()));
    await runPromptly(() => api.service.close(), 3_000);
    await end;
    gate.open();
    const restartedApi = await startApi({ behaviours, dataDirectory: api.dataDirectory });
    expect((await restartedApi.until(run.id, 'completed')).status).toBe('completed');
  });
});

describe('secrets', () => {
  it('never appear in the log, wherever in a request they are', async () => {
    const log: string[] = [];
    const api = await startApi({
      log: (entry) => void log.push(JSON.stringify(entry)),
      metricsToken: 'metrics-token-0123456789',
      connections: { allow: ['127.0.0.1'] },
      behaviours: {
        fail: async () => {
          throw new Error('The runtime failed.');
        },
      },
    });
    const secrets = new Set<string>(['metrics-token-0123456789', api.service.token]);
    const secret = (text: string): string => {
      secrets.add(text);
      return text;
    };
    // Secrets that the service creates.
    const token = await api.ok('createLocalToken', { body: { name: 'one' } });
    secret(token.secret);
    const client = await api.ok('createLocalClient', { body: { name: 'two' } });
    secret(client.secret);
    const form = `grant_type=client_credentials&client_id=${client.client.id}&client_secret=${client.secret}`;
    const grant = await api.send('POST', '/oauth/token', {
      anonymous: true,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    });
    secret((grant.body as { access_token: string }).access_token);
    secret((await api.ok('getTeamWebhookSecret')).secret);
    secret((await api.ok('rotateTeamWebhookSecret')).secret);
    const { code } = await api.ok('createPageCode');
    secret(code);
    const session = await api.send('POST', '/page/session', {
      anonymous: true,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    secret((session.body as { token: string }).token);
    const { sandbox_id } = await api.ok('createSandbox');
    const { upload_url: upload } = await api.ok('createSandboxUploadUrl', {
      params: { sandbox_id },
      body: { path: '/workspace/a.txt' },
    } as never);
    secret(new URL(upload).pathname.split('/')[2] as string);
    expect((await api.send('PUT', upload, { anonymous: true, body: 'bytes' })).status).toBe(201);
    // Secrets that clients send: as headers of a connection, and in places where they do not belong.
    await api.call('createConnection', {
      body: {
        name: 'c',
        type: 'mcp',
        url: 'http://127.0.0.1:9/mcp',
        headers: { Authorization: `Bearer ${secret('given-header-secret')}` },
      },
    });
    await api.call('startRun', { body: { agent_id: await api.agent('fail'), message: secret('said-in-a-message') } });
    const misplacedToken = secret('aops_token_in-the-wrong-place');
    await api.send('GET', `/v2/runs/${misplacedToken}?token=${misplacedToken}`);
    await api.send('GET', `/files/${misplacedToken}`, { anonymous: true });
    await api.send('GET', '/metrics', { anonymous: true, headers: { authorization: `Bearer ${misplacedToken}` } });
    await api.send('GET', '/v2/agents', { anonymous: true, headers: { authorization: `Bearer ${misplacedToken}` } });
    await api.send('POST', '/v2/sandboxes', {
      headers: { 'content-type': 'application/json', 'idempotency-key': misplacedToken },
      body: `{"a": ${misplacedToken}`,
    });
    await api.send('POST', `/v2/teams/${api.service.teamId}/agents`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 5, [misplacedToken]: misplacedToken, build: { name: misplacedToken, config: config(misplacedToken) } }),
    });
    await api.send('POST', '/oauth/token', {
      anonymous: true,
      headers: {
        authorization: `Basic ${Buffer.from(`${misplacedToken}:${misplacedToken}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    });
    await raw(api, `GET /${misplacedToken} HTTP/9.9\r\nAuthorization: Bearer ${misplacedToken}\r\n\r\n`);
    await raw(api, `GET / HTTP/1.1\r\nHost: ${misplacedToken}\r\nConnection: close\r\n\r\n`);
    await api.service.close();
    const text = log.join('\n');
    expect(log.length).toBeGreaterThan(20);
    expect(secrets.size).toBeGreaterThanOrEqual(12);
    for (const secretText of secrets) {
      expect(text, secretText).not.toContain(secretText);
      expect(text, secretText).not.toContain(Buffer.from(secretText).toString('base64'));
    }
  });
});
