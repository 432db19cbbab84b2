import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { runPromptly } from '../support/promptly.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';

const noRun = '00000000-0000-4000-8000-000000000002';
const vendor = '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }';
const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid';

let service: TestService;
let greeter: string;
beforeAll(async () => {
  service = await startTestService();
  greeter = await service.agent('- say: "Hello {{message}}"', 'greeter');
});

describe('runs start', () => {
  it('starts a run of the specified agent', async () => {
    const startResult = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'World', '--json']);
    expect(startResult).toMatchObject({ code: 0, stderr: '' });
    const run = startResult.json<{ id: string; agent_id: string; status: string }>();
    expect(run).toMatchObject({ agent_id: greeter });
    await service.until(run.id, 'completed');
    expect(await service.texts(run.id)).toContain('Hello World');
  });

  it('prints only the ID with -o id, and a record otherwise', async () => {
    const id = await service.cli(['runs', 'start', '--agent', greeter, '-o', 'id']);
    expect(id).toMatchObject({ code: 0, stderr: '' });
    expect(id.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    const record = await service.cli(['runs', 'start', '--agent', greeter]);
    expect(record.stdout).toMatch(/^Number\t\d+\nID\t[0-9a-f-]{36}\nStatus\t\w+\nAgent\t[0-9a-f-]{36}\nSandbox\t/);
  });

  it('reads the message from standard input', async () => {
    const startResult = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', '-', '-o', 'id'], { stdin: 'pipe' });
    await service.until(startResult.stdout.trim(), 'completed');
    expect(await service.texts(startResult.stdout.trim())).toContain('Hello pipe');
  });

  it('rejects an empty message, which usually comes from a variable that is not set', async () => {
    const count = await service.countRuns();
    await service.file('rows.csv', 'a\n1\n');
    for (const flags of [
      ['--message', ''],
      ['--message', '-'],
      ['--message', '', '--from', 'rows.csv'],
    ])
      expect(await service.cli(['runs', 'start', '--agent', 'greeter', ...flags])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('--message is empty.'),
      });
    expect(await service.countRuns()).toBe(count);
  });

  it('says what to do with a message that is too long', async () => {
    const result = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', '-'], { stdin: 'x'.repeat(1_100_000) });
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('hint: Shorten the input.') });
  });

  it('uploads files and folders for the run', async () => {
    await service.file('up/data/a.txt', 'a');
    await service.file('up/data/deep/b.txt', 'bb');
    await service.file('up/one.csv', '1');
    const lister = await service.agent('- exec: { id: files, run: "find . -type f | sort" }\n- say: "{{ steps.files.stdout }}"');
    const startResult = await service.cli([
      'runs',
      'start',
      '--agent',
      lister,
      '--upload',
      'up/data',
      '--upload',
      'up/one.csv',
      '-o',
      'id',
    ]);
    expect(startResult).toMatchObject({ code: 0, stderr: '' });
    await service.until(startResult.stdout.trim(), 'completed');
    expect(await service.texts(startResult.stdout.trim())).toContain('./data/a.txt\n./data/deep/b.txt\n./one.csv');
  });

  it.each([
    ['an unknown agent', ['--agent', 'nobody'], 3, 'There is no agent "nobody".'],
    ['a missing agent id', ['--agent', noRun], 3, 'agent'],
    ['a missing file', ['--agent', 'greeter', '--upload', 'nowhere.csv'], 2, 'nowhere.csv cannot be read: there is no such file.'],
    [
      'two files of one name',
      ['--agent', 'greeter', '--upload', 'same.txt', '--upload', 'other/same.txt'],
      2,
      'Two of the files would be uploaded to /workspace/same.txt.',
    ],
    [
      'a missing answers file',
      ['--agent', 'greeter', '--answers', 'nowhere.yaml'],
      2,
      'nowhere.yaml cannot be read: there is no such file.',
    ],
    ['an invalid answers file', ['--agent', 'greeter', '--answers', 'same.txt'], 2, 'same.txt must be a map.'],
    ['--on-request without --watch', ['--agent', 'greeter', '--on-request', 'fail'], 2, '--on-request requires --watch.'],
    [
      'prompts without a terminal',
      ['--agent', 'greeter', '--watch', '--on-request', 'prompt'],
      2,
      '--on-request prompt needs an interactive terminal.',
    ],
    [
      'an unknown word for a flag',
      ['--agent', 'greeter', '--watch', '--on-request', 'shrug'],
      2,
      '--on-request must be prompt, wait, or fail, not "shrug".',
    ],
    ['a missing sandbox', ['--agent', 'greeter', '--sandbox', noRun], 3, 'sandbox'],
    ['a webhook that is no URL', ['--agent', 'greeter', '--webhook-url', 'nonsense'], 2, '--webhook-url'],
    [
      'a broken duration',
      ['--agent', 'greeter', '--timeout', 'soon'],
      2,
      '--timeout must be a duration such as 500ms, 30s, 5m, 2h, or 7d, not "soon".',
    ],
  ])('starts nothing for %s', async (_, argv, code, message) => {
    await service.file('same.txt', 'x');
    await service.file('other/same.txt', 'y');
    const runs = await service.countRuns();
    const refusal = await service.cli(['runs', 'start', ...argv]);
    expect(refusal.stdout).toBe('');
    expect(refusal.stderr).toMatch(/^error: /);
    expect(refusal.stderr).toContain(message);
    expect(refusal.code).toBe(code);
    const json = await service.cli(['runs', 'start', ...argv, '--json']);
    expect(json).toMatchObject({ code, stdout: '' });
    expect((JSON.parse(json.stderr) as { error: { exit: number } }).error.exit).toBe(code);
    expect(await service.countRuns()).toBe(runs);
  });
});

