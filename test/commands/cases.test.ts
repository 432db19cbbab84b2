import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Case, Queue } from '../../src/interface/types.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const unknownId = '00000000-0000-4000-8000-000000000001';
let names = 0;

/** A new queue with these cases. */
async function queue(cases: object[] = []): Promise<{ name: string; ids: string[] }> {
  const name = `queue-${++names}`;
  const { queue } = await service.api<{ queue: Queue }>('POST', `/teams/${service.service.teamId}/queues`, { name });
  if (cases.length === 0) return { name, ids: [] };
  const { added_cases } = await service.api<{ added_cases: Case[] }>('POST', `/queues/${queue.id}/cases`, { cases });
  return { name, ids: added_cases.map(({ id }) => id) };
}

const read = async (id: string): Promise<Case> => (await service.api<{ case: Case }>('GET', `/cases/${id}`)).case;
const titles = (stdout: string): string[] => stdout.trimEnd().split('\n');

describe('cases create', () => {
  it('adds a case with data from the command line, a file or standard input', async () => {
    const { name } = await queue();
    await service.file('invoice.json', '{"amount": 120}');
    const argv = ['cases', 'create', name, 'Invoice 7'];
    const createResult = await service.cli([
      ...argv,
      '--data',
      '@invoice.json',
      '--label',
      'vendor=acme',
      '--label',
      'new',
      '--priority',
      'high',
      '--json',
    ]);
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    expect(createResult.json<Case>()).toMatchObject({
      title: 'Invoice 7',
      data: '{"amount": 120}',
      priority: 'high',
      display_status: 'pending',
    });
    expect(createResult.json<Case>().labels.map(({ key, value }) => [key, value])).toEqual([
      ['', 'new'],
      ['vendor', 'acme'],
    ]);
    const pipedResult = await service.cli([...argv, '--data', '-', '--json'], { stdin: 'from a pipe' });
    expect(pipedResult.json()).toMatchObject({ data: 'from a pipe', priority: 'none' });
  });

  it('requires a title, a queue and valid labels', async () => {
    const { name } = await queue();
    expect((await service.cli(['cases', 'create', name])).stderr).toBe(
      'error: The case needs a title.\nhint: Use `aops cases create QUEUE TITLE`, or import cases with --from FILE.\n',
    );
    expect((await service.cli(['cases', 'create', 'nowhere', 'x'])).code).toBe(3);
    for (const invalidInput of [
      ['--label', 'key='],
      ['--priority', 'urgent'],
      ['--title', ''],
      ['--data', '@nowhere.json'],
    ])
      expect(await service.cli(['cases', 'create', name, 'x', ...invalidInput])).toMatchObject({ code: 2, stdout: '' });
    expect((await service.cli(['cases', 'list', name, '--json'])).json()).toMatchObject({ total: 0 });
  });
});

