/** `runs start --from`: what is started for the rows of a file, what is recorded, and how a later command continues. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StartedRow } from '../../src/commands/runs/bulk/bulk-start.ts';
import type { StartSummary } from '../../src/commands/runs/bulk/start-from-file.ts';
import type { RunListItem } from '../../src/interface/types.ts';
import { defaultPlan } from '../../src/service/store/access/plan.ts';
import { answerWith, type ForeignAnswer, ForeignService } from '../support/foreign-service.ts';
import { newRepository } from '../support/repository.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
let agentName: string;
let names = 0;
beforeAll(async () => {
  service = await startTestService();
  agentName = 'checker';
  agent = await service.agent('- say: "checked"', agentName);
});

/** A new file name, so that tests do not share ledgers. */
const newName = (extension: string): string => `rows-${++names}.${extension}`;
const exists = (name: string): boolean => existsSync(path.join(service.folder, name));

async function runsOf(agentId: string): Promise<RunListItem[]> {
  const { data } = await service.api<{ data: RunListItem[] }>(
    'GET',
    `/teams/${service.service.teamId}/runs?agent_id=${agentId}&limit=100&sort_order=asc`,
  );
  return data;
}
const titlesOf = async (agentId: string): Promise<string[]> => (await runsOf(agentId)).map(({ title }) => title).sort();
const errorOf = (stderr: string) => (JSON.parse(stderr.trim().split('\n').at(-1) as string) as { error: Record<string, unknown> }).error;