describe('runs get', () => {
  it('shows the run with its pending human request', async () => {
    const run = await service.waiting(vendor);
    const getResult = await service.cli(['runs', 'get', run, '--json']);
    expect(getResult).toMatchObject({ code: 0, stderr: '' });
    expect(getResult.json()).toMatchObject({
      id: run,
      status: 'waiting',
      pending_human_request: {
        type: 'question',
        title: 'Which vendor?',
        questions: [{ question: 'Which vendor?', options: [{ label: 'Acme GmbH' }, { label: 'Acme Inc' }] }],
      },
    });
    const result = await service.cli(['runs', 'get', run], { tty: true });
    expect(result.stdout).toContain('one of: Acme GmbH | Acme Inc');
    expect((await service.cli(['runs', 'get', '@latest', '-o', 'id'])).stdout).toBe(`${run}\n`);
  });

  it('reports a missing run and an invalid ID', async () => {
    const refusal = await service.cli(['runs', 'get', noRun]);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toMatch(/^error: .*run/i);
    const invalidResult = await service.cli(['runs', 'get', 'my-run']);
    expect(invalidResult).toMatchObject({ code: 2, stdout: '' });
    expect(invalidResult.stderr).toContain('error: "my-run" does not name a run.');
  });

  it('reports that there is no newest run', async () => {
    const emptyService = await startTestService();
    const emptyResult = await emptyService.cli(['runs', 'get', '@latest']);
    expect(emptyResult).toMatchObject({ code: 3, stdout: '' });
    expect(emptyResult.stderr).toContain('error: There are no runs yet.');
    const list = await emptyService.cli(['runs', 'list']);
    expect(list).toMatchObject({ code: 0, stdout: '' });
    expect(list.stderr).toContain('There are no runs.');
  });
});

describe.each(['get', 'watch', 'wait', 'stop', 'messages', 'detail', 'report', 'pages', 'files', 'screenshots'])('runs %s', (verb) => {
  it('reports a missing run', async () => {
    const refusal = await service.cli(['runs', verb, noRun]);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toMatch(/^error: /);
    const json = await service.cli(['runs', verb, noRun, '--json']);
    expect(json).toMatchObject({ code: 3, stdout: '' });
    expect((JSON.parse(json.stderr) as { error: unknown }).error).toMatchObject({ exit: 3, status: 404 });
  });
});

describe.each(['get', 'wait'])('runs %s', (verb) => {
  it('has a line for the error only if there is one', async () => {
    const completedRun = await service.run('- say: fine');
    const failedRun = await service.run('- fail: "no luck"');
    await Promise.all([service.until(completedRun, 'completed'), service.until(failedRun, 'failed')]);
    for (const tty of [true, false]) {
      const result = await service.cli(['runs', verb, completedRun], { tty });
      expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') });
      expect(result.stdout).not.toContain('Error');
      expect((await service.cli(['runs', verb, failedRun, '--color', 'never'], { tty })).stdout).toMatch(/^Error:?\s+no luck$/m);
    }
  });
});