describe('cases list and search', () => {
  it('filter, sort and paginate', async () => {
    const { name, ids } = await queue([
      { title: 'a', priority: 'high', data: 'one needle here', labels: [{ key: 'vendor', value: 'acme' }] },
      { title: 'b', labels: [{ key: 'vendor', value: 'zeta' }, { value: 'new' }] },
      { title: 'c' },
    ]);
    await service.api('POST', `/queues/${(await read(ids[2] as string)).queue_id}/cases/bulk-update-status`, {
      case_ids: [ids[2]],
      status: 'failed',
    });
    const list = async (...argv: string[]) => titles((await service.cli(['cases', ...argv, '--fields', 'title'])).stdout);
    expect(await list('list', name)).toEqual(['c', 'b', 'a']);
    expect(await list('list', name, '--sort-order', 'asc', '--limit', '2')).toEqual(['a', 'b']);
    expect(await list('list', name, '--status', 'failed')).toEqual(['c']);
    expect(await list('list', name, '--status', 'pending', '--status', 'failed', '--priority', 'none')).toEqual(['c', 'b']);
    expect(await list('list', name, '--created-since', 'tomorrow')).toEqual(['']);
    expect(await list('search', name, 'needle')).toEqual(['a']);
    expect(await list('search', name, '--label', 'vendor=acme', '--label', 'vendor=zeta', '--sort-order', 'asc')).toEqual(['a', 'b']);
    expect(await list('search', name, '--label', 'vendor=zeta', '--label', 'new')).toEqual(['b']);
    expect(await list('list', name, '--label', 'vendor=acme', '--label', 'vendor=zeta', '--sort-order', 'asc')).toEqual(['a', 'b']);
    const searchResult = await service.cli(['cases', 'search', name, 'needle'], { tty: true, columns: 120 });
    expect(searchResult.stdout).toContain('one needle here');
    const emptyResult = await service.cli(['cases', 'search', name, 'nothing']);
    expect(emptyResult).toMatchObject({ code: 0, stdout: '', stderr: 'No cases match.\n' });
    expect(await service.cli(['cases', 'list', name, '--status', 'open'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('cases get', () => {
  it('shows the case, its data and its history', async () => {
    const { ids } = await queue([{ title: 'a', data: '{"amount":3}' }]);
    const [id] = ids as [string];
    const result = await service.cli(['cases', 'get', id, '--color', 'never'], { tty: true });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/Title: +a\n/);
    expect(result.stdout).toContain('{"amount":3}');
    expect(result.stdout).toMatch(/WHAT HAPPENED/);
    expect((await service.cli(['cases', 'get', id, '--jq', '.data | fromjson | .amount'])).stdout).toBe('3\n');
    // The fields are those of a row of the list, plus the history.
    const [listedCase] = (
      await service.cli(['cases', 'list', (await service.cli(['cases', 'get', id, '--jq', '.queue_id'])).stdout.trim(), '--json'])
    ).json<{ data: object[] }>().data;
    expect((await service.cli(['cases', 'get', id, '--json'])).json()).toEqual({
      ...listedCase,
      events: [expect.objectContaining({ type: 'created' })],
      approvalBatches: [],
    });
    expect((await service.cli(['cases', 'get', id, '-o', 'id'])).stdout).toBe(`${id}\n`);
    expect(await service.cli(['cases', 'get', unknownId])).toMatchObject({ code: 3, stdout: '' });
    expect(await service.cli(['cases', 'get', 'a'])).toMatchObject({ code: 2, stdout: '' });
    expect(await service.cli(['cases', 'runs', id])).toMatchObject({ code: 0, stdout: '', stderr: 'No run has worked on this case.\n' });
    expect(await service.cli(['cases', 'messages', id])).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('cases wait', () => {
  it('ends when all cases are done and prints the counts', async () => {
    const { name, ids } = await queue([{ title: 'a' }, { title: 'b' }]);
    await service.agent('- complete_case: fine', 'finisher');
    const pendingResult = service.cli(['cases', 'wait', '-', '--timeout', '60s'], { stdin: ids.join('\n') });
    await service.cli(['agents', 'triggers', 'create', 'finisher', '--queue', name]);
    expect(await pendingResult).toMatchObject({ code: 0, stdout: '2 completed cases\n' });
    const argv = ['cases', 'wait', '--queue', name, '--all-matching'];
    expect((await service.cli([...argv, '--json'])).json()).toEqual({
      pending: 0,
      in_progress: 0,
      needs_input: 0,
      postponed: 0,
      completed: 2,
      failed: 0,
    });
    await service.cli(['cases', 'set-status', ids[0] as string, '--to', 'failed']);
    const failure = await service.cli([...argv, '--jq', '.failed']);
    expect(failure).toMatchObject({ code: 10, stdout: '1\n' });
    expect(failure.stderr).toContain('error: 1 case failed.');
    expect((await service.cli([...argv, '--search', 'b'])).code).toBe(0);
  });

  it('ends with 12 when human input is missing, unless someone else will respond', async () => {
    const { name, ids } = await queue([{ title: 'asks' }]);
    await service.agent('- approve: { id: a, title: "Fine?" }\n- complete_case: yes', 'asker');
    await service.cli(['agents', 'triggers', 'create', 'asker', '--queue', name]);
    const argv = ['cases', 'wait', '--queue', name, '--all-matching', '--timeout', '60s'];
    const result = await service.cli(argv);
    expect(result).toMatchObject({ code: 12, stdout: '1 case that needs input\n' });
    expect(result.stderr).toContain('error: 1 case needs human input.\nhint: Respond with `aops inbox`');
    const run = (await service.cli(['cases', 'runs', ids[0] as string, '-o', 'id'])).stdout.trim();
    const pendingResult = service.cli([...argv, '--on-request', 'wait']);
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
    expect(await pendingResult).toMatchObject({ code: 0, stdout: '1 completed case\n' });
  });

  it('ends with 12 when cases are blocked by one that needs human input and the agent processes one at a time', async () => {
    const { name, ids } = await queue([{ title: 'asks', data: 'ask' }, { title: 'next' }, { title: 'last' }]);
    await service.agent('- if: case.data == "ask"\n  approve: { id: a, title: "Fine?" }\n- complete_case: yes', 'one-by-one');
    await service.cli(['agents', 'triggers', 'create', 'one-by-one', '--queue', name, '--concurrency', '1']);
    const [first, next] = ids as [string, string];
    const argv = ['cases', 'wait', '--queue', name, '--all-matching', '--timeout', '60s'];
    const result = await service.cli(argv);
    expect(result).toMatchObject({ code: 12, stdout: '3 cases: 2 pending, 1 needs input\n' });
    expect(result.stderr).toContain(
      'error: 1 case needs human input. 2 pending cases cannot start until then.\nhint: Respond with `aops inbox`',
    );
    // The same applies if the blocking case is not among those waited for.
    const proxyResult = await service.cli(['cases', 'wait', next, '--timeout', '60s', '--json']);
    expect(proxyResult).toMatchObject({ code: 12 });
    expect(proxyResult.json()).toMatchObject({ pending: 1, needs_input: 0 });
    expect(proxyResult.stderr).toContain('1 pending case is blocked by other cases that need human input.');
    expect(await service.cli(['cases', 'wait', next, '--on-request', 'wait', '--timeout', '2s'])).toMatchObject({ code: 9 });
    // Another agent can take them.
    await service.agent('- sleep: 1h', 'second');
    await service.cli(['agents', 'triggers', 'create', 'second', '--queue', name]);
    expect(await service.cli(['cases', 'wait', next, '--timeout', '2s'])).toMatchObject({ code: 9 });
    await service.cli(['agents', 'delete', 'second', '--yes']);

    const run = (await service.cli(['cases', 'runs', first, '-o', 'id'])).stdout.trim();
    const pendingResult = service.cli([...argv, '--on-request', 'wait']);
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
    expect(await pendingResult).toMatchObject({ code: 0, stdout: '3 completed cases\n' });
  });

  it('misses no case that changes its status while cases are counted', async () => {
    // Each round requests the total and six statuses. The case changes in the first and the third round, just before it would be counted.
    const rounds = ['moves', 'claimed', 'moves', 'completed', 'completed'];
    let requestCount = 0;
    const server = createServer(async (request, response) => {
      const { filters } = JSON.parse(await text(request)) as { filters: { status: string[] } };
      const status = rounds[Math.floor(requestCount++ / 7)] ?? 'completed';
      const total = filters.status.length === 6 || filters.status.includes(status) ? 1 : 0;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ cases: [], total, limit: 1, offset: 0 }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const env = { AOPS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    try {
      expect(await service.cli(['cases', 'wait', '--queue', unknownId, '--all-matching'], { env })).toMatchObject({
        code: 0,
        stdout: '1 completed case\n',
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('ends with 9 when the timeout expires', async () => {
    const { ids } = await queue([{ title: 'nobody takes it' }]);
    expect(await service.cli(['cases', 'wait', ids[0] as string, '--timeout', '300ms'])).toMatchObject({ code: 9, stdout: '' });
  });
});

describe('bulk commands', () => {
  it('accept IDs of cases in several queues and add up the results', async () => {
    const firstQueue = await queue([{ title: 'a' }, { title: 'b', priority: 'high' }]);
    const secondQueue = await queue([{ title: 'c' }]);
    const ids = [...firstQueue.ids, ...secondQueue.ids];
    const changeResult = await service.cli(['cases', 'set-priority', ...ids, '--to', 'high']);
    expect(changeResult).toMatchObject({ code: 0, stdout: 'Changed 2 cases. Skipped 1 case.\n', stderr: '3 pending cases\n' });
    const failure = await service.cli(['cases', 'set-status', ...ids, '--to', 'failed', '--json']);
    expect(failure.json()).toEqual({ updatedCount: 3, skippedCount: 0, interruptedRunIds: [] });
    expect((await service.cli(['cases', 'retry', ...ids])).stdout).toBe('Retrying 3 cases.\n');
    expect((await service.cli(['cases', 'retry', ...ids])).stdout).toBe('Retrying 0 cases. Skipped 3 cases.\n');
  });

  it('accept many IDs from standard input', async () => {
    const { name, ids } = await queue(Array.from({ length: 60 }, (_, index) => ({ title: `case ${index}` })));
    const otherQueue = await queue([{ title: 'elsewhere' }]);
    const listResult = await service.cli(['cases', 'list', name, '--limit', '45', '-o', 'id']);
    const stdin = `${listResult.stdout}${otherQueue.ids.join('')}\n${ids[59]}\n`;
    const changeResult = await service.cli(['cases', 'set-priority', '-', ids[0] as string, '--to', 'high'], { stdin });
    expect(changeResult).toMatchObject({ code: 0, stdout: 'Changed 47 cases.\n', stderr: '47 pending cases\n' });
    expect((await service.cli(['cases', 'list', name, '--priority', 'high', '--all', '-o', 'id'])).stdout.split('\n')).toHaveLength(47);
    const [otherCaseId] = otherQueue.ids as [string];
    expect(await service.cli(['cases', 'delete', '-', '--yes'], { stdin: `${otherCaseId}\n` })).toMatchObject({
      code: 0,
      stdout: 'Deleted 1 case.\n',
    });
    // One of many cases was deleted.
    const refusal = await service.cli(['cases', 'retry', '-'], { stdin: stdin.replace(ids[59] as string, unknownId) });
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect((await service.cli(['cases', 'retry', '-'], { stdin: ' \n' })).stderr).toContain('Standard input contains no IDs.');
    expect((await service.cli(['cases', 'retry', '-'], { stdin: 'x' })).stderr).toContain(
      'Each word on standard input must be an ID, not "x".',
    );
  });

  it('filter by the statuses that lists show and by those of the interface', async () => {
    const { name } = await queue([{ title: 'a' }]);
    for (const status of ['in_progress', 'claimed'])
      expect(await service.cli(['cases', 'list', name, '--status', status])).toMatchObject({
        code: 0,
        stdout: '',
        stderr: 'Nothing matches the filters.\n',
      });
    const refusal = await service.cli(['cases', 'list', name, '--status', 'inprogress']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('hint: Did you mean in_progress?');
    expect((await service.cli(['cases', 'list', (await queue()).name])).stderr).toContain('There are no cases. Add one');
  });

  it('filter by labels whose keys are names of inherited properties', async () => {
    const { name } = await queue([{ title: 'a', labels: [{ key: 'constructor', value: 'x' }] }, { title: 'b' }]);
    for (const [label, titles] of [
      ['constructor=x', ['a']],
      ['__proto__=x', []],
    ] as const) {
      const searchResult = await service.cli(['cases', 'list', name, '--label', label, '--json']);
      expect(searchResult).toMatchObject({ code: 0 });
      expect(searchResult.json<{ data: Case[] }>().data.map(({ title }) => title)).toEqual(titles);
    }
  });

  it('select all matching cases and show the counts first', async () => {
    const { name, ids } = await queue([{ title: 'a1' }, { title: 'a2' }, { title: 'b' }]);
    await service.cli(['cases', 'set-status', ids[0] as string, ids[2] as string, '--to', 'failed']);
    const allFlags = ['--queue', name, '--all-matching'];
    // Only failed cases by default.
    const retryResult = await service.cli(['cases', 'retry', ...allFlags, '--search', 'a']);
    expect(retryResult).toMatchObject({ code: 0, stdout: 'Retrying 1 case.\n', stderr: '1 failed case\n' });
    const refusal = await service.cli(['cases', 'delete', ...allFlags, '--search', 'a']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(
      /^2 pending cases\nerror: This needs confirmation, and there is no interactive terminal: Delete 2 pending cases\?/,
    );
    const deleteResult = await service.cli(['cases', 'delete', ...allFlags, '--search', 'a', '--yes', '--json']);
    expect(deleteResult.json()).toEqual({ deletedCount: 2, interruptedRunIds: [] });
    const emptyResult = await service.cli(['cases', 'delete', ...allFlags, '--search', 'a', '--yes']);
    expect(emptyResult).toMatchObject({ code: 3, stdout: '' });
    expect(emptyResult.stderr).toContain('error: No cases match.');
    expect((await service.cli(['cases', 'list', name, '--fields', 'title'])).stdout).toBe('b\n');
    // A single case has its own operation.
    expect((await service.cli(['cases', 'delete', ids[2] as string, '--yes'])).stdout).toBe('Deleted 1 case.\n');
  });

  it('need confirmation before completed cases are processed again', async () => {
    const { ids } = await queue([{ title: 'a' }]);
    const [id] = ids as [string];
    await service.cli(['cases', 'set-status', id, '--to', 'completed']);
    for (const argv of [
      ['reprocess', id],
      ['set-status', id, '--to', 'pending'],
    ]) {
      const refusal = await service.cli(['cases', ...argv]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('--yes');
    }
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect((await service.cli(['cases', 'reprocess', id, '--yes'])).stdout).toBe('Reprocessing 1 case.\n');
    expect(await read(id)).toMatchObject({ status: 'pending' });
    await service.agent('- say: hi', 'helper');
    expect((await service.cli(['cases', 'reprocess', id, '--agent', 'nobody'])).code).toBe(3);
    expect((await service.cli(['cases', 'reprocess', id, '--agent', 'helper'])).stdout).toBe('Delegated 1 case.\n');
  });

  it('name the missing input', async () => {
    const { name, ids } = await queue([{ title: 'a' }]);
    const otherQueue = await queue();
    const [id] = ids as [string];
    for (const [argv, message] of [
      [[], 'No cases were specified.'],
      [['--all-matching'], '--all-matching requires a queue.'],
      [[id, '--all-matching', '--queue', name], '--all-matching cannot be combined with the IDs of cases.'],
      [[id, '--status', 'failed'], 'Filters require --all-matching.'],
      [[id, '--queue', otherQueue.name], `The case ${id} is in another queue.`],
      [['a'], 'CASES must be an ID'],
    ] as const) {
      const refusal = await service.cli(['cases', 'delete', '--yes', ...argv]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(`error: ${message}`);
    }
    expect((await service.cli(['cases', 'delete', unknownId, '--yes'])).code).toBe(3);
    expect((await service.cli(['cases', 'set-status', id])).stderr).toContain('--to');
  });
});

describe('cases labels', () => {
  it('are added to and removed from a case', async () => {
    const { ids } = await queue([{ title: 'a' }]);
    const [id] = ids as [string];
    const addResult = await service.cli(['cases', 'labels', 'add', id, 'vendor=acme', 'urgent', '--fields', 'key,value']);
    expect(addResult).toMatchObject({ code: 0, stdout: '\turgent\nvendor\tacme\n', stderr: '' });
    expect((await service.cli(['cases', 'labels', 'remove', id, 'urgent'])).stdout).toBe('Removed urgent.\n');
    const refusal = await service.cli(['cases', 'labels', 'remove', id, 'urgent']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toBe('error: The case has no label "urgent".\nhint: Its labels are: vendor=acme\n');
    expect((await service.cli(['cases', 'labels', 'list', id, '--fields', 'value'])).stdout).toBe('acme\n');
  });
});

describe('retired operations', () => {
  it('report the new path and do not follow the redirect', async () => {
    const { ids } = await queue([{ title: 'a' }]);
    const { queue_id } = await read(ids[0] as string);
    const answer = await service.cli(['api', `/v2/queues/${queue_id}/cases/bulk-retry`, '-F', `case_ids[]=${ids[0]}`]);
    expect(answer).toMatchObject({ code: 1, stdout: '' });
    expect(answer.stderr).toContain(`redirect to /v2/queues/${queue_id}/cases/bulk-reprocess`);
    expect(answer.stderr).toContain('hint: Send the request to that path instead.');
  });
});
