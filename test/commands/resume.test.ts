/** Reading a part of a run's events: --resume, --tail, --since, and --until. */
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { openFilesIn } from '../support/open-files.ts';
import type { CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

const approval = '- say: one\n- say: two\n- approve: { id: pay, title: "Pay?" }\n- say: three\n- say: four';

let service: TestService;
let finishedRun: string;
beforeAll(async () => {
  service = await startTestService();
  finishedRun = await service.run(
    '- say: one\n- say: two\n- tool: { name: erp.lookup, error: "no such invoice" }\n- say: three',
    'Go until three',
  );
  await service.until(finishedRun, 'completed');
});

const watch = (run: string, ...flags: string[]): Promise<CliResult> => service.cli(['runs', 'watch', run, '-o', 'ndjson', ...flags]);
const eventsOf = (result: CliResult): RunEvent[] => (result.stdout === '' ? [] : result.lines<RunEvent>());
const inShort = (event: RunEvent): string =>
  event.type === 'message' ? (event.data.message.text_content ?? event.data.message.type) : event.type;
const lasting = ({ seq, type, data }: RunEvent) => ({ seq, type, data });
const problem = (result: CliResult) =>
  (JSON.parse(result.stderr.trimEnd().split('\n').at(-1) ?? '') as { error: Record<string, unknown> }).error;

describe.concurrent('--resume TOKEN', () => {
  it('prints exactly the events after the one with the token, and ends with the same exit code', async () => {
    const whole = eventsOf(await watch(finishedRun));
    expect(whole.length).toBeGreaterThan(6);
    for (const [index, { resume }] of whole.entries()) {
      const rest = await watch(finishedRun, '--resume', resume);
      expect(rest).toMatchObject({ code: 0, stderr: '' });
      expect(eventsOf(rest).map(lasting)).toEqual(whole.slice(index + 1).map(lasting));
    }
  });

  it('fails with the outcome of a run that failed, although its last event was printed before', async () => {
    const run = await service.run('- fail: "no luck"');
    const whole = eventsOf(await watch(run));
    const rest = await watch(run, '--resume', whole.at(-1)?.resume ?? '');
    expect(rest).toMatchObject({ code: 10, stdout: '' });
    expect(problem(rest)).toMatchObject({ code: 'run_failed' });
  });

  it('handles a request that was reported before, without reporting it again', async () => {
    const run = await service.waiting(approval);
    const first = await watch(run);
    expect(first.code).toBe(12);
    const token = eventsOf(first).at(-1)?.resume ?? '';
    expect(eventsOf(first).at(-1)?.type).toBe('human_request.pending');
    const second = await watch(run, '--resume', token);
    expect(second).toMatchObject({ code: 12, stdout: '' });
    expect(problem(second)).toMatchObject({ message: expect.stringContaining('Pay?') });
    const answers = await service.file('approve.yaml', 'approvals: { "*": true }\n');
    const third = await watch(run, '--resume', token, '--answers', answers);
    expect(third.code).toBe(0);
    const types = eventsOf(third).map(inShort);
    expect(types.filter((type) => type.startsWith('human_request.'))).toEqual(['human_request.resolved']);
    expect(types.filter((type) => !type.includes('.'))).toEqual(['Approved: Pay?', 'three', 'four']);
    expect(eventsOf(third)[0]?.seq).toBe((eventsOf(first).at(-1)?.seq ?? 0) + 1);
  });

  it('continues with a run that was finished and has been resumed with a message', async () => {
    const run = await service.run('- say: "Hello {{message}}"', 'first');
    const whole = eventsOf(await watch(run));
    const token = whole.at(-1)?.resume ?? '';
    await service.cli(['runs', 'send', run, 'second']);
    await service.until(run, 'completed');
    const rest = eventsOf(await watch(run, '--resume', token));
    expect(rest.map(inShort)[0]).toBe('second');
    expect(rest.map(inShort).at(-1)).toBe('run.finished');
    expect(rest[0]?.seq).toBe(whole.length + 1);
  });

  it('rejects what is not a token of this run with exit code 2', async () => {
    const other = await service.run('- say: other');
    const token = eventsOf(await watch(other))[0]?.resume ?? '';
    const foreign = await watch(finishedRun, '--resume', token);
    expect(foreign).toMatchObject({ code: 2, stdout: '' });
    expect(problem(foreign)).toMatchObject({
      code: 'resume_token_foreign',
      message: `The resume token belongs to run ${other}, not to run ${finishedRun}.`,
    });
    const cut = await watch(other, '--resume', token.slice(0, -3));
    expect(cut).toMatchObject({ code: 2, stdout: '' });
    expect(problem(cut)).toMatchObject({ code: 'resume_token_invalid', hint: expect.stringContaining('last event') });
    expect(await watch(other, '--resume', token, '--tail', '3')).toMatchObject({ code: 2, stdout: '' });
    // The run is announced only when it is watched.
    expect((await service.cli(['runs', 'watch', '@latest', '--resume', 'abc'])).stderr).toMatch(/^error: This is not a resume token/);
  });

  it('continues the transcript as well', async () => {
    const whole = eventsOf(await watch(finishedRun));
    const two = whole.find((event) => inShort(event) === 'two')?.resume ?? '';
    const transcript = await service.cli(['runs', 'watch', finishedRun, '--resume', two]);
    expect(transcript.code).toBe(0);
    expect(transcript.stdout).not.toContain('two');
    expect(transcript.stdout).toContain('three\n');
  });
});

describe.concurrent('--resume auto', () => {
  it('continues after the last event that it printed, for each reader separately', async () => {
    const run = await service.waiting(approval);
    const first = eventsOf(await watch(run, '--resume', 'auto'));
    expect(first.map(inShort)).toContain('human_request.pending');
    expect(eventsOf(await watch(run, '--resume', 'auto'))).toEqual([]);
    expect(eventsOf(await watch(run, '--resume', 'auto:other')).map(lasting)).toEqual(first.map(lasting));
    expect(eventsOf(await watch(run, '--resume', 'auto:late', '--tail', '1')).map(inShort)[0]).toBe('two');
    await service.cli(['runs', 'respond', run, '--approve']);
    const rest = eventsOf(await watch(run, '--resume', 'auto'));
    expect(rest[0]?.seq).toBe(first.length + 1);
    expect(rest.map(inShort).at(-1)).toBe('run.finished');
    expect(await watch(run, '--resume', 'auto')).toMatchObject({ code: 0, stdout: '' });
  });

  it('does not remember events that nobody could read', async () => {
    const broken = await service.cli(['runs', 'watch', finishedRun, '-o', 'ndjson', '--resume', 'auto:broken'], { brokenPipe: true });
    expect(broken.stdout).toBe('');
    const whole = eventsOf(await watch(finishedRun));
    expect(eventsOf(await watch(finishedRun, '--resume', 'auto:broken')).map(lasting)).toEqual(whole.map(lasting));
  });

  it('rejects names that are not plain', async () => {
    for (const name of ['auto:', 'auto:a b', 'auto:../x', `auto:${'n'.repeat(65)}`])
      expect(await watch(finishedRun, '--resume', name), name).toMatchObject({ code: 2, stdout: '' });
  });
});

it('--resume auto starts from the beginning with a warning if the stored position is damaged', async () => {
  const folder = path.join(service.folder, 'data', 'positions');
  await rm(folder, { recursive: true, force: true });
  const whole = eventsOf(await watch(finishedRun, '--resume', 'auto'));
  const [file] = await readdir(folder);
  expect(await readFile(path.join(folder, file ?? ''), 'utf8')).toBe(`${whole.at(-1)?.resume}\n`);
  await writeFile(path.join(folder, file ?? ''), 'r1damaged\n');
  const again = await watch(finishedRun, '--resume', 'auto');
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('The stored position cannot be used') });
  expect(eventsOf(again).map(lasting)).toEqual(whole.map(lasting));
});

