/** The team page over HTTP: its files, the headers that prevent texts of agents from running, and how a browser signs in. */
import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { pageSessionLife } from '../../../src/service/page/sessions.ts';
import { ManualClock } from '../helpers/clock.ts';
import { type Answer, type Api, startApi } from '../helpers/service.ts';

const folder = new URL('../../../src/service/page/team-page/', import.meta.url);
const json = { 'content-type': 'application/json' };
const failure = ({ status, body }: Answer) => [status, (body as { error?: string }).error];

const redeem = (api: Api, code: unknown, headers: Record<string, string> = json) =>
  api.send('POST', '/page/session', { anonymous: true, headers, body: JSON.stringify({ code }) }) as Promise<
    Answer<{ token: string; expires_at: string }>
  >;

/** Calls the service in the same way as the page. */
async function signedIn(api: Api): Promise<Api> {
  const { code } = await api.ok('createPageCode');
  return api.as((await redeem(api, code)).body.token);
}

describe('the files of the page', () => {
  it('are served without a credential, each with its type and a policy that prevents any other script from running', async () => {
    const api = await startApi();
    const names = (await readdir(folder)).filter((name) => /\.(css|js|svg|webmanifest)$/.test(name));
    expect(names.length).toBeGreaterThan(10);
    const types: Record<string, string> = {
      css: 'text/css; charset=utf-8',
      js: 'text/javascript; charset=utf-8',
      svg: 'image/svg+xml',
      webmanifest: 'application/manifest+json',
    };
    for (const path of ['/', ...names.map((name) => `/page/${name}`)]) {
      const { status, headers, text } = await api.send('GET', path, { anonymous: true });
      expect(status, path).toBe(200);
      expect(text.length, path).toBeGreaterThan(100);
      expect(headers['content-type'], path).toBe(path === '/' ? 'text/html; charset=utf-8' : types[path.split('.').at(-1) ?? '']);
      expect(headers, path).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-cache',
      });
      const policy = String(headers['content-security-policy']).split('; ');
      expect(policy, path).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types aops-worker',
      ]);
    }
  });

  it('contain no inline script or style, and refer to nothing outside', async () => {
    const api = await startApi();
    const { text } = await api.send('GET', '/');
    expect(text).not.toMatch(/<script(?![^>]* src="\/page\/)|<style|\son\w+=|\sstyle=|https?:\/\//);
    for (const name of (await readdir(folder)).filter((file) => file.endsWith('.js'))) {
      const { text: code } = await api.send('GET', `/page/${name}`);
      expect(code, name).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|localStorage|\.cookie/);
      for (const [, importPath] of code.matchAll(/^import .* from '(.*)';$/gm)) expect(importPath, name).toMatch(/^\.\/[\w-]+\.js$/);
    }
  });

  it('make an installable app, with icons for systems that do not accept SVG', async () => {
    const api = await startApi();
    const { text } = await api.send('GET', '/page/manifest.webmanifest', { anonymous: true });
    const { icons, start_url, display } = JSON.parse(text);
    expect([start_url, display]).toEqual(['/#/', 'standalone']);
    const page = (await api.send('GET', '/')).text;
    const [, touchIcon] = /<link rel="apple-touch-icon" href="(.*)">/.exec(page) ?? [];
    for (const { src, sizes, type } of [...icons, { src: touchIcon, sizes: '180x180', type: 'image/png' }]) {
      const response = await fetch(`${api.service.url}${src}`);
      expect([response.status, response.headers.get('content-type')], src).toEqual([200, type]);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (type === 'image/png') expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src).toBe(sizes);
    }
  });

  it('are all named by the service worker, which changes with them and controls the whole page', async () => {
    const api = await startApi();
    const { text, headers } = await api.send('GET', '/page/worker.js', { anonymous: true });
    expect(headers['service-worker-allowed']).toBe('/');
    const { version, files } = JSON.parse(/^startWorker\((.*)\);$/m.exec(text)?.[1] as string);
    expect(version).toMatch(/^[\w-]{27}$/);
    const names = (await readdir(folder)).filter((name) => /\.(html|css|js|svg|webmanifest)$/.test(name) && name !== 'worker.js');
    expect(files.sort()).toEqual(names.map((name) => (name === 'index.html' ? '/' : `/page/${name}`)).sort());
  });

  it('are sent once, and then only confirmed', async () => {
    const api = await startApi();
    const first = await api.send('GET', '/page/app.js');
    const etag = String(first.headers.etag);
    const secondAnswer = await api.send('GET', '/page/app.js', { headers: { 'if-none-match': `W/${etag}` } });
    expect([secondAnswer.status, secondAnswer.text, secondAnswer.headers.etag]).toEqual([304, '', etag]);
    expect(secondAnswer.headers['content-security-policy']).toBe(first.headers['content-security-policy']);
    expect((await api.send('GET', '/page/app.js', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    const head = await api.send('HEAD', '/');
    expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'text/html; charset=utf-8']);
  });

  it('are the only ones', async () => {
    const api = await startApi();
    const hidden = [
      '/page/',
      '/page/tsconfig.json',
      '/page/types.d.ts',
      '/page/..%2Fassets.ts',
      '/page/%2e%2e%2fsessions.ts',
      '/page/constructor',
    ];
    for (const path of hidden) expect(failure(await api.send('GET', path, { anonymous: true })), path).toEqual([404, 'route_not_found']);
    expect(failure(await api.send('GET', '/page/a/b', { anonymous: true }))[0]).toBe(401);
    for (const [method, path] of [
      ['POST', '/'],
      ['PUT', '/page/app.js'],
      ['GET', '/page/session'],
    ] as const)
      expect(failure(await api.send(method, path)), path).toEqual([405, 'method_not_allowed']);
  });

  it('are not served to a page of another origin, or under another host name', async () => {
    const api = await startApi();
    expect(failure(await api.send('GET', '/', { headers: { origin: 'https://evil.example' } }))).toEqual([403, 'origin_not_allowed']);
    expect(failure(await api.send('GET', '/', { headers: { host: 'evil.example' } }))).toEqual([403, 'host_not_allowed']);
  });
});

