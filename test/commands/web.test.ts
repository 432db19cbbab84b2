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

  it.each([['--json'], ['-o', 'yaml'], ['--fields', 'id'], ['--jq', '.id'], ['--template', '{{ id }}']])(
    'cannot be combined with %s, because nothing is printed',
    async (...flags) => {
      const refusal = await service.cli(['runs', 'get', run, '--web', ...flags]);
      expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('the result is shown in the browser') });
    },
  );

  it('is an error for a service without a page', async () => {
    const foreign = await ForeignService.start({});
    const env = { ...folderEnv(await temporaryFolder()), AOPS_BASE_URL: foreign.url, AOPS_API_KEY: 'key', AOPS_TEAM_ID: 'team' };
    const refusal = await runCli(['runs', 'list', '--web'], { env });
    expect(refusal).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('does not announce a page') });
    expect(foreign.requestedPaths).toEqual(['GET /v2/openapi.json']);
  });
});

describe('the view that --web opens', () => {
  let agent: string;
  let queue: string;
  let ids: Record<string, string>;
  beforeAll(async () => {
    agent = await service.agent('- say: one', 'web agent');
    await service.cli(['agents', 'update', agent, '--procedure', await service.file('two.yaml', 'version: 1\nsteps: [{ say: two }]\n')]);
    const created = await service.api<{ queue: { id: string } }>('POST', `/teams/${service.service.teamId}/queues`, { name: 'web queue' });
    queue = created.queue.id;
    const { added_cases: cases } = await service.api<{ added_cases: { id: string }[] }>('POST', `/queues/${queue}/cases`, {
      cases: [{ title: 'one', data: '' }],
    });
    const { stdout } = await service.cli(['revisions', 'list', 'web agent', '-o', 'id']);
    const [second = '', first = ''] = stdout.trim().split('\n');
    ids = { AGENT: agent, QUEUE: queue, RUN: run, CASE: cases[0]?.id ?? '', FIRST: first, SECOND: second };
  });
  /** Replaces the names of IDs in a text. */
  const withIds = (text: string): string => text.replace(/[A-Z]{3,}/g, (name) => ids[name] ?? name);

  it.each([
    ['runs list', '/'],
    [
      'runs list --agent web_agent --queue web_queue --status failed --search x&y --since 2026-07-01T09:30Z --no-has-issues --sort-order asc',
      '/?agent=AGENT&queue=QUEUE&status=failed&search=x%26y&since=2026-07-01T09%3A30%3A00.000Z&issues=false&order=asc',
    ],
    ['runs messages RUN', '/runs/RUN'],
    ['runs screenshots RUN', '/runs/RUN/screenshots'],
    ['sandbox ls RUN', '/runs/RUN/files/workspace'],
    ['sandbox ls RUN a?b/c', '/runs/RUN/files/workspace/a%3Fb/c'],
    ['sandbox cat RUN /workspace/b#1', '/runs/RUN/file/workspace/b%231'],
    ['inbox', '/inbox'],
    [
      'inbox --agent web_agent --queue web_queue --run RUN --type approval --older-than 1h',
      '/inbox?agent=AGENT&queue=QUEUE&run=RUN&type=approval&older-than=3600',
    ],
    ['agents list', '/agents'],
    ['agents get web_agent', '/agents/AGENT'],
    ['agents schedules list web_agent', '/schedules?agent=AGENT'],
    ['agents schedules get web_agent', '/schedules?agent=AGENT'],
    ['revisions list web_agent', '/agents/AGENT'],
    ['revisions get web_agent@1', '/agents/AGENT/revisions/FIRST'],
    ['revisions diff web_agent@1 2', '/agents/AGENT/revisions/SECOND?compare=FIRST'],
    ['queues list', '/queues'],
    ['queues get web_queue', '/queues/QUEUE'],
    [
      'cases list web_queue --status failed --status in_progress --priority high --label v=1 --label v=2 --search acme --created-since 2026-07-01T00:00Z --sort-by updated_at',
      '/queues/QUEUE?status=failed%2Cclaimed&priority=high&label=v%3D1&label=v%3D2&since=2026-07-01T00%3A00%3A00.000Z&search=acme&sort=updated_at',
    ],
    ['cases search web_queue acme', '/queues/QUEUE?search=acme'],
    ['cases get CASE', '/cases/CASE'],
    ['cases runs CASE', '/cases/CASE'],
    ['billing usage', '/usage'],
    ['billing entitlements', '/usage'],
  ])('of `%s` has its filters', async (words, view) => {
    const argv = words.split(' ').map((word) => withIds(word).replace(/^web_/, 'web '));
    const { code, stdout, stderr } = await service.cli([...argv, '--web']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(new URLSearchParams(new URL(stdout).hash.slice(1)).get('view')).toBe(withIds(view));
  });

  it.each([
    ['runs list --limit 5', 'the page shows more with a button'],
    ['runs list --count', 'the page always shows the number of runs'],
    ['runs messages RUN --tail 3', 'the page shows the whole conversation'],
    ['runs screenshots RUN --save x', 'the page saves no pictures'],
    ['sandbox ls --sandbox SANDBOX', 'the page shows the sandboxes of runs only'],
    ['agents list --automation 00000000-0000-4000-8000-000000000001', 'the page does not filter agents by automation'],
    ['agents list --schedules', 'the page shows schedules in a view of their own'],
    ['queues list --offset 2', 'the page shows all queues'],
    ['cases list web_queue --offset 2', 'the page shows a list from its beginning'],
    ['revisions get web_agent@1 --procedure', 'the page shows a revision with its procedure'],
    ['billing usage --fail-over 80', 'the page has no exit code'],
  ])('has no counterpart for `%s`', async (words, reason) => {
    const argv = words.split(' ').map((word) => withIds(word).replace(/^web_/, 'web '));
    const refusal = await service.cli([...argv, '--web']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(/^error: --web and --[a-z-]+ cannot be combined: /);
    expect(refusal.stderr).toContain(reason);
  });

  it('cannot compare revisions of two agents', async () => {
    await service.agent('- say: other', 'other web agent');
    const refusal = await service.cli(['revisions', 'diff', 'web agent@1', 'other web agent@1', '--web']);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('of the same agent only') });
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