describe('runs start --from', () => {
  it('starts a run for every row, once, and continues with the same command', async () => {
    const ownAgent = await service.agent('- say: hi');
    const file = newName('csv');
    await service.file(file, 'number,vendor\n7001,Acme\n7002,"Zeta, Inc."\n');
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', file, '--message', 'Check {{ number }} of {{ vendor }}'];
    const result = await service.cli([...argv, '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const summary = result.json<StartSummary & Record<string, unknown>>();
    expect(summary).toMatchObject({
      file,
      rows: 2,
      started: 2,
      started_before: 0,
      failed: 0,
      failed_file: null,
      ledger: `${file}.aops-ledger`,
    });
    expect(await titlesOf(ownAgent)).toEqual(['Check 7001 of Acme', 'Check 7002 of Zeta, Inc.']);
    const runs = await runsOf(ownAgent);
    expect(summary.runs.map(({ id }) => id).sort()).toEqual(runs.map(({ id }) => id).sort());

    // A later command prints all runs, and starts none of them again.
    const repeat = await service.cli([...argv, '-o', 'ndjson']);
    expect(repeat).toMatchObject({ code: 0, stderr: '' });
    expect(repeat.lines<StartedRow>()).toEqual(summary.runs.toSorted((a, b) => a.row - b.row));
    expect((await service.cli(argv)).stdout).toMatch(/^File\t.*\nRows\t2\nStarted\t0\nStarted before\t2\n/);
    expect(await runsOf(ownAgent)).toHaveLength(2);

    // Other options or another file would be other work.
    const otherMessage = await service.cli(argv.with(-1, 'Check {{ number }}'));
    expect(otherMessage).toMatchObject({ code: 2, stdout: '' });
    expect(otherMessage.stderr).toContain('used different options, such as --agent, --message, or --upload');
    await service.file(file, 'number,vendor\n7001,Acme\n7003,Beta\n');
    const changed = await service.cli(argv);
    expect(changed).toMatchObject({ code: 2, stdout: '' });
    expect(changed.stderr).toContain('used a different version of the file');
    expect(changed.stderr).toContain('To start runs for new rows, put them into a new file.');
    expect(await runsOf(ownAgent)).toHaveLength(2);
  });

  it('lets a row choose its agent and its message, and uses a message that the template names as a value', async () => {
    const [first, second] = [await service.agent('- say: hi', 'row-first'), await service.agent('- say: hi', 'row-second')];
    const file = newName('ndjson');
    await service.file(file, '{"agent":"row-second","message":"own text"}\n{"message":"","id":7}\n{"id":8,"agent":null}\n');
    const result = await service.cli(['runs', 'start', '--agent', 'row-first', '--from', file, '--message', 'Row {{ id }}', '-o', 'id']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout.trimEnd().split('\n')).toHaveLength(3);
    expect([await titlesOf(first), await titlesOf(second)]).toEqual([['Row 7', 'Row 8'], ['own text']]);
    const quoting = newName('csv');
    await service.file(quoting, 'message,agent\nhello,row-second\n');
    expect((await service.cli(['runs', 'start', '--from', quoting, '--message', 'They wrote: {{ message }}'])).code).toBe(0);
    expect(await titlesOf(second)).toEqual(['They wrote: hello', 'own text']);
  });

  it.each([
    ['{{ vendr }}', 'has no column "vendr"'],
    ['{{ row["x y"] }}', 'has no column "x y"'],
    ['{{ number | nofilter }}', 'undefined filter: nofilter'],
    ['{{ number', 'not closed'],
  ])('reports the template %j before anything starts', async (template, problem) => {
    const file = newName('csv');
    await service.file(file, 'number\n1\n2\n');
    const before = await service.countRuns();
    const result = await service.cli(['runs', 'start', '--agent', agent, '--from', file, '--message', template]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(problem);
    expect(exists(`${file}.aops-ledger`)).toBe(false);
    expect(await service.countRuns()).toBe(before);
  });

  it('reports an agent that does not exist before anything starts', async () => {
    const file = newName('csv');
    await service.file(file, `agent\n${agentName}\nchecke\n`);
    const before = await service.countRuns();
    const result = await service.cli(['runs', 'start', '--from', file]);
    expect(result).toMatchObject({ code: 3, stdout: '' });
    expect(result.stderr).toContain('Did you mean checker?');
    expect(await service.countRuns()).toBe(before);
  });

  it('writes rows that failed to a file, which can be corrected and used again', async () => {
    const ownAgent = await service.agent('- say: hi');
    const file = newName('csv');
    await service.file(file, 'n,agent,upload\n1,,\n2,00000000-0000-4000-8000-000000000000,\n3,,missing.txt\n');
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', file, '--message', 'n={{ n }}', '--failed', 'again.csv', '--json'];
    const result = await service.cli(argv);
    expect(result.code).toBe(2);
    expect(result.json()).toMatchObject({ rows: 3, started: 1, failed: 2, failed_file: 'again.csv' });
    expect(errorOf(result.stderr)).toMatchObject({
      code: 'rows_failed',
      message: expect.stringMatching(/^2 rows failed \(row \d: .+; 1 more\)\.$/),
      hint: 'Correct the rows in again.csv, then start them with --from.',
    });
    const failed = await service.read('again.csv');
    expect(failed).toMatch(
      /^n,agent,upload,aops_reason\r\n2,0{8}-\S+,,.*\r\n3,,missing.txt,"?missing.txt cannot be read: there is no such file\.?"?\r\n$/,
    );
    // A failed row stays failed, even if its file appears: it may have been corrected and started from the other file.
    await service.file('missing.txt', 'now');
    expect((await service.cli(argv)).json()).toMatchObject({ started: 0, started_before: 1, failed: 2 });
    await service.file('one.csv', 'upload\nabsent.txt\n');
    const one = await service.cli(['runs', 'start', '--agent', ownAgent, '--from', 'one.csv', '--json']);
    expect(errorOf(one.stderr).message).toBe('1 row failed (row 1: absent.txt cannot be read: there is no such file).');
    await service.file('again.csv', failed.replace('00000000-0000-4000-8000-000000000000', ''));
    expect((await service.cli(['runs', 'start', '--agent', ownAgent, '--from', 'again.csv', '--message', 'n={{ n }}'])).code).toBe(0);
    expect(await titlesOf(ownAgent)).toEqual(['n=1', 'n=2', 'n=3']);
  });

  it('uploads files into a sandbox for each run', async () => {
    const ownAgent = await service.agent('- say: hi');
    await service.file('shared.txt', 'shared ');
    await service.file('own1.txt', 'one');
    await service.file('own2.txt', 'two');
    const file = newName('ndjson');
    await service.file(file, '{"upload":"own1.txt"}\n{"upload":["own2.txt"]}\n');
    const result = await service.cli(['runs', 'start', '--agent', ownAgent, '--from', file, '--upload', 'shared.txt', '-o', 'ndjson']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const contents: string[] = [];
    for (const { id, row } of result.lines<StartedRow>().toSorted((a, b) => a.row - b.row)) {
      await service.until(id, 'completed');
      const { data } = await service.api<{ data: { entries: { name: string }[] } }>('GET', `/runs/${id}/sandbox/files`);
      contents.push(`${row}: ${data.entries.map(({ name }) => name).sort()}`);
    }
    expect(contents).toEqual(['1: own1.txt,shared.txt', '2: own2.txt,shared.txt']);
  });

  it('applies --jq to the summary, whatever the format', async () => {
    const file = newName('csv');
    await service.file(file, 'n\n1\n2\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', file, '--message', '{{ n }}', '-o', 'ndjson'];
    expect(await service.cli([...argv, '--jq', '.started'])).toMatchObject({ code: 0, stdout: '2\n' });
  });

  it('reads standard input, whose ledger is removed when every row has an outcome', async () => {
    const ownAgent = await service.agent('- say: hi');
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', '-', '--from-format', 'ndjson', '--message', '{{ t }}'];
    expect((await service.cli(argv.toSpliced(6, 2), { stdin: '{"t":"a"}\n' })).stderr).toContain('Specify it with --from-format');
    const first = await service.cli([...argv, '--json'], { stdin: '{"t":"a"}\n' });
    expect(first.json()).toMatchObject({ file: '-', started: 1, ledger: null });
    expect(await readdir(path.join(service.folder, 'data/bulk'))).toEqual([]);
    // The same rows later are new work.
    expect((await service.cli([...argv, '--json'], { stdin: '{"t":"a"}\n' })).json()).toMatchObject({ started: 1, started_before: 0 });
    // With a ledger of its own, they are the same work.
    const withLedger = [...argv, '--ledger', 'stdin.ledger', '--json'];
    expect((await service.cli(withLedger, { stdin: '{"t":"b"}\n' })).json()).toMatchObject({ started: 1, ledger: 'stdin.ledger' });
    expect((await service.cli(withLedger, { stdin: '{"t":"b"}\n' })).json()).toMatchObject({ started: 0, started_before: 1 });
    expect(await titlesOf(ownAgent)).toEqual(['a', 'a', 'b']);
  });

  it.each([
    ['start', '--agent', 'x', '--from', '-', '--from-format', 'ndjson', '--message', '{{ t }}'],
    ['rerun', '--agent', 'x'],
  ])('is not done if its progress cannot be stored: runs %s', async (...argv) => {
    await service.agent('- say: hi', 'x').catch(() => undefined);
    const env = { AOPS_DATA_DIR: path.join(await service.file('in the way', ''), 'data') };
    const refusal = await service.cli(['runs', ...argv, '--json'], { stdin: '{"t":"a"}\n', env });
    expect([refusal.code, JSON.parse(refusal.stderr)]).toMatchObject([
      1,
      { error: { code: 'not_writable', hint: 'Set AOPS_DATA_DIR to another folder.' } },
    ]);
  });

  it('reads only rows from standard input, and names the file of those that failed', async () => {
    const argv = ['runs', 'start', '--agent', agent, '--from', '-', '--from-format', 'ndjson', '--json'];
    for (const message of ['-', '@-'])
      expect((await service.cli([...argv, '--message', message], { stdin: '{"t":"a"}\n' })).stderr).toContain('cannot both read standard');
    const result = await service.cli(argv, { stdin: '{"upload":"absent.txt"}\n' });
    expect(result.json()).toMatchObject({ failed: 1, failed_file: 'stdin.failed.ndjson' });
  });

  it('leaves nothing behind with --dry-run', async () => {
    const other = await startTestService();
    const ownAgent = await other.agent('- say: hi');
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', '-', '--from-format', 'ndjson', '--message', '{{ t }}', '--dry-run'];
    expect((await other.cli(argv, { stdin: '{"t":"a"}\n' })).json()).toMatchObject({ to_start: 1 });
    expect(await readdir(path.join(other.folder, 'data')).catch(() => [])).toEqual([]);
  });

  it('shows the first requests and the number of all with --dry-run', async () => {
    const file = newName('ndjson');
    await service.file(file, Array.from({ length: 5 }, (_, index) => `{"n":${index}}\n`).join(''));
    const before = await service.countRuns();
    const result = await service.cli([
      'runs',
      'start',
      '--agent',
      agent,
      '--from',
      file,
      '--message',
      'n={{ n }}',
      '--upload',
      'x.txt',
      '--dry-run',
    ]);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const plan = result.json<{ first_requests: { body: object }[] }>();
    expect(plan).toMatchObject({ rows: 5, to_start: 5, started_before: 0, failed: 0 });
    expect(plan.first_requests.map(({ body }) => body)).toEqual(
      [0, 1, 2].map((n) => ({ agent_id: agent, message: `n=${n}`, sandbox_id: '(a new sandbox with x.txt)' })),
    );
    expect([await service.countRuns(), exists(`${file}.aops-ledger`)]).toEqual([before, false]);
  });

  it.each([
    [['--watch'], '--watch cannot be combined with --from.'],
    [['--sandbox', 'x'], '--sandbox cannot be combined with --from.'],
    [['--idempotency-key', 'k'], '--idempotency-key cannot be combined with --from'],
  ])('cannot be combined with %j', async (flags, problem) => {
    const result = await service.cli(['runs', 'start', '--agent', agent, '--from', 'x.csv', ...flags]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(problem);
  });

  it('is required by the flags about rows, and otherwise an agent is', async () => {
    expect((await service.cli(['runs', 'start', '--agent', agent, '--concurrency', '2'])).stderr).toContain(
      '--concurrency requires --from.',
    );
    expect((await service.cli(['runs', 'start', '--message', 'x'])).stderr).toContain('--agent');
  });

  it('finishes the requests in progress after Ctrl-C, and continues with the same command', async () => {
    const ownAgent = await service.agent('- say: hi');
    const file = newName('ndjson');
    await service.file(file, Array.from({ length: 60 }, (_, index) => `{"n":${index}}\n`).join(''));
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', file, '--message', 'n={{ n }}', '-o', 'id'];
    let interrupt = (): void => undefined;
    let isInterrupted = false;
    const first = await service.cli(argv, {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (stdout) => {
        if (isInterrupted || stdout.split('\n').length < 10) return;
        isInterrupted = true;
        interrupt();
      },
    });
    expect(first.code).toBe(130);
    expect(first.stderr).toContain('Stopping after the requests in progress.');
    expect(first.stderr).toMatch(/Started \d+ of 60 runs\. Run the same command again to continue\.\n$/);
    // Every run that exists was printed: nothing is left open.
    const ids = first.stdout.trimEnd().split('\n');
    expect((await runsOf(ownAgent)).map(({ id }) => id).sort()).toEqual(ids.toSorted());
    expect(ids.length).toBeLessThan(60);
    const second = await service.cli(argv);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(second.stdout.trimEnd().split('\n')).size).toBe(60);
    expect(new Set(await titlesOf(ownAgent)).size).toBe(60);
  });

  it('sends a row without a response again under the same key, and never one whose content changed', async () => {
    const ownAgent = await service.agent('- say: hi');
    const file = newName('csv');
    await service.file(file, 'n\n1\n2\n');
    const argv = ['runs', 'start', '--agent', ownAgent, '--from', file, '--message', 'n={{ n }}', '--json'];
    expect((await service.cli(argv)).code).toBe(0);
    // Simulates a process that was killed before it read the responses.
    const ledger = (await service.read(`${file}.aops-ledger`)).trimEnd().split('\n');
    const begun = ledger.filter((line) => !line.includes('"run_id"'));
    expect(begun).toHaveLength(3);
    await service.file(`${file}.aops-ledger`, `${begun.join('\n')}\n{"row":1,"run`);
    expect((await service.cli(argv)).json()).toMatchObject({ started: 2, started_before: 0 });
    expect(await runsOf(ownAgent)).toHaveLength(2);
    const tampered = begun.map((line) => line.replace(/("row":2,.*"key":")[^"]*/, '$1other'));
    await service.file(`${file}.aops-ledger`, `${tampered.join('\n')}\n`);
    const refused = await service.cli(argv);
    expect(refused.code).toBe(13);
    expect(errorOf(refused.stderr)).toMatchObject({
      code: 'start_outcome_unknown',
      message: 'Row 2 was sent with other content without a response: its run may or may not exist.',
    });
    expect(await runsOf(ownAgent)).toHaveLength(2);
  });

  it('sends a row whose outcome is unknown again under the same key', async () => {
    const run = { id: '00000000-0000-4000-8000-000000000001', agent_id: agent, run_number: 1 };
    const responses: ForeignAnswer[] = [answerWith(200, '<html>', 'text/html'), answerWith(201, { run })];
    const foreign = await ForeignService.start({
      'POST /v2/teams/:team/runs': () => responses.shift(),
      'GET /v2/agents/:id': () => ({ agent: { id: agent, name: 'other' } }),
    });
    await service.file('unknown.csv', 'n\n1\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', 'unknown.csv', '--message', 'n={{ n }}', '--json'];
    const start = () => service.cli(argv, { env: { AOPS_BASE_URL: foreign.url } });
    const first = await start();
    expect([first.code, errorOf(first.stderr)]).toMatchObject([
      13,
      { code: 'outcome_unknown', hint: expect.stringContaining('Run the same command again: it sends this row again with the same key') },
    ]);
    expect((await start()).json()).toMatchObject({ started: 1 });
    const keys = foreign.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([keys[0], keys[0]]);
  });

  it('sends a row whose outcome is unknown again with the same sandbox', async () => {
    const run = { id: '00000000-0000-4000-8000-000000000001', agent_id: agent };
    const responses: ForeignAnswer[] = [answerWith(200, '<html>', 'text/html'), answerWith(201, { run })];
    let sandboxes = 0;
    const foreign = await ForeignService.start({
      'POST /v2/teams/:team/runs': () => responses.shift(),
      'GET /v2/agents/:id': () => ({ agent: { id: agent, name: 'other' } }),
      'POST /v2/sandboxes': () =>
        answerWith(201, { sandbox_id: `00000000-0000-4000-8000-00000000001${++sandboxes}`, expires_at: '2100-01-01T00:00:00Z' }),
      'POST /v2/sandboxes/:id/files': () => answerWith(201, { path: '/workspace/own.txt', size_bytes: 3 }),
    });
    await service.file('own.txt', '{}');
    await service.file('files.csv', 'upload\nown.txt\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', 'files.csv', '--json'];
    const start = () => service.cli(argv, { env: { AOPS_BASE_URL: foreign.url } });
    expect((await start()).code).toBe(13);
    expect((await start()).json()).toMatchObject({ started: 1, runs: [{ run_number: null }] });
    const bodies = foreign.requests.filter(({ path: place }) => place.endsWith('/runs')).map(({ body }) => body);
    expect(bodies).toEqual([bodies[0], bodies[0]]);
    expect(sandboxes).toBe(1);
  });

  it('does not send a row whose outcome is unknown with another credential, but the others', async () => {
    const run = { id: '00000000-0000-4000-8000-000000000001', agent_id: agent, run_number: 1 };
    const responses: ForeignAnswer[] = [answerWith(200, '<html>', 'text/html'), answerWith(201, { run })];
    const foreign = await ForeignService.start({
      'POST /v2/teams/:team/runs': () => responses.shift(),
      'GET /v2/agents/:id': () => ({ agent: { id: agent, name: 'other' } }),
    });
    await service.file('other.csv', 'n\n1\n2\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', 'other.csv', '--message', 'n={{ n }}', '--concurrency', '1', '--json'];
    const start = (key: string) => service.cli(argv, { env: { AOPS_BASE_URL: foreign.url, AOPS_API_KEY: key } });
    expect((await start('first-key-0001')).code).toBe(13);
    const second = await start('second-key-0002');
    expect([second.code, errorOf(second.stderr)]).toMatchObject([
      13,
      { code: 'start_outcome_unknown', message: expect.stringContaining('Row 1 was sent with the credential ') },
    ]);
    const sent = foreign.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(sent).toMatchObject([{ message: 'n=1' }, { message: 'n=2' }]);
    expect(await service.read('other.csv.aops-ledger')).toContain(run.id);
  });

  it('names one of several rows whose outcome is unknown, and counts the others', async () => {
    const foreign = await ForeignService.start({
      'POST /v2/teams/:team/runs': () => answerWith(200, '<html>', 'text/html'),
      'GET /v2/agents/:id': () => ({ agent: { id: agent, name: 'other' } }),
    });
    await service.file('several.csv', 'n\n1\n2\n3\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', 'several.csv', '--message', 'n={{ n }}', '--concurrency', '3', '--json'];
    const start = (key: string) => service.cli(argv, { env: { AOPS_BASE_URL: foreign.url, AOPS_API_KEY: key } });
    expect((await start('first-key-0001')).code).toBe(13);
    const { message } = errorOf((await start('second-key-0002')).stderr);
    expect(message).toMatch(/^Row \d was sent with the credential .* The same applies to 2 other rows\.$/);
  });

  it('does not start runs of a repository on a service that does not offer them', async () => {
    const { folder } = await newRepository(path.join(service.folder, 'not-offered'), { 'a.txt': 'one\n' });
    const foreign = await ForeignService.start({ 'GET /v2/agents/:id': () => ({ agent: { id: agent, name: 'other' } }) });
    await service.file('repositories.csv', 'n\n1\n');
    const argv = ['runs', 'start', '--agent', agent, '--from', 'repositories.csv', '--repo', folder, '--json'];
    const refusal = await service.cli(argv, { env: { AOPS_BASE_URL: foreign.url } });
    expect([refusal.code, errorOf(refusal.stderr).code]).toEqual([3, 'not_offered']);
    expect(foreign.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('starts rows without a message, and reports those that failed as a stream', async () => {
    const file = newName('ndjson');
    await service.file(file, `{"agent":"${agent}"}\n{"upload":"absent.txt"}\n`);
    const plan = await service.cli(['runs', 'start', '--from', file, '--dry-run']);
    expect(plan.json<{ first_requests: { body: object }[] }>().first_requests.map(({ body }) => body)).toEqual([{ agent_id: agent }]);
    const result = await service.cli(['runs', 'start', '--from', file, '-o', 'ndjson']);
    expect([result.code, result.lines<StartedRow>().map(({ row }) => row)]).toEqual([2, [1]]);
    expect(errorOf(result.stderr)).toMatchObject({ code: 'rows_failed', message: expect.stringContaining('1 row failed') });
    expect(await service.read(file.replace('.ndjson', '.failed.ndjson'))).toContain('absent.txt');
    const ids = await service.cli(['runs', 'start', '--from', file, '-o', 'id']);
    expect([ids.code, ids.stdout]).toEqual([2, `${result.lines<StartedRow>()[0]?.id}\n`]);
    expect(ids.stderr).toMatch(/^error: 1 row failed .*\nhint: Correct the rows in /);
  });

  it('starts runs of a repository, which a row without an agent does not have', async () => {
    const file = newName('csv');
    await service.file(file, `n,agent\n1,${agent}\n2,\n`);
    const { folder } = await newRepository(path.join(service.folder, 'repository'), { 'a.txt': 'one\n' });
    const result = await service.cli(['runs', 'start', '--from', file, '--repo', folder, '--dry-run']);
    expect(result.json()).toMatchObject({ to_start: 1, failed: 1, first_requests: [{ body: { repository: { path: folder } } }] });
    const started = await service.cli(['runs', 'start', '--from', file, '--json']);
    expect(errorOf(started.stderr).message).toBe('1 row failed (row 2: the row has no agent, and --agent was not specified).');
  });

  it('reports that the rows that failed cannot be written', async () => {
    const file = newName('csv');
    await service.file(file, 'upload\nabsent.txt\n');
    const failed = path.join('no folder', 'failed.csv');
    const result = await service.cli(['runs', 'start', '--agent', agent, '--from', file, '--failed', failed, '--json']);
    expect([result.code, errorOf(result.stderr)]).toMatchObject([1, { code: 'not_writable', message: expect.stringContaining(failed) }]);
  });

  it('does not start the same rows in two processes', async () => {
    const file = newName('csv');
    await service.file(file, 'n\n1\n');
    await service.file(`${file}.aops-ledger.lock`, 'another process');
    const result = await service.cli(['runs', 'start', '--agent', agent, '--from', file]);
    expect(result).toMatchObject({ code: 6, stdout: '' });
    expect(result.stderr).toContain(`Another process is starting runs from ${file}.`);
  });
});

it('stops at the limit of the plan, and continues under new keys when the limit was raised', async () => {
  const limit = (agentRuns: number) => ({ ...defaultPlan, limits: { ...defaultPlan.limits, agentRuns } });
  const limited = await startTestService({ plan: limit(3) });
  const ownAgent = await limited.agent('- say: hi');
  // One row fails by itself.
  const missing = '00000000-0000-4000-8000-000000000000';
  await limited.file('rows.csv', `n,agent\n1,\n2,\n3,${missing}\n4,\n5,\n6,\n`);
  const argv = ['runs', 'start', '--agent', ownAgent, '--from', 'rows.csv', '--message', '{{ n }}', '--concurrency', '1', '--json'];
  const first = await limited.cli(argv);
  expect(first).toMatchObject({ code: 5, stdout: '' });
  expect(errorOf(first.stderr)).toMatchObject({ code: 'plan_limit_reached' });
  expect(first.stderr).toContain('Started 3 of 6 runs. Run the same command again to continue.');
  const ledger = await limited.read('rows.csv.aops-ledger');
  expect(ledger).toContain('{"row":5,"refused":"plan_limit_reached"}');
  // The limit applies to the others, too.
  expect(ledger).not.toContain('"row":6');
  // The refusal is stored under the old key, which must not be used again.
  const again = await limited.cli(argv);
  expect(again.code).toBe(5);
  const keys = [...(await limited.read('rows.csv.aops-ledger')).matchAll(/"row":5,"begun":.*"key":"([^"]+)"/g)].map(([, key]) => key);
  expect(keys).toEqual([expect.stringMatching(/^aops-runs-[0-9a-f-]{36}-5-[0-9a-f]{16}$/), `${keys[0]}.1`]);
});

it('does not take a refusal for the outcome of a row whose first request had no response', async () => {
  const limited = await startTestService({ plan: { ...defaultPlan, limits: { ...defaultPlan.limits, agentRuns: 1 } } });
  await limited.file('rows.csv', 'n\n1\n2\n');
  const argv = ['runs', 'start', '--agent', await limited.agent('- say: hi'), '--from', 'rows.csv', '--message', '{{ n }}'];
  expect((await limited.cli([...argv, '--concurrency', '1'])).code).toBe(5);
  // Simulates that the response was lost.
  const begun = (await limited.read('rows.csv.aops-ledger')).replace(/^.*"refused".*\n/m, '');
  await limited.file('rows.csv.aops-ledger', begun);
  expect((await limited.cli(argv)).code).toBe(5);
  const ledger = await limited.read('rows.csv.aops-ledger');
  expect(ledger.slice(0, begun.length)).toBe(begun);
  expect(ledger).not.toContain('"refused"');
});