describe.concurrent('--resume @FILE', () => {
  it('continues after the last complete line of the file, and ends an incomplete one', async () => {
    const whole = (await watch(finishedRun)).stdout.trimEnd().split('\n');
    for (const count of [0, 1, 3, whole.length]) {
      for (const part of ['', whole[count]?.slice(0, 20) ?? '']) {
        const file = await service.file(
          `events-${count}-${part.length}.ndjson`,
          whole
            .slice(0, count)
            .map((line) => `${line}\n`)
            .join('') + part,
        );
        await appendFile(file, (await watch(finishedRun, '--resume', `@${file}`)).stdout);
        const lines = (await readFile(file, 'utf8'))
          .trimEnd()
          .split('\n')
          .filter((line) => part === '' || line !== part);
        expect(lines.map((line) => lasting(JSON.parse(line) as RunEvent))).toEqual(
          whole.map((line) => lasting(JSON.parse(line) as RunEvent)),
        );
      }
    }
    expect(eventsOf(await watch(finishedRun, '--resume', '@missing.ndjson'))).toHaveLength(whole.length);
    expect(eventsOf(await watch(finishedRun, '--resume', '@missing.ndjson', '--tail', '1')).map(inShort)[0]).toBe('three');
  });

  it('finds the last line of a large file', async () => {
    const whole = (await watch(finishedRun)).stdout.trimEnd().split('\n');
    const last = JSON.stringify({ ...(JSON.parse(whole[2] ?? '') as object), padding: 'ä'.repeat(200_000) });
    const file = await service.file('large.ndjson', `${'{}\n'.repeat(100_000)}${last}\n`);
    expect(eventsOf(await watch(finishedRun, '--resume', `@${file}`)).map(({ seq }) => seq)[0]).toBe(4);
  });

  it('rejects a file with other content', async () => {
    for (const line of ['not an event', '"r1"', '{"type":"run.status"}', '{"resume":1}']) {
      const file = await service.file('notes.txt', `${line}\n`);
      const result = await watch(finishedRun, '--resume', `@${file}`);
      expect(result, line).toMatchObject({ code: 2, stdout: '' });
      expect(problem(result)).toMatchObject({ code: 'resume_token_invalid' });
    }
    expect(await openFilesIn(service.folder)).not.toContainEqual(expect.stringContaining('notes.txt'));
  });
});

