/** Requests that are refused before their body is read: the answer arrives, and the connection carries nothing after it. */
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { runPromptly } from '../../support/promptly.ts';
import { auth, bodyOf, dial, raw, receiveAll, statusOf } from '../helpers/raw.ts';
import { type Api, startApi } from '../helpers/service.ts';

const agents = (api: Api) => `/v2/teams/${api.service.teamId}/agents`;
const post = (api: Api, headers: string) => `POST ${agents(api)} HTTP/1.1\r\n${headers}Content-Type: application/json\r\n`;
const unauthorizedHead = 'Host: 127.0.0.1\r\nAuthorization: Bearer wrong\r\n';

/** Every answer to what could not be read has the shape and headers of all others. */
function expectRefusal(answer: string, status: number, error: string): void {
  expect(statusOf(answer), answer).toBe(status);
  expect(bodyOf(answer)).toMatchObject({ error, message: expect.any(String) });
  for (const name of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'X-Request-Id', 'Date'])
    expect(answer).toMatch(new RegExp(`\\r\\n${name}: .+\\r\\n`));
  for (const header of [
    'Cache-Control: no-store',
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options: nosniff',
  ])
    expect(answer).toContain(`\r\n${header}\r\n`);
  expect(answer).not.toMatch(/\r\nAccess-Control-/i);
  expect(answer).toMatch(/\r\nContent-Type: application\/json/);
  expect(answer).toMatch(/\r\nConnection: close\r\n/i);
}

