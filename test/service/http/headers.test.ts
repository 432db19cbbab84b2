/**
 * The headers that protect what a response contains, on every route. What all responses have in common is checked by `Api.send` for
 * every response of every test; this file checks the routes and what each of them adds.
 */
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { type OperationId, operation, operationIds } from '../../../src/interface/operations.ts';
import { fillable, filledTeam, forEachItem, pathOf, requestFor } from '../helpers/everything.ts';
import { type Answer, type Api, startApi } from '../helpers/service.ts';

const isPrivate = ({ headers }: Answer) => String(headers['cache-control']).startsWith('no-store');
const policyOf = ({ headers }: Answer) => headers['content-security-policy'];
const dataPolicy = "default-src 'none'; frame-ancestors 'none'";

/** A file of a run, and the URL for uploading another one. */
async function transfers(api: Api): Promise<{ download: string; upload: string }> {
  const { sandbox_id } = await api.ok('createSandbox');
  const uploadGrant = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'page.html' } });
  expect((await api.send('PUT', uploadGrant.upload_url, { anonymous: true, body: '<script>alert(1)</script>\0' })).status).toBe(201);
  const { run } = await api.ok('startRun', { body: { agent_id: await api.agent(), sandbox_id } });
  const { data } = await api.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'page.html' } });
  return { download: data.download_url as string, upload: uploadGrant.upload_url };
}

describe('a response with data of a team', () => {
  it('is not stored by any cache and is never a page, whichever operation it answers', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    const check = async (id: OperationId) => {
      const answer = await api.call(id, requestFor(id, ownedIds));
      expect(isPrivate(answer), id).toBe(true);
      const isContent = /^(text\/html|application\/x-tar)/.test(String(answer.headers['content-type']));
      if (isContent) expect(policyOf(answer), id).toMatch(/; sandbox$/);
      else expect(policyOf(answer), id).toBe(dataPolicy);
      return answer.status;
    };
    const readOperations = operationIds.filter((id) => operation(id).method === 'GET' && operation(id).produces !== 'application/pdf');
    const refusedOperations: OperationId[] = [];
    await forEachItem(readOperations, async (id) => {
      if ((await check(id)) >= 300) refusedOperations.push(id);
    });
    // The MCP endpoint offers no stream, no run works on a repository, and none has worked on the case.
    expect(refusedOperations.sort()).toEqual(['getMcp', 'getRunChanges', 'listCaseRunRecentMessages', 'streamRunsEvents']);
    await forEachItem(readOperations, async (id) => expect(isPrivate(await api.send('HEAD', pathOf(id, ownedIds))), id).toBe(true));
    await forEachItem(
      operationIds.filter((id) => operation(id).method !== 'GET'),
      check,
    );
  });

  it('is not shared with another origin by a preflight request', async () => {
    const api = await startApi();
    const headers = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
    for (const path of [`/v2/teams/${api.service.teamId}/agents`, '/oauth/token', '/', '/page/session', '/files/x', '/healthz']) {
      for (const origin of ['https://elsewhere.example', 'null', api.service.url]) {
        const answer = await api.send('OPTIONS', path, { anonymous: true, headers: { ...headers, origin } });
        expect(answer.status, `${path} ${origin}`).toBeGreaterThanOrEqual(400);
      }
    }
  });
});

describe('a response of an open route', () => {
  const requests: readonly [method: string, path: string, status: number][] = [
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 200],
    ['GET', '/metrics', 200],
    ['GET', '/v2/openapi.json', 200],
    ['GET', '/.well-known/oauth-authorization-server', 200],
    ['GET', '/.well-known/oauth-protected-resource/v2/mcp', 200],
    ['GET', '/.well-known/nothing', 404],
    ['POST', '/page/session', 400],
    ['DELETE', '/page/session', 200],
    ['POST', '/oauth/token', 400],
    ['GET', '/files/x', 403],
    ['PUT', '/uploads/x', 403],
    ['DELETE', '/files/x', 405],
    ['POST', '/', 405],
    ['GET', '/page/nothing', 404],
    ['GET', '/v2/nowhere', 401],
    ['GET', '/%ff', 400],
  ];

  it('is not stored by any cache and is never a page, whatever its status', async () => {
    const api = await startApi();
    for (const [method, path, status] of requests) {
      const answer = await api.send(method, path, { anonymous: true });
      expect([answer.status, answer.headers['cache-control'], policyOf(answer)], `${method} ${path}`).toEqual([
        status,
        'no-store',
        dataPolicy,
      ]);
    }
  });

  it('that a person sees after an authorization loads and sends nothing, and is not stored', async () => {
    const api = await startApi();
    for (const method of ['GET', 'HEAD']) {
      const response = await request(`${api.service.url}/oauth/callback?state=unknown&code=secret`, { method });
      await response.body.dump();
      expect(response.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'content-security-policy':
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      });
    }
  });
});

describe('a file of an agent', () => {
  const file = {
    'cache-control': 'private, no-cache',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-disposition': `attachment; filename="page.html"; filename*=UTF-8''page.html`,
  };

  it('never runs as a page of the service, whole, in part, unchanged, or only its headers', async () => {
    const api = await startApi();
    const { download } = await transfers(api);
    const get = (headers: Record<string, string> = {}, method = 'GET') => api.send(method, download, { anonymous: true, headers });
    const wholeAnswer = await get();
    expect([wholeAnswer.status, wholeAnswer.headers['content-type']]).toEqual([200, 'text/html']);
    const answers = [
      wholeAnswer,
      await get({ range: 'bytes=0-3' }),
      await get({ 'if-none-match': String(wholeAnswer.headers.etag) }),
      await get({}, 'HEAD'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 206, 304, 200]);
    for (const { status, headers } of answers) expect(headers, String(status)).toMatchObject(file);
  });

  it('is a plain error where there is no file', async () => {
    const api = await startApi();
    const { download, upload } = await transfers(api);
    const answers = [
      await api.send('GET', download, { anonymous: true, headers: { range: 'bytes=1000-' } }),
      await api.send('GET', `${download}x`, { anonymous: true }),
      await api.send('POST', download, { anonymous: true }),
      await api.send('PUT', upload, { anonymous: true, body: 'x' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([416, 403, 405, 201]);
    for (const answer of answers) expect([answer.headers['cache-control'], policyOf(answer)]).toEqual(['no-store', dataPolicy]);
  });
});
