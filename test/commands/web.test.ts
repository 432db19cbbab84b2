/** `--web`: opens the page that the service announces, signed in if the credential allows it. */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { pageOf } from '../../src/cli/desktop/team-page.ts';
import { eventually } from '../support/eventually.ts';
import { ForeignService } from '../support/foreign-service.ts';
import { runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  run = await service.run('- say: hi');
});

const signIn = (url: string): Promise<Response> =>
  fetch(new URL('/page/session', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: new URLSearchParams(new URL(url).hash.slice(1)).get('code') }),
  });

describe('--web', () => {
  it('prints the URL without a terminal, with a code that signs in', async () => {
    const { code, stdout, stderr } = await service.cli(['runs', 'get', run, '--web']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^${service.service.url}/#code=[^&]+&view=/runs/${run}\n$`));
    expect((await signIn(stdout.trim())).status).toBe(200);
    expect((await service.cli(['runs', 'list', '--web'])).stdout).toMatch(/&view=\/\n$/);
    expect((await service.cli(['inbox', '--web'])).stdout).toMatch(/&view=\/inbox\n$/);
  });

  it('opens a browser on a terminal', async () => {
    const folder = await temporaryFolder();
    const note = path.join(folder, 'opened');
    const program = path.join(folder, 'browser');
    await writeFile(program, `#!/bin/sh\nprintf '%s' "$*" > ${note}.new && mv ${note}.new ${note}\n`);
    await chmod(program, 0o755);
    const opened = await service.cli(['runs', 'get', run, '--web'], { tty: true, env: { BROWSER: program } });
    expect(opened).toMatchObject({ code: 0, stdout: '', stderr: `Opened ${service.service.url}/#/runs/${run}\n` });
    expect(await eventually('the browser is opened', () => readFile(note, 'utf8').catch(() => undefined))).toContain(`view=/runs/${run}`);
  });

  it('leaves signing in to the page if the credential may not create a code', async () => {
    const token = await service.cli(['local', 'token', 'create', 'reader', '--scope', 'runs:read', '--reveal', '--jq', '.token']);
    const printed = await service.cli(['runs', 'get', run, '--web'], { env: { AOPS_API_KEY: token.stdout.trim() } });
    expect(printed).toMatchObject({ code: 0, stdout: `${service.service.url}/#/runs/${run}\n` });
  });

  it('is an error for a service without a page', async () => {
    const foreign = await ForeignService.start({});
    const env = { ...folderEnv(await temporaryFolder()), AOPS_BASE_URL: foreign.url, AOPS_API_KEY: 'key', AOPS_TEAM_ID: 'team' };
    const refusal = await runCli(['runs', 'list', '--web'], { env });
    expect(refusal).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('does not announce a page') });
    expect(foreign.requestedPaths).toEqual(['GET /v2/openapi.json']);
  });
});

it.each([
  [{ 'x-team-page': 'https://app.example.com/runs' }, 'https://app.example.com/runs'],
  [{ 'x-team-page': '/page' }, 'https://api.example.com/page'],
  [{ 'x-team-page': 'http://app.example.com/' }, undefined],
  [{ 'x-team-page': 'http://127.0.0.1:4010/' }, 'http://127.0.0.1:4010/'],
  [{ 'x-team-page': 'javascript:alert(1)' }, undefined],
  [{ 'x-team-page': 'file:///etc/passwd' }, undefined],
  [{ 'x-team-page': 'https://user@app.example.com/' }, undefined],
  [{ 'x-team-page': 5 }, undefined],
  [{}, undefined],
  [null, undefined],
])('the page that %j announces', (contract, page) => {
  expect(pageOf(contract, 'https://api.example.com')).toBe(page);
});