describe.concurrent('--tail and --since', () => {
  it.each([
    [0, []],
    [1, ['three']],
    [2, ['tool_result', 'three']],
    [100, undefined],
  ])('--tail %i prints the last messages and the state of the run', async (count, expected) => {
    const all = eventsOf(await watch(finishedRun)).map(inShort);
    const tail = eventsOf(await watch(finishedRun, '--tail', String(count)));
    expect(tail.map(inShort)).toEqual(expected === undefined ? all : [...expected, 'run.status', 'run.finished']);
    expect(tail[0]?.seq).toBe(1);
    for (const [index, { resume }] of tail.entries())
      expect(eventsOf(await watch(finishedRun, '--resume', resume)).map(lasting)).toEqual(tail.slice(index + 1).map(lasting));
  });

  it('--tail follows a run in progress without printing an earlier message, and its tokens work like others', async () => {
    const run = await service.waiting(approval);
    let isAnswered = false;
    const result = await service.cli(['runs', 'watch', run, '-o', 'ndjson', '--tail', '1', '--on-request', 'wait'], {
      onOutput: (stdout) => {
        if (isAnswered || !stdout.includes('human_request.pending')) return;
        isAnswered = true;
        void service.cli(['runs', 'respond', run, '--approve']);
      },
    });
    const events = eventsOf(result);
    expect(events.map(inShort).filter((event) => event !== 'run.status')).toEqual(
      // The answer is a message and resolves the request; either can be noticed first.
      expect.arrayContaining(['two', 'human_request.pending', 'Approved: Pay?', 'human_request.resolved', 'three', 'four', 'run.finished']),
    );
    expect(events.filter(({ type }) => type === 'message').map(inShort)).toEqual(['two', 'Approved: Pay?', 'three', 'four']);
    for (const [index, { resume, type }] of events.entries()) {
      if (type !== 'message') continue;
      const rest = eventsOf(await watch(run, '--resume', resume)).filter((event) => event.type === 'message');
      expect(rest.map(inShort)).toEqual(
        events
          .slice(index + 1)
          .filter((event) => event.type === 'message')
          .map(inShort),
      );
    }
  });

  it('--since prints the messages from a time on', async () => {
    const messages = await service.messages(finishedRun);
    for (const { timestamp } of messages) {
      const expected = messages.filter((message) => message.timestamp >= timestamp).map(({ id }) => id);
      const events = eventsOf(await watch(finishedRun, '--since', timestamp));
      expect(events.flatMap((event) => (event.type === 'message' ? [event.data.message.id] : []))).toEqual(expected);
    }
    expect(eventsOf(await watch(finishedRun, '--since', '1h'))).toHaveLength(messages.length + 2);
    expect(eventsOf(await watch(finishedRun, '--since', '2999-01-01')).map(inShort)).toEqual(['run.status', 'run.finished']);
    expect(eventsOf(await watch(finishedRun, '--since', '1h', '--tail', '1')).map(inShort)).toEqual([
      'three',
      'run.status',
      'run.finished',
    ]);
  });
});

describe.concurrent('--until', () => {
  it.each([
    [['two'], 'two'],
    [['nothing', 'o*x'], undefined],
    [['t*o'], 'two'],
    [['erp.lookup'], 'tool_call'],
    [['such invoice'], 'tool_result'],
    [['three'], 'three'],
  ])('%j ends with exit code 0 after the first message of the run that matches', async (patterns, last) => {
    const result = await watch(finishedRun, ...patterns.flatMap((pattern) => ['--until', pattern]));
    if (last === undefined) {
      expect(result.code).toBe(6);
      expect(problem(result)).toMatchObject({ code: 'run_completed', message: expect.stringContaining('without a message that matches') });
      return;
    }
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(eventsOf(result).map(inShort).at(-1)).toBe(last);
  });

  it('leaves a run that continues, and prints it with --json', async () => {
    const run = await service.waiting(approval);
    const result = await service.cli(['runs', 'watch', run, '--until', 'two', '--json']);
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({ id: run, status: 'waiting' });
  });

  it('does not need long for patterns with many wildcards', async () => {
    const run = await service.run(`- say: "${'a'.repeat(20_000)}"`);
    expect(await watch(run, '--until', `${'*a'.repeat(200)}*b`)).toMatchObject({ code: 6 });
  });

  it('rejects an empty pattern', async () => {
    expect(await watch(finishedRun, '--until', '')).toMatchObject({ code: 2 });
  });
});
