import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { operationIds } from '../../src/interface/operations.ts';
import { scriptedServer } from '../client/harness.ts';
import { answer, json, reply } from '../faults/raw-server.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- say: "Hello {{message}}"', 'greeter');
});

const api = (...argv: string[]) => service.cli(['api', ...argv]);

describe('aops api', () => {
  it('gets a path with or without its prefix', async () => {
    for (const path of [`/v2/agents/${agent}`, `agents/${agent}`, `/agents/${agent}`]) {
      const getResult = await api(path);
      expect(getResult).toMatchObject({ code: 0, stderr: '' });
      expect(getResult.json()).toMatchObject({ agent: { id: agent, name: 'greeter' } });
    }
    expect((await api('/v2/teams/{team}')).json()).toMatchObject({ team: { id: service.service.teamId } });
    expect((await api('get', 'teams/{team}')).code).toBe(0);
  });

  it('replaces names in braces with the team, or with fields of the same name', async () => {
    const { teamId } = service.service;
    const pathOf = async (...argv: string[]): Promise<unknown> =>
      new URL((await api('DELETE', ...argv, '--dry-run', '--json')).json<{ url: string }>().url).pathname;
    expect(await pathOf('{team}/{teamId}/{team_id}')).toBe(`/v2/${teamId}/${teamId}/${teamId}`);
    expect(await pathOf('teams/{team}/{name}', '-f', 'team=other', '-f', 'name=a/b')).toBe('/v2/teams/other/a%2Fb');
    expect((await api('DELETE', 'x/{teams}')).stderr).toContain('The path contains {teams}, but there is no value for it.');
    expect(await pathOf('runs/{run_number}', '-F', 'run_number=5')).toBe('/v2/runs/5');
    for (const value of ['', '.', '..'])
      expect(await api('DELETE', 'x/{name}', '-f', `name=${value}`)).toMatchObject({ code: 2, stderr: expect.stringContaining('{name}') });
  });

  it('sends fields as the query for GET and as the body otherwise', async () => {
    const queryResult = await api('GET', 'teams/{team}/runs', '-f', 'status=waiting', '-F', 'limit=3');
    expect(queryResult).toMatchObject({ code: 0, stderr: '' });
    expect(queryResult.json()).toMatchObject({ data: [], total: 0 });
    const start = await api('teams/{team}/runs', '-f', `agent_id=${agent}`, '-f', 'message=api');
    expect(start).toMatchObject({ code: 0, stderr: '' });
    const { run } = start.json<{ run: { id: string } }>();
    await service.until(run.id, 'completed');
  });

  it('reads a body from a file or standard input, and adds fields to it', async () => {
    await service.file('body.json', JSON.stringify({ name: 'from-file' }));
    const creation = await api('POST', 'teams/{team}/agents', '--input', 'body.json');
    expect(creation.json()).toMatchObject({ agent: { name: 'from-file' } });
    const pipedResult = await service.cli(['api', 'POST', 'teams/{team}/agents', '--input', '-'], { stdin: '{"name":"piped"}' });
    expect(pipedResult.json()).toMatchObject({ agent: { name: 'piped' } });
  });

  it('sends a JSON body unchanged, because parsing it would change large numbers', async () => {
    const text = '{ "c": 12345678901234567890, "d": 1.0 }\n';
    const server = await scriptedServer(json(200, {}));
    const sendResult = await service.cli(['api', 'POST', 'sandboxes', '--input', '-'], { stdin: text, env: { AOPS_BASE_URL: server.url } });
    expect(sendResult).toMatchObject({ code: 0, stderr: '' });
    expect(server.requests.map(({ body }) => body.toString())).toEqual([text]);
    const refusal = await service.cli(['api', 'POST', 'sandboxes', '--input', '-'], { stdin: '{' });
    expect(refusal).toMatchObject({ code: 2, stderr: expect.stringContaining('Standard input is not valid JSON') });
  });

  it('sends fields as the query if there is a body, as gh does', async () => {
    const result = await service.cli(['api', 'POST', 'sandboxes', '--input', '-', '-f', 'a=1', '-F', 'b[]=2', '-F', 'b[]=x', '--dry-run'], {
      stdin: '{"c":3}',
    });
    expect(result.json()).toMatchObject({ method: 'POST', url: `${service.service.url}/v2/sandboxes?a=1&b=2&b=x`, body: { c: 3 } });
    const nestedResult = await api('-X', 'GET', 'teams/{team}/runs', '-f', 'a[b]=1');
    expect(nestedResult).toMatchObject({ code: 2, stdout: '' });
    expect(nestedResult.stderr).toContain('"a" cannot be part of a query');
  });

  it('supports typed, nested and list fields like gh', async () => {
    await service.file('text.txt', 'from a file');
    const argv = [
      '-f',
      'n=1',
      '-F',
      'm=1',
      '-F',
      't=true',
      '-F',
      'z=null',
      '-F',
      'file=@text.txt',
      '-f',
      'a[b][c]=x',
      '-F',
      'l[]=1',
      '-f',
      'l[]=b',
      '-F',
      'e[]',
    ];
    const result = await api('sandboxes', ...argv, '-f', 'o[][k]=1', '-f', 'o[][v]=2', '-f', 'o[][k]=3', '--dry-run');
    expect(result.json().body).toEqual({
      n: '1',
      m: 1,
      t: true,
      z: null,
      file: 'from a file',
      a: { b: { c: 'x' } },
      l: ['b', 1],
      e: [],
      o: [{ k: '1', v: '2' }, { k: '3' }],
    });
  });

  it('accepts the ID of an operation, with fields for its placeholders', async () => {
    expect((await api('getAgent', '-f', `agent_id=${agent}`)).json()).toMatchObject({ agent: { id: agent } });
    expect((await api('listAgents', '-F', 'limit=1')).json()).toMatchObject({ limit: 1 });
    expect((await api('/v2/agents/{agent_id}', '-f', `agent_id=${agent}`)).json()).toMatchObject({ agent: { id: agent } });
    const result = await api('respondToHumanRequest', '-f', 'run_id=R', '-f', 'request_id=a b', '-F', 'approved=true', '--dry-run');
    expect(result.json()).toMatchObject({
      method: 'POST',
      url: `${service.service.url}/v2/runs/R/human-requests/a%20b/respond`,
      body: { approved: true },
    });
  });

  it('accepts the method as -X', async () => {
    const result = await api('-X', 'patch', `agents/${agent}`, '-f', 'name=n', '--dry-run');
    expect(result.json()).toMatchObject({ method: 'PATCH', body: { name: 'n' } });
    expect((await api('-X', 'GET', 'teams/{team}/runs', '-F', 'limit=1')).json()).toMatchObject({ data: [{}] });
  });

  it('sends headers, and bodies of other types unchanged', async () => {
    await service.file('body.bin', 'not json');
    const argv = ['POST', 'sandboxes', '--input', 'body.bin', '-H', 'Content-Type: text/plain', '-H', 'X-Mark: 1', '--dry-run'];
    const result = (await api(...argv)).json<{ headers: Record<string, string>; body: unknown }>();
    expect(result.headers).toMatchObject({ 'content-type': 'text/plain', 'x-mark': '1' });
    expect(result.body).toBe('8 bytes');
  });

  it('prints no body with --silent', async () => {
    expect(await api(`agents/${agent}`, '--silent')).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const headerResult = await api(`agents/${agent}`, '--silent', '-i');
    expect(headerResult.stdout).toMatch(/^HTTP 200\n[\s\S]+\n\n$/);
    expect(headerResult.stdout).not.toContain('greeter');
  });

  it('reads all pages and merges them before --jq', async () => {
    for (const name of ['p1', 'p2', 'p3', 'p4']) await service.agent('- say: hi', name);
    const total = await service.countAgents();
    const mergeResult = await api('listAgents', '-F', 'limit=2', '--paginate');
    expect(mergeResult).toMatchObject({ code: 0, stderr: '' });
    const { agents, ...rest } = mergeResult.json<{ agents: { id: string }[] }>();
    expect(agents).toHaveLength(total);
    expect(new Set(agents.map(({ id }) => id)).size).toBe(total);
    expect(rest).toEqual({ total, limit: total, offset: 0 });
    expect(await api('listAgents', '-F', 'limit=2', '--paginate', '--jq', '.agents | length')).toMatchObject({ stdout: `${total}\n` });
    const pages = (await api('listAgents', '-F', 'limit=2', '--paginate', '--slurp')).json<{ agents: unknown[] }[]>();
    expect(pages.map((page) => page.agents.length)).toEqual([...Array<number>(Math.floor(total / 2)).fill(2), ...(total % 2 ? [1] : [])]);
    const laterResult = await api('listAgents', '-F', 'limit=2', '-F', 'offset=3', '--paginate');
    expect(laterResult.json<{ agents: unknown[] }>().agents).toHaveLength(total - 3);
  });

  it('adds nothing to a path without fields', async () => {
    const server = await scriptedServer(json(200, {}), json(200, {}));
    for (const path of ['things', 'things?limit=1']) await service.cli(['api', path], { env: { AOPS_BASE_URL: server.url } });
    expect(server.requests.map(({ path }) => path)).toEqual(['/v2/things', '/v2/things?limit=1']);
  });

  it('prints a response that is not JSON where the interface says so', async () => {
    const server = await scriptedServer(answer(200, '<p>Hello</p>', { 'content-type': 'text/html' }), json(200, { more: true }));
    const read = (path: string) => service.cli(['api', path], { env: { AOPS_BASE_URL: server.url } });
    expect(await read(`artifacts/${agent}/export/html`)).toMatchObject({ code: 0, stdout: '<p>Hello</p>', stderr: '' });
    expect((await read(`artifacts/${agent}/export/html/more`)).json()).toEqual({ more: true });
  });

  it('reads a list with backward paging and restores its order', async () => {
    const rows = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));
    const server = (await scriptedServer()).always(
      reply(({ path }) => {
        const before = new URL(path, 'http://service').searchParams.get('before');
        const end = before === null ? rows.length : rows.findIndex(({ id }) => id === before);
        const data = rows.slice(Math.max(0, end - 2), end);
        return json(200, { data, total: rows.length, has_more: end > 2 });
      }),
    );
    const readResult = await service.cli(['api', 'artifacts/x/messages', '--paginate'], { env: { AOPS_BASE_URL: server.url } });
    expect(readResult).toMatchObject({ code: 0, stderr: '' });
    expect(readResult.json()).toEqual({ data: rows, total: 5 });
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ['in front of the next page', ['a', 'b'], ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
    ['until the next page is empty', ['a', 'b', 'c', 'd', 'e'], ['a', 'b', 'c', 'f', 'g']],
    ['behind what was read', ['d', 'e', 'f', 'g'], ['a', 'b', 'c']],
    ['in the middle of a page', ['b', 'e'], ['a', 'b', 'c', 'd', 'f', 'g']],
  ])('leaves out nothing when rows are removed meanwhile, %s', async (_, removed, expected) => {
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const server = (await scriptedServer()).always(
      reply(({ path }) => {
        const offset = Number(new URL(path, 'http://service').searchParams.get('offset') ?? 0);
        const remaining = server.requests.length === 1 ? rows : rows.filter((id) => !removed.includes(id));
        return json(200, { data: remaining.slice(offset, offset + 3).map((id) => ({ id })), total: remaining.length });
      }),
    );
    const read = await service.cli(['api', 'things', '--paginate', '--jq', '.data[].id'], { env: { AOPS_BASE_URL: server.url } });
    expect(read).toMatchObject({ code: 0, stderr: '' });
    expect(read.stdout.trim().split('\n').sort()).toEqual(expected);
  });

  it('ends although the number of rows changes back and forth', async () => {
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const server = (await scriptedServer()).always(
      reply(({ path }) => {
        const offset = Number(new URL(path, 'http://service').searchParams.get('offset') ?? 0);
        const total = server.requests.length % 2 === 0 ? 4 : 7;
        return json(200, { data: rows.slice(offset, Math.min(offset + 3, total)).map((id) => ({ id })), total });
      }),
    );
    const read = await service.cli(['api', 'things', '--paginate', '--jq', '[.data[].id] | sort | add'], {
      env: { AOPS_BASE_URL: server.url },
    });
    expect(read).toMatchObject({ code: 0, stdout: 'abcd\n' });
  });

  it('reads rows without IDs once when some are removed meanwhile', async () => {
    const pages = [
      { data: [1, 2], total: 4 },
      { data: [4], total: 3 },
    ];
    const server = (await scriptedServer()).always(reply(({ path }) => json(200, path.includes('offset') ? pages[1] : pages[0])));
    const read = await service.cli(['api', 'things', '--paginate', '--jq', '.data'], { env: { AOPS_BASE_URL: server.url } });
    expect(read).toMatchObject({ code: 0, stdout: '[1,2,4]\n' });
  });

  it('ends with the first page of a list with backward paging, whatever the service counts', async () => {
    const pages = [
      { data: [{ id: 'c' }], total: 9, has_more: true },
      { data: [{ id: 'b' }], total: 3, has_more: true },
      { data: [{ id: 'a' }], total: 5, has_more: false },
    ];
    const server = await scriptedServer(...pages.map((page) => json(200, page)));
    const read = await service.cli(['api', 'things', '--paginate', '--jq', '.data[].id'], { env: { AOPS_BASE_URL: server.url } });
    expect(read).toMatchObject({ code: 0, stdout: 'a\nb\nc\n', stderr: '' });
    expect(server.requests).toHaveLength(3);
  });

  it('continues after pages that were repeated because of new rows', async () => {
    const ids = ['a', 'a', 'a', 'b', 'b', 'b', 'c'];
    const server = await scriptedServer(...ids.map((id) => json(200, { data: [{ id }], total: 7 })));
    const read = await service.cli(['api', 'things', '--paginate', '--jq', '.data[].id'], { env: { AOPS_BASE_URL: server.url } });
    expect(read).toMatchObject({ code: 0, stdout: 'a\nb\nc\n', stderr: '' });
  });

  it('ends after three repeated pages, however many there are', async () => {
    const server = (await scriptedServer()).always(json(200, { data: [{ id: 'a' }], total: 1_000 }));
    expect((await service.cli(['api', 'things', '--paginate'], { env: { AOPS_BASE_URL: server.url } })).code).toBe(1);
    expect(server.requests).toHaveLength(4);
  });

  it('never takes a repeated page for the next one after rows were removed', async () => {
    const server = (await scriptedServer()).always(
      reply(() => json(200, { data: [{ id: 'a' }], total: server.requests.length === 1 ? 21 : 20 })),
    );
    const read = await service.cli(['api', 'things', '--paginate', '--json'], { env: { AOPS_BASE_URL: server.url } });
    expect(read).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(read.stderr)).toMatchObject({ error: { code: 'pages_repeated' } });
    // The first page, the one that shows the change, the one that is read again, and three repeated ones.
    expect(server.requests).toHaveLength(6);
  });

  it('never takes a repeated page for the next one', async () => {
    const server = (await scriptedServer()).always(json(200, { data: [{ id: 'a' }], total: 4 }));
    const readResult = await service.cli(['api', 'things', '--paginate', '--json'], { env: { AOPS_BASE_URL: server.url } });
    expect(readResult).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(readResult.stderr)).toMatchObject({ error: { code: 'pages_repeated' } });
  });

  it('prints the request as an equivalent curl command', async () => {
    const readResult = await api('listRuns', '-f', 'status=waiting', '--curl');
    const { url, teamId, token } = service.service;
    expect(readResult.code).toBe(0);
    expect(readResult.stdout).toBe(`curl '${url}/v2/teams/${teamId}/runs?status=waiting' \\\n  -H "Authorization: Bearer $AOPS_API_KEY"\n`);
    const before = await service.countAgents();
    const change = await api('POST', 'teams/{team}/agents', '-f', "name=it's", '--idempotency-key', 'k1', '--curl');
    expect(await service.countAgents()).toBe(before);
    expect(change.stdout + change.stderr).not.toContain(token);
    const curlResult = await promisify(execFile)('sh', ['-c', change.stdout.replace(/^curl/, 'curl -s')], {
      env: { ...process.env, AOPS_API_KEY: token, NO_PROXY: '*' },
    });
    expect(JSON.parse(curlResult.stdout)).toMatchObject({ agent: { name: "it's" } });
    expect(await service.countAgents()).toBe(before + 1);
    const unsetResult = await service.cli(['api', 'getTeam', '--curl'], { env: { AOPS_API_KEY: '' } });
    expect(unsetResult.stderr).toContain('export AOPS_API_KEY=$(aops auth token)');
  });

  it('names the file of a body in the curl command', async () => {
    const file = await service.file('body.json', '{"name":"x"}');
    const { stdout } = await api('POST', 'teams/{team}/agents', '--input', file, '--curl');
    expect(stdout).toContain(`--data-binary '@${file}'`);
  });

  it('says how to set the variable of the curl command unless it is set', async () => {
    const advice = async (key: string): Promise<string> =>
      (await service.cli(['api', 'getTeam', '--curl'], { env: { AOPS_API_KEY: key }, tty: 'stderr' })).stderr;
    expect(await advice('')).toContain('export AOPS_API_KEY=$(aops auth token)');
    expect(await advice('secret')).toBe('');
  });

  it('prints what the connection and the credential of another profile require with the curl command', async () => {
    const profiles = { acme: { base_url: 'https://acme.example', team_id: service.service.teamId } };
    await service.file('curl/config.json', JSON.stringify({ profiles }));
    const env = { AOPS_CONFIG_DIR: `${service.folder}/curl`, AOPS_API_KEY: '', AOPS_BASE_URL: '' };
    const { stdout, stderr } = await service.cli(['api', 'getTeam', '--curl', '--profile', 'acme', '--ca-file', "it's.pem"], { env });
    expect(stdout).toContain(` \\\n  --cacert 'it'\\''s.pem' \\\n  -H "Authorization`);
    expect(stderr).toContain('export AOPS_API_KEY=$(aops --profile acme auth token)');
  });

  it('filters with --jq, and shows headers with --include', async () => {
    expect(await api(`agents/${agent}`, '--jq', '.agent.name')).toMatchObject({ code: 0, stdout: 'greeter\n', stderr: '' });
    const headerResult = await api(`agents/${agent}`, '--include');
    expect(headerResult.stdout).toMatch(/^HTTP 200\n/);
    expect(headerResult.stdout).toMatch(/^ratelimit-remaining: \d+$/m);
    expect(headerResult.stdout).not.toContain(service.service.token);
  });

  it('lists the operations', async () => {
    const list = await api('--list', '--json');
    expect(list.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual(operationIds);
    expect((await api('--list')).stdout).toContain('GET\t/v2/teams/{teamId}\tgetTeam\t');
    expect((await api('--list', 'human-request')).stdout).toMatch(
      /^GET\t\S+\tlistRunHumanRequests\t.*\nPOST\t\S+\trespondToHumanRequest\t.*\n$/,
    );
    expect(await api('--list', 'nothing-like-it')).toMatchObject({ code: 0, stdout: '', stderr: 'No operations contain that word.\n' });
  });

  it.each([
    ['no path', [], 'No path was specified.'],
    ['a whole URL', ['https://example.com/v2/agents'], 'Specify a path instead of a URL'],
    ['a path that climbs', ['/v2/agents/../teams'], '".." segments'],
    ['a path with a space', ['/v2/agents/a b'], 'percent-encoded'],
    ['a method alone', ['GET'], 'No path was specified after GET.'],
    ['two methods', ['GET', '/v2/agents', '-X', 'POST'], 'The method is specified twice.'],
    ['an invalid operation', ['getAgnet'], 'Did you mean getAgent?'],
    ['another method than the operation has', ['DELETE', 'getAgent'], 'getAgent is a GET operation, not DELETE.'],
    ['a placeholder without a value', ['getRun'], 'The path contains {run_id}, but there is no value for it.'],
    ['a placeholder that climbs', ['getRun', '-f', 'run_id=..'], '".." is not a valid value for {run_id}.'],
    ['a body for GET', ['getTeam', '--input', 'broken.json'], 'A GET request has no body.'],
    ['pages of what has none', ['getTeam', '--paginate'], 'The response is not a list with pages.'],
    ['pages of a change', ['POST', '/v2/sandboxes', '--paginate'], '--paginate works only with GET.'],
    ['--slurp alone', ['getTeam', '--slurp'], '--slurp requires --paginate.'],
    ['--include with pages', ['listRuns', '-i', '--paginate'], '--include and --paginate cannot be combined.'],
    ['an unknown method', ['FETCH', '/v2/agents'], '"FETCH" is not a supported method.'],
    ['an invalid header', ['/v2/agents/x', '-H', 'nonsense'], '--header must have the form'],
    ['a header of its own', ['/v2/agents/x', '-H', 'Authorization: Bearer stolen'], '--header cannot set Authorization.'],
    ['an idempotency key as a header', ['POST', '/v2/sandboxes', '-H', 'Idempotency-Key: k'], 'Use --idempotency-key.'],
    ['an invalid field', ['POST', '/v2/sandboxes', '-f', 'nonsense'], '-f must be KEY=VALUE'],
    ['a missing file', ['POST', '/v2/sandboxes', '--input', 'nowhere.json'], 'nowhere.json cannot be read'],
    ['a file that is no JSON', ['POST', '/v2/sandboxes', '--input', 'broken.json'], 'broken.json is not valid JSON'],
    [
      'such a file of another kind of JSON',
      ['POST', '/v2/sandboxes', '--input', 'broken.json', '-H', 'Content-Type: application/merge-patch+json'],
      'broken.json is not valid JSON',
    ],
  ])('rejects %s', async (_, argv, message) => {
    await service.file('broken.json', '{');
    const refusal = await api(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(refusal.stderr).not.toContain('stolen');
  });

  it('reports the errors of the service', async () => {
    const failure = await api('/v2/agents/00000000-0000-4000-8000-000000000006');
    expect(failure).toMatchObject({ code: 3, stdout: '' });
    const refusal = await api('/v2/nothing-here');
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    const badRequest = await api('POST', 'teams/{team}/runs', '-f', 'agent_id=5', '--json');
    expect(badRequest).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(badRequest.stderr)).toMatchObject({ error: { status: 400, exit: 2 } });
  });
});