describe('runs list', () => {
  it('filters by agent, status and time', async () => {
    const otherAgent = await service.agent('- fail: "no luck"', 'unlucky');
    const run = await service.start(otherAgent);
    await service.until(run, 'failed');
    const failure = await service.cli(['runs', 'list', '--agent', 'unlucky', '--status', 'failed', '--json']);
    expect(failure).toMatchObject({ code: 0, stderr: '' });
    expect(failure.json()).toMatchObject({ data: [{ id: run, status: 'failed', agent_name: 'unlucky' }], total: 1, limit: 20, offset: 0 });
    expect((await service.cli(['runs', 'list', '--agent', 'unlucky', '--status', 'completed'])).stdout).toBe('');
    expect((await service.cli(['runs', 'list', '--until', '2020-01-01T00:00:00Z', '-o', 'id'])).stdout).toBe('');
    expect((await service.cli(['runs', 'list', '--since', '2020-01-01T00:00:00Z', '--agent', 'unlucky', '-o', 'id'])).stdout).toBe(
      `${run}\n`,
    );
  });

  it('is tab-separated in a pipe and a table on a terminal', async () => {
    const run = await service.start(greeter);
    await service.until(run, 'completed');
    const pipedResult = await service.cli(['runs', 'list', '--limit', '1']);
    expect(pipedResult.stdout).toMatch(new RegExp(`^\\d+\tcompleted\t[^\t]*\tgreeter\t\\d{4}-\\d\\d-\\d\\dT[^\t]+\t${run}\n$`));
    const table = await service.cli(['runs', 'list', '--limit', '1', '--color', 'never'], { tty: true, columns: 120 });
    expect(table.stdout).toMatch(/^RUN +STATUS +TITLE +AGENT +CREATED +ID\n/);
    expect(table.stdout).toContain(run);
    expect(table.stderr).toMatch(/Showing 1 of \d+/);
  });

  it('sends the filters to the service', async () => {
    const urls: string[] = [];
    const server = createServer((request, response) => {
      urls.push(request.url ?? '');
      response.setHeader('content-type', 'application/json').end('{"data":[],"total":0}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    whenDone(async () => void server.close());
    const env = { AOPS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const queryOf = async (...argv: string[]): Promise<URLSearchParams> => {
      expect(await service.cli(['runs', 'list', ...argv], { env })).toMatchObject({ code: 0, stdout: '' });
      return new URL(urls.at(-1) ?? '', env.AOPS_BASE_URL).searchParams;
    };
    const flags = `--user ${noRun} --queue ${noRun} --digest ${noRun} --has-issues --issue-severity medium --source api --search x`.split(
      ' ',
    );
    expect(Object.fromEntries(await queryOf(...flags, '--sort-order', 'asc', '--no-total', '--offset', '3'))).toEqual({
      user_id: noRun,
      case_queue_id: noRun,
      digest_id: noRun,
      has_issues: 'true',
      issue_severity: 'medium',
      source: 'api',
      search: 'x',
      sort_by: 'created_at',
      sort_order: 'asc',
      include_total: 'false',
      limit: '20',
      offset: '3',
    });
    expect((await queryOf('--no-has-issues')).get('has_issues')).toBe('false');
    const until = (await queryOf('--until', '2026-07-01')).get('until');
    expect(until).toBe(new Date(2026, 6, 1).toISOString());
    const since = Date.parse((await queryOf('--since', '2h')).get('since') ?? '');
    expect(Date.now() - since - 7_200_000).toBeLessThan(60_000);
  });

  it('prints only the count with --count', async () => {
    const counter = await service.agent('- say: hi', 'counter');
    for (let index = 0; index < 3; index++) await service.until(await service.start(counter), 'completed');
    const count = ['runs', 'list', '--agent', 'counter', '--since', 'today', '--count'];
    expect(await service.cli(count)).toMatchObject({ code: 0, stdout: '3\n', stderr: '' });
    expect(await service.cli([...count, '--status', 'failed'])).toMatchObject({ code: 0, stdout: '0\n', stderr: '' });
    expect((await service.cli([...count, '--json'])).json()).toEqual({ count: 3 });
    const bothResult = await service.cli([...count, '--limit', '2']);
    expect(bothResult).toMatchObject({ code: 2, stdout: '' });
    expect(bothResult.stderr).toContain('--count and --limit cannot be used together');
  });

  it('does not show a total with --no-total', async () => {
    const result = await service.cli(['runs', 'list', '--limit', '1', '--no-total', '--color', 'never'], { tty: true, columns: 120 });
    expect(result.stderr).toBe('Showing 1. See more with --all, --limit, and --offset.\n');
  });

  it('rejects invalid filters', async () => {
    const status = await service.cli(['runs', 'list', '--status', 'bored']);
    expect(status).toMatchObject({ code: 2, stdout: '' });
    expect(status.stderr).toContain('--status must be');
    const refusal = await service.cli(['runs', 'list', '--since', 'yesterday-ish']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(
      '--since must be a time such as 2026-07-01, 2026-07-01T09:30Z, today, yesterday, 30m, 2h, or 7d (ago), not "yesterday-ish".',
    );
    const user = await service.cli(['runs', 'list', '--user', 'me']);
    expect(user).toMatchObject({ code: 2, stdout: '' });
    expect(user.stderr).toContain('--user must be an ID');
  });
});

describe('runs list --since --until', () => {
  it('rejects a range that ends before it begins without a request', async () => {
    for (const argv of [
      ['--since', '2d', '--until', '3d'],
      ['--since', '2026-07-02', '--until', '2026-07-01', '--count'],
    ]) {
      const refusal = await service.cli(['runs', 'list', ...argv], { env: { AOPS_BASE_URL: 'http://127.0.0.1:9' } });
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('error: The range ends before it begins: --since is 20');
      expect(refusal.stderr).toContain('--since 3d --until 2d');
    }
    expect((await service.cli(['runs', 'list', '--since', '3d', '--until', '2d'])).code).toBe(0);
  });
});

describe('runs send', () => {
  it('resumes a completed run', async () => {
    const run = await service.start(greeter, 'one');
    await service.until(run, 'completed');
    const sendResult = await service.cli(['runs', 'send', run, 'two', '--json']);
    expect(sendResult).toMatchObject({ code: 0, stderr: '' });
    expect(sendResult.json()).toMatchObject({ text_content: 'two' });
    await service.cli(['runs', 'wait', run]);
    expect(await service.texts(run)).toEqual(expect.arrayContaining(['Hello one', 'Hello two']));
  });

  it('reads a long message from standard input and rejects an empty one', async () => {
    const run = await service.start(greeter, 'one');
    expect((await service.cli(['runs', 'send', run, '-'], { stdin: 'from a pipe' })).stdout).toContain('from a pipe');
    const emptyResult = await service.cli(['runs', 'send', run, '']);
    expect(emptyResult).toMatchObject({ code: 2, stdout: '' });
    expect(emptyResult.stderr).toMatch(/^error: .*message/i);
  });
});

describe('runs stop', () => {
  it('stops a running command within a second', async () => {
    const run = await service.run('- exec: { id: long, run: "echo $$ > pid; sleep 60" }');
    // The call is reported before the command has started.
    let pid = 0;
    await eventually('the command has said who it is', async () => {
      pid = Number((await service.cli(['sandbox', 'cat', run, 'pid'])).stdout);
      return pid > 1;
    });
    const stopResult = await runPromptly(async () => {
      const result = await service.cli(['runs', 'stop', run]);
      await service.until(run, 'interrupted');
      return result;
    }, 1_000);
    expect(stopResult).toMatchObject({ code: 0, stderr: '' });
    await eventually('the command is gone', () => !isAlive(pid));
  });

  it.each(['- sleep: 1h', pay])('stops a run that executes %s, and succeeds when repeated', async (steps) => {
    const run = await service.run(steps);
    await service.until(run, 'running', 'waiting');
    expect((await service.cli(['runs', 'stop', run, '--json'])).json()).toMatchObject({ id: run, success: true });
    expect((await service.until(run, 'interrupted')).request).toBeNull();
    const repeatResult = await service.cli(['runs', 'stop', run]);
    expect(repeatResult).toMatchObject({ code: 0, stderr: '' });
    expect((await service.get(run)).run.status).toBe('interrupted');
  });
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
