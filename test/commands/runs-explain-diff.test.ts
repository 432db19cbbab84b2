/** `aops runs diff` and `aops runs explain`: what differs between runs, and why one failed. */
import { beforeAll, describe, expect, it } from 'vitest';
import { alignSteps, answerChanges, fileChanges } from '../../src/cli/run-record/compare.ts';
import type { ComparableStep } from '../../src/cli/run-record/digest.ts';
import { isVisible } from '../../src/commands/runs/diff-sheet.ts';
import type { RecordedHumanRequest } from '../../src/interface/types.ts';
import { misbehaving } from '../agents/installed.ts';
import { expectHarmless, hostileText } from '../support/hostile-text.ts';
import { startTestService, type TestService } from '../support/service.ts';

const step = (number: number, key: string, outcomeKey = 'ok'): ComparableStep => ({
  number,
  kind: 'tool',
  at: '2026-07-18T09:00:00.000Z',
  title: key,
  status: 'done',
  outcome: outcomeKey,
  key,
  outcomeKey,
});
const steps = (...keys: string[]): ComparableStep[] => keys.map((key, index) => step(index + 1, ...(key.split('=') as [string, string?])));
const shape = (before: ComparableStep[], after: ComparableStep[]): string =>
  alignSteps(before, after)
    .map(
      ({ change, before: left, after: right }) => ({ same: '', outcome: '~', removed: '-', added: '+' })[change] + (left ?? right)?.title,
    )
    .join(' ');

describe('steps', () => {
  it.each([
    [steps('a', 'b', 'c'), steps('a', 'b', 'c'), 'a b c'],
    [steps('a', 'b', 'c'), steps('a', 'x', 'c'), 'a -b +x c'],
    [steps('a', 'b=1'), steps('a', 'b=2', 'c'), 'a ~b +c'],
    [steps(), steps('a'), '+a'],
  ])('are aligned where the runs did the same (%#)', (before, after, expected) => {
    expect(shape(before, after)).toBe(expected);
  });

  it('that differ too much are not searched for a shortest difference', () => {
    const many = (prefix: string) => Array.from({ length: 1_500 }, (_, index) => step(index + 1, `${prefix}${index}`));
    const changes = alignSteps([step(1, 'same'), ...many('a')], [step(1, 'same'), ...many('b')]);
    expect(changes[0]?.change).toBe('same');
    expect(changes.filter(({ change }) => change === 'removed')).toHaveLength(1_500);
    expect(changes.filter(({ change }) => change === 'added')).toHaveLength(1_500);
  });
});

it('compares answers to requests with the same title in their order', () => {
  const request = (title: string, response: string | null) => ({ title, type: 'question', response }) as RecordedHumanRequest;
  const before = [request('Month?', 'March'), request('Month?', 'April'), request('Only before', 'x')];
  expect(answerChanges(before, [request('Month?', 'March'), request('Month?', 'May')])).toEqual([
    { title: 'Month?', before: 'April', after: 'May' },
  ]);
  expect(answerChanges(undefined, before)).toEqual([]);
});

it('compares files by their hashes, and by their sizes if one was not read', () => {
  const file = (path: string, size: number, sha256: string | null) => ({ path, size, sha256 });
  const before = [file('a', 1, 'x'), file('b', 1, 'x'), file('c', 1, null), file('d', 1, 'x'), file('f', 1, null)];
  const after = [file('a', 1, 'x'), file('b', 1, 'y'), file('c', 1, 'x'), file('e', 1, 'x'), file('f', 2, null)];
  expect(fileChanges(before, after).map(({ path, change }) => `${change} ${path}`)).toEqual([
    'changed b',
    'removed d',
    'added e',
    'changed f',
  ]);
});

let service: TestService;
let agent: string;
const runs = { good: '', failed: '', waiting: '' };
const goodSteps = `
- exec: { id: read, run: "echo {{ message }} > in.txt" }
- ask: { id: month, title: "Which month?", questions: [{ question: "Which month?" }] }
- exec: { id: check, run: "cat in.txt" }
- say: done`;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent(goodSteps, 'checker');
  runs.good = await service.start(agent, 'March');
  await service.until(runs.good, 'waiting');
  await service.cli(['runs', 'respond', runs.good, '--answer', 'March']);
  await service.until(runs.good, 'completed');
  const procedure = `version: 1\nsteps:\n${goodSteps.trim().replace('cat in.txt', 'cat missing.txt').replace(/^/gm, '  ')}\n`;
  await service.file('new.yaml', procedure);
  expect(await service.cli(['agents', 'update', 'checker', '--procedure', 'new.yaml'])).toMatchObject({ code: 0 });
  runs.failed = await service.start(agent, 'April');
  await service.until(runs.failed, 'waiting');
  await service.cli(['runs', 'respond', runs.failed, '--answer', 'April']);
  await service.until(runs.failed, 'failed');
  runs.waiting = await service.start(agent, 'May');
  await service.until(runs.waiting, 'waiting');
});