describe('a code', () => {
  it('signs in once, and the session can only do what the page needs', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { code } = await api.ok('createPageCode');
    const answer = await redeem(api, code);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body.token).toMatch(/^aops_page_/);
    expect(Date.parse(answer.body.expires_at) - clock.now()).toBe(pageSessionLife);
    const page = api.as(answer.body.token);
    const { credential } = await page.ok('getLocalCredential');
    expect(credential).toMatchObject({
      owner: false,
      scopes: ['runs:read', 'runs:write', 'approvals:write', 'files:read', 'sandboxes:write'],
    });
    await page.ok('listRuns');
    // The session lacks the permissions of the owner, although it belongs to the owner's credential.
    expect(failure(await page.call('createLocalToken', { body: { name: 'x' } }))).toEqual([403, 'owner_only']);
    expect(failure(await page.call('createPageCode'))).toEqual([403, 'owner_only']);
    expect(failure(await page.call('createAgent', { body: {} }))).toEqual([403, 'insufficient_scope']);
    expect(failure(await page.call('listTeamWebhooks'))).toEqual([403, 'insufficient_scope']);
    expect(failure(await redeem(api, code))).toEqual([403, 'invalid_code']);
    clock.advance(pageSessionLife);
    expect(failure(await page.call('listRuns'))).toEqual([401, 'invalid_token']);
  });

  it('works for one of many browsers that use it at the same time', async () => {
    const api = await startApi();
    const { code } = await api.ok('createPageCode');
    const answers = await Promise.all(Array.from({ length: 6 }, () => redeem(api, code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403, 403, 403]);
  });

  it('is refused if it has expired, and on any other route', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { code } = await api.ok('createPageCode');
    expect(failure(await api.as(code).call('getLocalCredential'))).toEqual([401, 'invalid_token']);
    expect(
      failure(await api.send('GET', '/v2/local/credential', { headers: { authorization: `Bearer code of the team page: ${code}` } })),
    ).toEqual([401, 'invalid_token']);
    clock.advance(120_000);
    expect(failure(await redeem(api, code))).toEqual([403, 'invalid_code']);
    for (const invalidCode of [undefined, 7, null]) expect(failure(await redeem(api, invalidCode))).toEqual([400, 'invalid_request']);
    // A form on another page could send text, but not JSON.
    expect(failure(await redeem(api, code, { 'content-type': 'text/plain' }))).toEqual([400, 'invalid_request']);
  });

  it('cannot be guessed, and wrong guesses lock nobody out', async () => {
    const api = await startApi({ clock: new ManualClock() });
    const { code } = await api.ok('createPageCode');
    for (let index = 0; index < 10; index++) expect(failure(await redeem(api, `wrong ${index}`))).toEqual([403, 'invalid_code']);
    expect(failure(await redeem(api, 'wrong again'))).toEqual([429, 'rate_limited']);
    expect((await redeem(api, code)).status).toBe(200);
  });

  it('signs in and out even if requests without a token have exhausted the limit of the address', async () => {
    const api = await startApi({ clock: new ManualClock(), rateLimit: { limit: 3, windowSeconds: 60 } });
    const { code } = await api.ok('createPageCode');
    const anonymousStatus = async () => (await api.send('GET', '/v2/local/credential', { anonymous: true })).status;
    expect([await anonymousStatus(), await anonymousStatus(), await anonymousStatus(), await anonymousStatus()]).toEqual([
      401, 401, 401, 429,
    ]);
    const { token } = (await redeem(api, code)).body;
    const signOut = () => api.as(token).send('DELETE', '/page/session');
    expect((await signOut()).body).toEqual({ ended: true });
    expect(failure(await signOut())).toEqual([429, 'rate_limited']);
  });

  it('never appears in the log, and neither does its session', async () => {
    const lines: string[] = [];
    const api = await startApi({ log: (entry) => lines.push(JSON.stringify(entry)) });
    const { code } = await api.ok('createPageCode');
    const { token } = (await redeem(api, code)).body;
    await redeem(api, code);
    await api.as(token).ok('listRuns');
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.join('\n')).not.toContain(code);
    expect(lines.join('\n')).not.toContain(token);
  });
});

describe('signing out', () => {
  it('ends the session, but no other credential', async () => {
    const api = await startApi();
    const [page, otherApi] = [await signedIn(api), await signedIn(api)];
    const end = (client: Api) => client.send('DELETE', '/page/session');
    expect((await end(page)).body).toEqual({ ended: true });
    expect(failure(await page.call('listRuns'))).toEqual([401, 'invalid_token']);
    expect((await end(page)).body).toEqual({ ended: false });
    await otherApi.ok('listRuns');
    const token = await api.withToken({ scopes: ['runs:read'] });
    for (const client of [api, token]) {
      expect((await end(client)).body).toEqual({ ended: false });
      await client.ok('listRuns');
    }
  });
});
