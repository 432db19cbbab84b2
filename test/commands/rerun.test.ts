/** `runs rerun`: what of a run is repeated, what is reported as missing, and how an interrupted command continues. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Rerun } from '../../src/commands/runs/bulk/rerun-runs.ts';
import type { Queue, RunListItem } from '../../src/interface/types.ts';
import { newRepository } from '../support/repository.ts';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

async function runsOf(agentId: string): Promise<RunListItem[]> {
  const { data } = await service.api<{ data: RunListItem[] }>(
    'GET',
    `/teams/${service.service.teamId}/runs?agent_id=${agentId}&limit=100&sort_order=asc`,
  );
  return data;
}
const rerunsIn = (text: string): Rerun[] => (JSON.parse(text) as { data: Rerun[] }).data;
const errorOf = (stderr: string) => (JSON.parse(stderr.trim().split('\n').at(-1) as string) as { error: Record<string, unknown> }).error;

async function entriesOf(run: string): Promise<string[]> {
  const { data } = await service.api<{ data: { entries: { name: string }[] } }>('GET', `/runs/${run}/sandbox/files`);
  return data.entries.map(({ name }) => name).sort();
}

describe('runs rerun', () => {
  it('repeats agent, message and files, without what the run wrote or changed', async () => {
    const agent = await service.agent('- exec: { run: "cat in/data.txt >> result.txt; echo more >> changed.txt" }');
    await service.file('in/data.txt', 'input');
    await service.file('changed.txt', 'before\n');
    const started = await service.cli([
      'runs',
      'start',
      '--agent',
      agent,
      '--message',
      'line 1\nline 2',
      '--upload',
      'in',
      '--upload',
      'changed.txt',
      '-o',
      'id',
    ]);
    const original = started.stdout.trim();
    await service.until(original, 'completed');
    const result = await service.cli(['runs', 'rerun', original, '--json']);
    expect(result.code).toBe(0);
    expect(result.stderr).toBe(`${original}: Not copied, because the run wrote or changed them: changed.txt, result.txt\n`);
    const quiet = await service.cli(['runs', 'rerun', original, '-o', 'ndjson', '--jq', '.data | length', '--quiet']);
    expect(quiet).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
    const [rerun] = rerunsIn(result.stdout) as [Rerun];
    expect(rerun).toMatchObject({ rerun_of: original, agent_id: agent });
    expect(rerun.id).not.toBe(original);
    await service.until(rerun.id, 'completed');
    expect((await service.messages(rerun.id))[0]).toMatchObject({ role: 'user', text_content: 'line 1\nline 2' });
    expect(await entriesOf(rerun.id)).toEqual(['changed.txt', 'in', 'result.txt']);
    expect((await service.cli(['sandbox', 'cat', rerun.id, 'result.txt'])).stdout).toBe('input');
    expect((await service.cli(['sandbox', 'cat', rerun.id, 'changed.txt'])).stdout).toBe('more\n');
    // A completed rerun is not continued: the same command starts another run.
    const [withoutFiles] = rerunsIn((await service.cli(['runs', 'rerun', original, '--no-files', '--json'])).stdout) as [Rerun];
    await service.until(withoutFiles.id, 'completed');
    expect(await entriesOf(withoutFiles.id)).toEqual(['changed.txt', 'result.txt']);
    expect(await runsOf(agent)).toHaveLength(4);
  });

  it('receives many files as one archive, unless most of it would be in vain', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `in/${index}.txt`);
    for (const name of names) await service.file(`many/${name}`, `content of ${name}`);
    const start = async (steps: string): Promise<string> => {
      const agent = await service.agent(steps);
      const upload = path.join(service.folder, 'many/in');
      const original = (await service.cli(['runs', 'start', '--agent', agent, '--upload', upload, '-o', 'id'])).stdout.trim();
      await service.until(original, 'completed');
      return original;
    };
    const rerun = async (original: string): Promise<{ requests: string[]; id: string }> => {
      const result = await service.cli(['runs', 'rerun', original, '--debug', '--json']);
      expect(result.code).toBe(0);
      const requests = [...result.stderr.matchAll(/GET \S*\/sandbox\/files\/(archive|content)\S*/g)].map(([, kind]) => kind as string);
      return { requests, id: (rerunsIn(result.stdout)[0] as Rerun).id };
    };
    const small = await rerun(await start('- exec: { run: "head -c 1000000 /dev/zero > new.txt" }'));
    expect(small.requests).toEqual(['archive']);
    const large = await rerun(await start('- exec: { run: "head -c 5000000 /dev/zero > large.bin" }'));
    expect(large.requests).toEqual(names.map(() => 'content'));
    for (const { id } of [small, large]) {
      await service.until(id, 'completed');
      expect((await service.cli(['sandbox', 'cat', id, 'in/7.txt'])).stdout).toBe('content of in/7.txt');
    }
  });

  it('needs all files, also those whose names cannot be used on this machine', async () => {
    const agent = await service.agent('- say: "hi"');
    await service.file('a\tb', 'x');
    const started = await service.cli(['runs', 'start', '--agent', agent, '--upload', 'a\tb', '-o', 'id']);
    const original = started.stdout.trim();
    const result = await service.cli(['runs', 'rerun', original, '--json']);
    expect(result).toMatchObject({ code: 6, stdout: '' });
    expect(errorOf(result.stderr)).toMatchObject({
      code: 'cannot_rerun',
      message: `The run cannot be started again, because its file "/workspace/a\\tb" cannot be copied through this machine: it has a control character.`,
      hint: 'To start it without files, pass --no-files.',
    });
    expect((await service.cli(['runs', 'rerun', original, '--no-files', '-o', 'id'])).code).toBe(0);
  });

  it('repeats a run without a message, even if it was sent one later', async () => {
    const agent = await service.agent('- say: hello');
    const original = await service.start(agent);
    await service.until(original, 'completed');
    await service.api('POST', `/runs/${original}/messages`, { message: 'sent later' });
    await service.until(original, 'completed');
    const preview = await service.cli(['runs', 'rerun', '--agent', agent]);
    expect(preview.stderr).toContain('  completed  (no message)\n');
    const [rerun] = rerunsIn((await service.cli(['runs', 'rerun', original, '--json'])).stdout) as [Rerun];
    await service.until(rerun.id, 'completed');
    expect(await service.texts(rerun.id)).toEqual(['hello']);
  });

  it('does not take an answer for the message of a run without one', async () => {
    const original = await service.waiting('- approve: { id: ok, title: "Pay?" }\n- say: "{{ messages.size }} messages"');
    await service.cli(['runs', 'respond', original, '--approve']);
    await service.until(original, 'completed');
    const [rerun] = rerunsIn((await service.cli(['runs', 'rerun', original, '--json'])).stdout) as [Rerun];
    await service.until(rerun.id, 'waiting');
    expect(await service.texts(rerun.id)).toEqual([]);
  });

  it('uses the commit from which the run started, even if the branch has moved on', async () => {
    const repository = await newRepository(path.join(service.folder, 'repository'), { 'a.txt': 'one\n' });
    const agent = await service.agent('- exec: { run: "cat a.txt" }');
    const original = (await service.cli(['runs', 'start', '--agent', agent, '--repo', repository.folder, '-o', 'id'])).stdout.trim();
    await service.until(original, 'completed');
    await repository.commit('Second', { 'a.txt': 'two\n' });
    const result = await service.cli(['runs', 'rerun', original, '--json']);
    // The files come from the repository, and are not copied from the run.
    expect(result.stderr).toBe('');
    const [rerun] = rerunsIn(result.stdout) as [Rerun];
    await service.until(rerun.id, 'completed');
    expect((await service.cli(['sandbox', 'cat', rerun.id, 'a.txt'])).stdout).toBe('one\n');
  });

  it('explains which runs cannot be started again, and starts the others', async () => {
    const gone = await service.agent('- say: hi', 'soon-deleted');
    const goneRun = await service.start(gone);
    await service.until(goneRun, 'completed');
    await service.api('DELETE', `/agents/${gone}`);
    const agent = await service.agent('- complete_case: done', 'case-worker');
    const { queue } = await service.api<{ queue: Queue }>('POST', `/teams/${service.service.teamId}/queues`, { name: 'rerun-cases' });
    await service.api('POST', `/agents/${agent}/case-triggers`, { case_queue_id: queue.id, enabled: true });
    await service.api('POST', `/queues/${queue.id}/cases`, { case: { title: 'x' } });
    let caseRun: RunListItem | undefined;
    while (caseRun?.status !== 'completed') [caseRun] = await runsOf(agent);
    const refusal = await service.cli(['runs', 'rerun', caseRun.id]);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain('The run cannot be started again, because it worked on a case.');
    expect(refusal.stderr).toContain('aops cases reprocess');
    expect(errorOf((await service.cli(['runs', 'rerun', caseRun.id, '--dry-run', '--json'])).stderr).code).toBe('cannot_rerun');
    const plan = await service.cli(['runs', 'rerun', goneRun, caseRun.id, '--dry-run', '--json']);
    expect(plan.json()).toMatchObject({ runs: 2, failed: 1, to_start: 1 });
    const other = await service.run('- say: fine');
    const result = await service.cli(['runs', 'rerun', goneRun, caseRun.id, other, '--json']);
    expect(result.code).toBe(6);
    expect(rerunsIn(result.stdout).map(({ rerun_of }) => rerun_of)).toEqual([other]);
    expect(result.stderr).toContain(`Run ${goneRun}: There is no agent ${gone}.`);
    expect(errorOf(result.stderr)).toMatchObject({ code: 'runs_failed_partly', message: '2 of 3 runs could not be started again.' });
    const streamed = await service.cli(['runs', 'rerun', caseRun.id, other, '-o', 'ndjson']);
    expect([streamed.code, streamed.lines<Rerun>().map(({ rerun_of }) => rerun_of)]).toEqual([6, [other]]);
    const ids = await service.cli(['runs', 'rerun', caseRun.id, other, '-o', 'id']);
    expect([ids.code, ids.stdout.trim().split('\n')]).toEqual([6, [expect.stringMatching(/^[0-9a-f-]{36}$/)]]);
    // Nothing needs to be confirmed.
    const filtered = await service.cli(['runs', 'rerun', '--agent', 'case-worker']);
    expect([filtered.code, filtered.stderr.includes('confirm')]).toEqual([6, false]);
  });

  it('shows the runs that match filters, and needs a confirmation', async () => {
    const agent = await service.agent('- fail: "no"');
    for (const message of ['first', 'second']) await service.until(await service.start(agent, message), 'failed');
    const argv = ['runs', 'rerun', '--agent', agent, '--status', 'failed', '--since', '1h'];
    const preview = /^2 runs:\n {2}[0-9a-f-]{36} {2}failed {2}first\n {2}[0-9a-f-]{36} {2}failed {2}second\n/;
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(preview);
    expect(refusal.stderr).toContain('Start these 2 runs again?');
    expect(refusal.stderr).toContain('Pass --yes to confirm.');
    // What is to be confirmed is shown in any case.
    expect((await service.cli([...argv, '--quiet'])).stderr).toMatch(preview);
    expect(await runsOf(agent)).toHaveLength(2);
    const plan = await service.cli([...argv, '--dry-run']);
    expect(plan.json()).toMatchObject({
      runs: 2,
      to_start: 2,
      first_requests: [{ body: { message: 'first' } }, { body: { message: 'second' } }],
    });
    expect(await runsOf(agent)).toHaveLength(2);
    const result = await service.cli([...argv, '--yes', '-o', 'id']);
    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(preview);
    expect((await service.cli(['runs', 'rerun', '--agent', agent, '--status', 'completed', '--yes', '--quiet'])).stderr).toBe('');
    expect((await runsOf(agent)).map(({ title }) => title).sort()).toEqual(['first', 'first', 'second', 'second']);
    expect((await service.cli(['runs', 'rerun', '--agent', agent, '--status', 'waiting', '--yes'])).stderr).toBe(
      'No run matches the filters.\n',
    );
  });

  it('shows nothing with --yes and --quiet', async () => {
    const agent = await service.agent('- fail: "no"');
    await service.until(await service.start(agent, 'first'), 'failed');
    const result = await service.cli(['runs', 'rerun', '--agent', agent, '--status', 'failed', '--yes', '--quiet', '-o', 'id']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(await runsOf(agent)).toHaveLength(2);
  });

  it('asks at a terminal before it starts a run that matches filters, where Enter alone starts nothing', async () => {
    const agent = await service.agent('- fail: "no"');
    await service.until(await service.start(agent, 'first'), 'failed');
    const terminal = service.terminal('runs', 'rerun', '--agent', agent, '--status', 'failed');
    await terminal.shows('1 run:');
    await terminal.shows('Start this run again? (y/N)');
    terminal.type(keys.enter);
    expect((await terminal.end).code).toBe(2);
    expect(await runsOf(agent)).toHaveLength(1);
  });

  it('aligns the runs of the preview, and names at most three files that are not copied', async () => {
    const agent = await service.agent('- exec: { run: "for i in $(echo {{ message }}); do touch new$i.txt; done; [ ! -e new4.txt ]" }');
    await service.file('input.txt', 'x');
    const argv = ['runs', 'start', '--agent', agent, '--message', '1', '--upload', 'input.txt', '-o', 'id'];
    await service.until((await service.cli(argv)).stdout.trim(), 'completed');
    await service.until(await service.start(agent, '1 2 3'), 'completed');
    await service.until(await service.start(agent, '1 2 3 4'), 'failed');
    const { stderr } = await service.cli(['runs', 'rerun', '--agent', agent]);
    expect(stderr.replaceAll(/[0-9a-f-]{36}/g, 'ID')).toContain(
      '3 runs:\n' +
        '  ID  completed  1  1 file\n    Not copied, because the run wrote or changed it: new1.txt\n' +
        '  ID  completed  1 2 3\n    Not copied, because the run wrote or changed them: new1.txt, new2.txt, new3.txt\n' +
        '  ID  failed     1 2 3 4\n    Not copied, because the run wrote or changed them: new1.txt, new2.txt, new3.txt and 1 more\n',
    );
  });

  it('is not done by two processes at the same time', async () => {
    const agent = await service.agent('- fail: "no"');
    await service.until(await service.start(agent, 'first'), 'failed');
    const argv = ['runs', 'rerun', '--agent', agent, '--status', 'failed'];
    const terminal = service.terminal(...argv);
    await terminal.shows('Start this run again? (y/N)');
    const refusal = await service.cli([...argv, '--yes', '--json']);
    expect([refusal.code, errorOf(refusal.stderr)]).toMatchObject([6, { code: 'rerun_running' }]);
    // A plan changes nothing.
    expect((await service.cli([...argv, '--dry-run'])).json()).toMatchObject({ body: { message: 'first' } });
    terminal.type(keys.enter);
    await terminal.end;
    expect((await service.cli([...argv, '--yes'])).code).toBe(0);
  });

  it('uses a temporary webhook only if one is specified', async () => {
    const original = await service.run('- say: hi');
    await service.until(original, 'completed');
    const bodyOf = async (...flags: string[]) =>
      (await service.cli(['runs', 'rerun', original, '--dry-run', ...flags])).json<{ body: object }>().body;
    expect(Object.keys(await bodyOf())).toEqual(['agent_id']);
    const url = 'https://example.com/hook';
    expect(await bodyOf('--webhook-url', url)).toMatchObject({ webhook_url: url });
  });

  it('continues with the same runs after an interruption, and starts none of them twice', async () => {
    const agent = await service.agent('- say: hi');
    const messages = Array.from({ length: 30 }, (_, index) => `m${index}`);
    for (const message of messages) await service.start(agent, message);
    const argv = ['runs', 'rerun', '--agent', agent, '--yes', '--concurrency', '2', '-o', 'ndjson'];
    let interrupt = (): void => undefined;
    let isInterrupted = false;
    const first = await service.cli(argv, {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (stdout) => {
        if (isInterrupted || stdout.split('\n').length < 6) return;
        isInterrupted = true;
        interrupt();
      },
    });
    expect(first.code).toBe(130);
    const startedFirst = first.lines<Rerun>().length;
    expect(await runsOf(agent)).toHaveLength(30 + startedFirst);
    // The new runs match the filter too, but the selection is that of the first command.
    const second = await service.cli(argv);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain(`Continuing after an interruption: ${startedFirst} of 30 runs were started again.`);
    expect(new Set(second.lines<Rerun>().map(({ rerun_of }) => rerun_of)).size).toBe(30);
    const titles = (await runsOf(agent)).map(({ title }) => title).sort();
    expect(titles).toEqual([...messages, ...messages].sort());
    expect(await readdir(path.join(service.folder, 'data', 'bulk'))).toEqual([]);
  });

  it.each([
    [[], 'No runs were specified.'],
    [['1', '--status', 'failed'], 'Runs and filters cannot be combined.'],
    [['1', '--idempotency-key', 'k'], '--idempotency-key cannot be used here'],
  ])('rejects %j', async (flags, problem) => {
    const result = await service.cli(['runs', 'rerun', ...flags]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(problem);
  });
});