describe('runs diff', () => {
  it('shows inputs, outcome, procedure, the first different step, answers, and files', async () => {
    const { stdout, code, stderr } = await service.cli(['runs', 'diff', '1', '2']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const line of [
      '  Status: completed -> failed\n',
      '  Revision: 1 -> 2\n',
      '  Message: March -> April\n',
      '  Failed calls: 0 -> 1\n',
      '-  - exec: { id: check, run: "cat in.txt" }\n',
      '  The runs diverge at step 1.\n',
      '  - ✓ exec  cat in.txt  → March\n',
      '  + ✗ exec  cat missing.txt  → the command failed with exit code 1',
      '  Which month?: March -> April\n',
      '  changed: /workspace/in.txt (6 B -> 6 B)\n',
    ])
      expect(stdout).toContain(line);
  });

  it('has a JSON form, and accepts @latest~N', async () => {
    const result = await service.cli(['runs', 'diff', '@latest~2', '@latest~1', '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json()).toMatchObject({
      same: false,
      before: { id: runs.good, number: 1, status: 'completed' },
      after: { id: runs.failed, number: 2, status: 'failed' },
      first_divergence: 0,
      answers: [{ title: 'Which month?', before: 'March', after: 'April' }],
      files: [{ path: '/workspace/in.txt', change: 'changed', size_before: 6, size_after: 6 }],
    });
  });

  it('leaves out durations that look the same', () => {
    const change = { name: 'duration_milliseconds', before: 31_010 };
    expect([31_020, 32_900].map((after) => isVisible({ ...change, after }))).toEqual([false, true]);
  });

  it('says so if nothing differs', async () => {
    const result = await service.cli(['runs', 'diff', '1', '1', '--json']);
    expect(result).toMatchObject({ code: 0, stderr: 'The runs differ only in their times and usage.\n' });
    expect(result.json()).toMatchObject({ same: true, first_divergence: null, fields: [], files: [] });
    expect((await service.cli(['runs', 'diff', '1', '1', '--no-files'])).stdout).toContain('All 3 steps are the same.');
  });
});

