/** The output of every command: formats, fields, filters, --quiet, and errors in both forms. */
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { closedPort } from '../../support/ports.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let ids: string[];
beforeAll(async () => {
  service = await startTestService();
  for (const name of ['plain', 'with "quotes", and comma', 'naïve 日本 🙂']) await service.agent('- say: hi', name);
  ids = (await service.cli(['agents', 'list', '-o', 'id'])).stdout.trimEnd().split('\n');
});

const list = (...argv: string[]) => service.cli(['agents', 'list', ...argv]);

describe('formats of a list', () => {
  it('json: data, total, limit, offset', async () => {
    for (const argv of [['--json'], ['-o', 'json'], ['--output=json']]) {
      const result = await list(...argv);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(Object.keys(result.json())).toEqual(['data', 'total', 'limit', 'offset']);
      expect(result.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual(ids);
      expect(result.stdout.trimEnd()).not.toContain('\n');
    }
  });

  it('ndjson: one object per line', async () => {
    const result = await list('-o', 'ndjson');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.lines<{ id: string }>().map(({ id }) => id)).toEqual(ids);
  });

  it('yaml', async () => {
    const result = await list('-o', 'yaml');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(parse(result.stdout)).toEqual((await list('--json')).json());
  });

  it('csv, by RFC 4180', async () => {
    const result = await list('-o', 'csv', '--fields', 'id,name');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const [header, ...rows] = result.stdout.split('\r\n');
    expect(header).toBe('id,name');
    expect(rows).toHaveLength(4);
    expect(result.stdout).toContain(',"with ""quotes"", and comma"\r\n');
    expect(result.stdout).toContain(',naïve 日本 🙂\r\n');
  });

  it('id: nothing else', async () => {
    expect(await list('-o', 'id')).toMatchObject({ code: 0, stdout: `${ids.join('\n')}\n`, stderr: '' });
  });

  it('table: tab-separated without header or colour off a terminal', async () => {
    const result = await list();
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const lines = result.stdout.slice(0, -1).split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.split('\t')).toHaveLength(6);
    expect(result.stdout).toContain('\tnaïve 日本 🙂\t');
  });

  it('table: aligned, with a header, cut to the width on a terminal', async () => {
    const result = await service.cli(['agents', 'list', '--color', 'never'], { tty: true, columns: 90 });
    const [header = '', ...rows] = result.stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +NAME +RUNTIME +REVISION +LAST RUN$/);
    expect(rows).toHaveLength(3);
    for (const line of rows) expect(line.length).toBeLessThanOrEqual(90);
  });

  it('reports an empty list on stderr', async () => {
    const emptyResult = await service.cli(['runs', 'list']);
    expect(emptyResult).toMatchObject({ code: 0, stdout: '' });
    expect(emptyResult.stderr).toBe('There are no runs. Start one with `aops runs start --agent AGENT`.\n');
    expect(await service.cli(['runs', 'list', '--json'])).toMatchObject({
      code: 0,
      stdout: '{"data":[],"total":0,"limit":20,"offset":0}\n',
      stderr: '',
    });
    for (const format of ['ndjson', 'id']) expect(await service.cli(['runs', 'list', '-o', format])).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('formats of one resource', () => {
  it('is the resource itself', async () => {
    const asJson = (await service.cli(['agents', 'get', 'plain', '--json'])).json();
    expect(asJson).toMatchObject({ name: 'plain' });
    expect((await service.cli(['agents', 'get', 'plain', '-o', 'ndjson'])).lines()).toEqual([asJson]);
    expect(parse((await service.cli(['agents', 'get', 'plain', '-o', 'yaml'])).stdout)).toEqual(asJson);
    expect((await service.cli(['agents', 'get', 'plain', '-o', 'csv', '--fields', 'name'])).stdout).toBe('name\r\nplain\r\n');
    expect((await service.cli(['agents', 'get', 'plain'])).stdout).toContain('Name\tplain\n');
  });
});

describe('--fields and --jq', () => {
  it('narrow the result', async () => {
    const singleResult = await service.cli(['agents', 'get', 'plain', '--fields', 'name,team_id', '--json']);
    expect(singleResult.json()).toEqual({ name: 'plain', team_id: service.service.teamId });
    const nestedResult = await list('--fields', 'name,latest_build.revision_number', '--json');
    expect(nestedResult.json<{ data: unknown[] }>().data).toContainEqual({ name: 'plain', latest_build: { revision_number: 1 } });
    const table = await list('--fields', 'name');
    expect(table.stdout.split('\n')).toContain('plain');
  });

  it('filter it', async () => {
    expect(await list('--jq', '.data | length')).toMatchObject({ code: 0, stdout: '3\n', stderr: '' });
    expect((await list('--jq', '.data[].name')).stdout.trimEnd().split('\n')).toContain('naïve 日本 🙂');
    expect((await list('--jq', '.data[] | select(.name == "plain") | {name}')).stdout).toBe('{"name":"plain"}\n');
  });

  it.each([
    ['an unknown field', ['--fields', 'name,nmae'], /nmae/],
    ['no field', ['--fields', ''], /field/i],
    ['a broken filter', ['--jq', '.data['], /jq/],
    ['a filter that fails', ['--jq', '.data | .name'], /jq/],
    ['an unknown format', ['-o', 'xml'], /--output must be .*not "xml"/],
    ['an unknown colour mode', ['--color', 'pink'], /--color must be .*not "pink"/],
  ])('refuse %s', async (_, argv, message) => {
    const refusal = await list(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(message);
  });
});

describe('--quiet', () => {
  it('prints only the result', async () => {
    expect(await service.cli(['runs', 'list', '--quiet'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await list('-q', '-o', 'id')).toMatchObject({ code: 0, stdout: `${ids.join('\n')}\n`, stderr: '' });
  });

  it('still prints errors', async () => {
    const refusal = await service.cli(['agents', 'get', 'nobody', '-q']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('error: There is no agent "nobody".');
  });
});

describe('errors', () => {
  const noRun = '00000000-0000-4000-8000-000000000004';

  it('are lines that say what failed, the facts, and what to do', async () => {
    const { stderr, stdout, code } = await service.cli(['runs', 'get', noRun]);
    expect({ stdout, code }).toEqual({ stdout: '', code: 3 });
    const [sentence, facts] = stderr.split('\n');
    expect(sentence).toMatch(/^error: /);
    expect(facts).toMatch(new RegExp(`^ {2}GET /v2/runs/${noRun} -> 404, request [0-9a-f-]{36}$`));
  });

  it('are one JSON object under --json, with the exit code', async () => {
    for (const argv of [['--json'], ['-o', 'json'], ['-o', 'ndjson']]) {
      const { stderr, stdout, code } = await service.cli(['runs', 'get', noRun, ...argv]);
      expect({ stdout, code }).toEqual({ stdout: '', code: 3 });
      expect(stderr.endsWith('}}\n')).toBe(true);
      const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
      expect(error).toMatchObject({
        exit: 3,
        status: 404,
        method: 'GET',
        path: `/v2/runs/${noRun}`,
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(error.code).toMatch(/^[a-z_]+$/);
      expect(error.message).toMatch(/\S/);
    }
  });

  it('are JSON when the stored format is', async () => {
    const env = { AOPS_CONFIG_DIR: `${service.folder}/json-config` };
    expect((await service.cli(['config', 'set', 'output', 'json'], { env })).code).toBe(0);
    const refusal = await service.cli(['runs', 'get', noRun], { env });
    expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { exit: 3 } });
    expect((await service.cli(['agents', 'list'], { env })).json()).toMatchObject({ total: 3 });
    expect((await service.cli(['agents', 'list', '-o', 'id'], { env })).stdout).toBe(`${ids.join('\n')}\n`);
  });

  it('carry the key of the change that failed', async () => {
    const refusal = await service.cli(['agents', 'create', 'plain', '--idempotency-key', 'my-key-1', '--json']);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { exit: 6, status: 409, method: 'POST', idempotency_key: 'my-key-1' } });
  });

  it('4 for a key that is not accepted, 8 for a service that is not there', async () => {
    const refusal = await service.cli(['agents', 'list'], { env: { AOPS_API_KEY: 'aops_local_wrong' } });
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).toMatch(/hint: .*aops auth login/);
    expect(refusal.stderr).not.toContain('aops_local_wrong');
    const url = `http://127.0.0.1:${await closedPort()}`;
    const missingResult = await service.cli(['agents', 'list', '--timeout', '10s'], { env: { AOPS_BASE_URL: url } });
    expect(missingResult).toMatchObject({ code: 8, stdout: '' });
    expect(missingResult.stderr).toContain(url);
  });

  it('9 when --timeout passes', async () => {
    const lateResult = await service.cli(['agents', 'list', '--timeout', '0ms', '--json']);
    expect(lateResult).toMatchObject({ code: 9, stdout: '' });
    expect(JSON.parse(lateResult.stderr)).toMatchObject({ error: { code: 'timeout', exit: 9 } });
  });

  it('3 for a team that is not yours or not there', async () => {
    const otherResult = await service.cli(['agents', 'list', '--team', '00000000-0000-4000-8000-000000000009']);
    expect([3, 5]).toContain(otherResult.code);
    expect(otherResult.stdout).toBe('');
  });
});

describe('--debug', () => {
  it('traces requests on stderr, without the key', async () => {
    const traceResult = await list('--debug', '-o', 'id');
    expect(traceResult).toMatchObject({ code: 0, stdout: `${ids.join('\n')}\n` });
    expect(traceResult.stderr).toMatch(
      /^> GET http:\/\/127\.0\.0\.1:\d+\/v2\/teams\/\S+\/agents\?limit=…&offset=…\n> authorization: Bearer \*\*\*\n/,
    );
    expect(traceResult.stderr).toMatch(/^< 200 \(\d+ ms\)\n/m);
    expect(traceResult.stderr).toMatch(/^< ratelimit-remaining: \d+$/m);
    expect(traceResult.stderr).not.toContain(service.service.token);
  });
});

describe('colour', () => {
  const controlStart = String.fromCharCode(27);
  const colour = (argv: string[], options: { tty?: boolean; env?: Record<string, string> }): Promise<boolean> =>
    service.cli(['agents', 'get', 'plain', ...argv], options).then(({ stdout }) => stdout.includes(controlStart));

  it('is for terminals, unless somebody decides otherwise', async () => {
    expect(await colour([], { tty: true })).toBe(true);
    expect(await colour([], {})).toBe(false);
    expect(await colour(['--color', 'never'], { tty: true })).toBe(false);
    expect(await colour([], { tty: true, env: { NO_COLOR: '1' } })).toBe(false);
    expect(await colour(['--json'], {})).toBe(false);
  });
});

describe('--fields of a list without rows', () => {
  it('still finds a name that no row could have', async () => {
    const emptyQuery = ['runs', 'list', '--search', 'nothing is called that'];
    expect((await service.cli([...emptyQuery, '--json', '--fields', 'id,status'])).json()).toMatchObject({ data: [] });
    const refusal = await service.cli([...emptyQuery, '--fields', 'stats']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('The result has no field "stats".');
    expect(refusal.stderr).toContain('status');
  });
});