describe('a refusal before the body', () => {
  it('closes the connection, so that the body is not mistaken for another request', async () => {
    const api = await startApi();
    const innerRequest = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const answer = await raw(api, `${post(api, unauthorizedHead)}Content-Length: ${innerRequest.length + 1}\r\n\r\n${innerRequest}`);
    expectRefusal(answer, 401, 'invalid_token');
    expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  it('reaches a client that writes its whole body before it reads', async () => {
    const api = await startApi();
    const megabytes = 8;
    const socket = await dial(api);
    socket.pause();
    socket.write(`${post(api, unauthorizedHead)}Content-Length: ${megabytes * 1024 * 1024}\r\n\r\n`);
    for (let sentMegabytes = 0; sentMegabytes < megabytes; sentMegabytes++)
      await new Promise<void>((resolve) => socket.write(Buffer.alloc(1024 * 1024, ' '), () => resolve()));
    expectRefusal(await receiveAll(socket), 401, 'invalid_token');
  });

  it('does not leave a dead connection in the pool of a client', async () => {
    const api = await startApi();
    for (let attempt = 0; attempt < 20; attempt++) {
      const largeAnswer = await request(`${api.service.url}${agents(api)}`, { method: 'POST', body: Buffer.alloc(300_000), headers: {} });
      expect(largeAnswer.statusCode).toBe(401);
      await largeAnswer.body.dump();
      expect((await api.send('GET', '/healthz')).status).toBe(200);
    }
  });

  it('does not wait for ever for a body that never arrives', async () => {
    const api = await startApi({ httpLimits: { lingerMilliseconds: 50 } });
    expectRefusal(await raw(api, `${post(api, unauthorizedHead)}Content-Length: 1000\r\n\r\nx`), 401, 'invalid_token');
    expectRefusal(await raw(api, `${post(api, unauthorizedHead)}Transfer-Encoding: chunked\r\n\r\n5\r\nx`), 401, 'invalid_token');
  });

  it('keeps the connection open if there was no body, or it was read', async () => {
    const api = await startApi();
    const answer = await raw(
      api,
      `GET /v2/nowhere HTTP/1.1\r\n${auth(api)}\r\n` +
        `${post(api, auth(api))}Content-Length: 1\r\n\r\n{` +
        `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    expect([...answer.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual(['404', '400', '200']);
  });
});

describe('Expect: 100-continue', () => {
  const expectHeaders = 'Expect: 100-continue\r\nConnection: close\r\n';

  it('gets 100 if the body is wanted', async () => {
    const api = await startApi();
    const socket = await dial(api);
    const answer = receiveAll(socket);
    const body = '{"name":"A"}';
    socket.once('data', () => socket.write(body));
    socket.write(`${post(api, auth(api))}${expectHeaders}Content-Length: ${body.length}\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 Created\r\n/);
  });

  it('gets the refusal immediately, and no 100, if the body is not wanted', async () => {
    const api = await startApi({ httpLimits: { lingerMilliseconds: 10_000 } });
    const refusalOf = (head: string) => runPromptly(() => raw(api, `${head}\r\n`), 5_000);
    expectRefusal(await refusalOf(`${post(api, unauthorizedHead)}${expectHeaders}Content-Length: 10\r\n`), 401, 'invalid_token');
    const largeText = await refusalOf(`${post(api, auth(api))}${expectHeaders}Content-Length: 2000000\r\n`);
    expectRefusal(largeText, 413, 'body_too_large');
  });

  it('requests the bytes of a signed upload', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const { upload_url } = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a' } });
    const socket = await dial(api);
    const answer = receiveAll(socket);
    socket.once('data', () => socket.write('hello'));
    socket.write(`PUT ${new URL(upload_url).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n${expectHeaders}Content-Length: 5\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 Created\r\n/);
  });

  it('with another value changes nothing', async () => {
    const api = await startApi();
    expect(statusOf(await raw(api, 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: miracles\r\nConnection: close\r\n\r\n'))).toBe(200);
  });
});

describe('input that is not a request', () => {
  it('is rejected with the usual error body and headers', async () => {
    const api = await startApi();
    const head = 'GET /healthz HTTP/1.1\r\n';
    const cases: [string, number, string][] = [
      ['NONSENSE\r\n\r\n', 400, 'invalid_request'],
      [`${head}Host: 127.0.0.1\r\nBad Header: x\r\n\r\n`, 400, 'invalid_request'],
      [`${head}Host: 127.0.0.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
      [`${head}Host: 127.0.0.1\r\n${'X: xxxxxxxx\r\n'.repeat(5_000)}\r\n`, 431, 'headers_too_large'],
      [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`, 431, 'headers_too_large'],
      // Two lengths, or a length and chunks: what one program takes for the body is the next request for another.
      [`${post(api, auth(api))}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400, 'invalid_request'],
      [`${post(api, auth(api))}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'invalid_request'],
      [`${post(api, auth(api))}Content-Length: -1\r\n\r\n`, 400, 'invalid_request'],
    ];
    for (const [text, status, error] of cases) expectRefusal(await raw(api, text), status, error);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });

  it('that contains Host or Authorization twice, or no Host, is rejected', async () => {
    const api = await startApi();
    for (const headers of ['', 'Host: 127.0.0.1\r\nHost: evil.test\r\n', `${auth(api)}Authorization: Bearer other\r\n`]) {
      const answer = await raw(api, `GET /v2/teams/${api.service.teamId} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
      expectRefusal(answer, 400, 'invalid_request');
    }
  });

  it('does not damage a response that has begun on its connection', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const upload = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a' } });
    const bytes = Buffer.alloc(4 * 1024 * 1024, 'a');
    expect((await api.send('PUT', upload.upload_url, { anonymous: true, body: bytes })).status).toBe(201);
    const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id } });
    const { data } = await api.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'a' } });
    const socket = await dial(api);
    socket.pause();
    socket.write(`GET ${new URL(data.download_url as string).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await new Promise<void>((resolve) => socket.once('readable', () => resolve()));
    socket.write('NONSENSE\r\n\r\n');
    const answer = await receiveAll(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    expect(answer).not.toContain('invalid_request');
  });

  it('changes no prototype and is limited in depth, whatever it contains', async () => {
    const api = await startApi();
    const send = (body: string) => api.send('POST', agents(api), { headers: { 'content-type': 'application/json' }, body });
    for (const body of ['['.repeat(500_000), '{"a":'.repeat(100_000), '"\ud800"', '\ufeff{}', 'nul', '{"name":1e999}', '{"name":"a"}x'])
      expect((await send(body)).status, body.slice(0, 20)).toBe(400);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
      const answer = await api.send('POST', agents(api), { headers: type === '' ? {} : { 'content-type': type }, body: '{"name":"a"}' });
      expect(answer.status, type).toBe(400);
    }
  });
});