describe('runs explain', () => {
  it('names the failed step, the tool error before it, and the differences from the last good run', async () => {
    const { stdout, code, stderr } = await service.cli(['runs', 'explain', '2']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const text of [
      /^Run #2 failed after \S+ in step 3 \(exec\)\.\nApril · checker\n/,
      /\nFailed step\n {2}Step 3 \(exec\), line 5 of the procedure\n {2}5 \| - exec: \{ id: check, run: "cat missing\.txt" \}\n/,
      /\nLast tool error before it\n {2}✗ exec {2}cat missing\.txt {2}→ the command failed/,
      /\nCompared with run #1, the last one that completed before it\n {2}Revision: 1 -> 2\n {2}Message: March -> April\n/,
      /\n {4}\+ {2}- exec: \{ id: check, run: "cat missing\.txt" \}\n/,
      /\nNext\n {2}aops runs messages 2 --all/,
      /\n {2}aops runs diff 1 2 +Compare/,
    ])
      expect(stdout).toMatch(text);
  });

  it('is the same every time', async () => {
    const results = [await service.cli(['runs', 'explain', '2', '--json']), await service.cli(['runs', 'explain', runs.failed, '--json'])];
    expect(results[0]?.stdout).toBe(results[1]?.stdout);
    expect(results[0]?.json()).toMatchObject({
      outcome: 'failed',
      failure: {
        step: { number: 3, kind: 'exec', line: 5 },
        tool_error: { status: 'failed', title: 'exec  cat missing.txt' },
        steps_after_tool_error: 0,
      },
      compared_with: { id: runs.good },
    });
  });

  it('shows the request of a waiting run, with the command that answers it', async () => {
    const { stdout } = await service.cli(['runs', 'explain', runs.waiting]);
    expect(stdout).toContain('Run #3 is waiting for an answer: Which month?\n');
    expect(stdout).toContain("aops runs respond 3 --answer 'Which month?=ANSWER'");
    expect(stdout).toContain('Compared with run #1, the last one that completed before it\n');
  });

  it('says that nothing failed in a good run', async () => {
    const { stdout } = await service.cli(['runs', 'explain', runs.good]);
    expect(stdout).toMatch(/^Run #1 completed after \S+\. Nothing failed\.\n/);
    expect(stdout).not.toContain('Failed rubrics');
  });

  it('shows nothing of a hostile run that could steer a terminal', async () => {
    const hostileAgent = await service.agent(`- fail: "{{ message }}"`, 'hostile');
    const run = await service.start(hostileAgent, hostileText);
    await service.until(run, 'failed');
    for (const argv of [
      ['runs', 'explain', run],
      ['runs', 'diff', runs.good, run],
    ]) {
      const { stdout, code } = await service.cli(argv, { tty: true, columns: 80 });
      expect(code).toBe(0);
      expectHarmless(stdout, argv[1] as string);
    }
  });
});

describe('runs explain for an agent program', () => {
  const command = (mode: string): string =>
    misbehaving(mode)
      .map((word) => `'${word}'`)
      .join(' ');

  it('shows the call that waits for a permission, and what a program did when it ended unexpectedly', async () => {
    expect((await service.cli(['agents', 'create', 'fixer', '--acp-command', command('well-behaved')])).code).toBe(0);
    const [{ id: fixer = '' } = {}] = (await service.cli(['agents', 'list', '--json']))
      .json<{ data: { id: string; name: string }[] }>()
      .data.filter(({ name }) => name === 'fixer');
    const good = await service.start(fixer, 'Hello');
    const waiting = await service.until(good, 'waiting');
    const asked = await service.cli(['runs', 'explain', good]);
    expect(asked.stdout).toContain(`is waiting for an answer: ${waiting.run.pending_human_request?.title}`);
    expect(asked.stdout).toMatch(/\nCall that waits for it\n {2}\S/);
    expect(asked.stdout).toContain('\nAgent\n  Program: ');
    expect((await service.cli(['runs', 'respond', good, '--approve'])).code).toBe(0);
    await service.until(good, 'completed');

    expect((await service.cli(['agents', 'update', 'fixer', '--acp-command', command('exit-in-turn')])).code).toBe(0);
    const failed = await service.start(fixer, 'Hello');
    await service.until(failed, 'failed');
    const explained = await service.cli(['runs', 'explain', failed]);
    expect(explained).toMatchObject({ code: 0, stderr: '' });
    for (const text of [
      /\nError\n {2}The agent ended while it was working \(exit code 3\)/,
      /\nAgent\n {2}Program: Misbehaving agent 1\.2\.3/,
      /\nCompared with run #\d+, the last one that completed before it\n/,
      /\n {2}First different step:\n {4}- /,
      /aops agents edit fixer +Change its program, instructions, or permissions/,
    ])
      expect(explained.stdout).toMatch(text);
    expect((await service.cli(['runs', 'explain', failed, '--json'])).json()).toMatchObject({
      failure: { step: null, unfinished: null },
      agent_program: { name: 'Misbehaving agent 1.2.3', notices: expect.any(Array) },
      divergence: { before: expect.any(Object) },
    });
  });
});

describe('runs report', () => {
  it('counts a step that asks or sleeps once', async () => {
    const pausing = await service.agent(
      '- ask: { id: q, title: Which?, questions: [{ question: Which? }] }\n- sleep: 1ms\n- say: done',
      'pausing',
    );
    const run = await service.start(pausing);
    await service.until(run, 'waiting');
    const report = async () => (await service.cli(['runs', 'report', run, '--json'])).json();
    expect(await report()).toMatchObject({ totalSteps: 3, executedSteps: 0, programmaticExecutionRate: 0 });
    await service.cli(['runs', 'respond', run, '--answer', 'this']);
    await service.until(run, 'completed');
    expect(await report()).toMatchObject({ totalSteps: 3, executedSteps: 3, programmaticExecutionRate: 1 });
    expect((await service.cli(['runs', 'report', run], { tty: true, env: { NO_COLOR: '1' } })).stdout).toMatch(/Steps: +3 of 3\n/);
  });
});
