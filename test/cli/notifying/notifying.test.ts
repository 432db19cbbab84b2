/** The parts of --notify and --exec, with an injected clock. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { deferred } from '../../../src/base/deferred.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import { commandEnvironment } from '../../../src/cli/notifying/command-environment.ts';
import { CommandQueue, maxWaiting } from '../../../src/cli/notifying/command-queue.ts';
import { collectMilliseconds, DesktopNotices } from '../../../src/cli/notifying/desktop-notices.ts';
import { notificationText, type StreamedEvent } from '../../../src/cli/notifying/notable-event.ts';
import { Notifier } from '../../../src/cli/notifying/notifier.ts';
import { OutputLines } from '../../../src/cli/notifying/output-lines.ts';
import { runCommand, timeLimit } from '../../../src/cli/notifying/run-command.ts';
import { eventually } from '../../support/eventually.ts';
import { fastClock } from '../../support/fake-tty.ts';
import { isAlive } from '../../support/processes.ts';

const run_id = '01a20692-44c7-742e-98c0-792ea604a7cc';
const event = (type: string, data: object): StreamedEvent => ({ type, run_id, data });

describe('the text of a notification', () => {
  it.each([
    ['human_request.pending', { human_request: { id: 'q', title: 'Pay?' } }, 'Run 01a20692 needs an answer: Pay?'],
    [
      'human_request.pending',
      { human_request: { id: 'q', title: 'Pay?', agent_name: 'payer', run_number: 7 } },
      'payer #7 needs an answer: Pay?',
    ],
    [
      'human_request.pending',
      { human_request: { id: 'q', title: 'Pay?', agent_name: 'payer', run_number: null } },
      'payer 01a20692 needs an answer: Pay?',
    ],
    ['human_request.reminder', { human_request: { id: 'q', title: 'Pay?' } }, 'Run 01a20692 is still waiting for an answer: Pay?'],
    ['run.finished', { run: { status: 'completed', run_number: 7 } }, 'Run #7 completed'],
    ['run.finished', { run: { status: 'failed', run_number: 7, error: 'No disk\nat x' } }, 'Run #7 failed: No disk'],
    ['run.finished', { run: { status: 'failed', run_number: null } }, 'Run 01a20692 failed'],
    ['run.finished', { run: { status: 'interrupted', run_number: 7 } }, 'Run #7 was interrupted'],
    ['human_request.resolved', { human_request_id: 'q', title: 'Pay?' }, undefined],
  ])('%s %j -> %s', (type, data, text) => {
    expect(notificationText(event(type, data))).toBe(text);
  });
});

describe('notifications', () => {
  it('of one moment are combined', async () => {
    const shown: string[] = [];
    const timers: { ms: number; resolve: () => void }[] = [];
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => timers.push({ ms, resolve }));
    const notices = new DesktopNotices((text) => shown.push(text), { now: () => 0, sleep });
    for (const text of ['one', 'two', 'three']) notices.add(text);
    expect([shown, timers.map(({ ms }) => ms)]).toEqual([[], [collectMilliseconds]]);
    timers[0]?.resolve();
    await Promise.resolve();
    expect(shown).toEqual(['one (and 2 more)']);
    notices.add('four');
    notices.end();
    expect(shown).toEqual(['one (and 2 more)', 'four']);
    notices.end();
    expect(shown).toEqual(['one (and 2 more)', 'four']);
  });

  it('are shown for the events that concern a person, when watching ends at the latest', async () => {
    const shown: string[] = [];
    const terminal = { notifies: true, notify: (text: string) => shown.push(text), note: () => expect.unreachable() };
    const context = { terminal, clock: fastClock(1), signal: new AbortController().signal } as unknown as Context;
    const notifier = new Notifier(context, { notify: true, exec: undefined });
    notifier.event(event('message', { message: {} }));
    notifier.event(event('human_request.resolved', { human_request_id: 'q', title: 'Pay?' }));
    await notifier.end();
    expect(shown).toEqual([]);
    notifier.event(event('human_request.resolved', { human_request_id: 'q', title: 'Pay?' }));
    notifier.event(event('run.finished', { run: { status: 'completed', run_number: 7 } }));
    await notifier.end();
    expect(shown).toEqual(['Run #7 completed']);
  });
});

describe('the queue of --exec', () => {
  it('runs the command for one event at a time, in order, and reports failures', async () => {
    const steps: string[] = [];
    const gates = [deferred(), deferred()];
    const queue = new CommandQueue<number>({
      run: async (number) => {
        steps.push(`start ${number}`);
        await gates[number]?.promise;
        steps.push(`end ${number}`);
        return number === 0 ? 'failed (exit code 3)' : undefined;
      },
      describe: (number) => `event ${number}`,
      warn: (text) => steps.push(text),
    });
    queue.add(0);
    queue.add(1);
    gates[1]?.resolve();
    gates[0]?.resolve();
    await queue.drain();
    const warning = 'The command of --exec failed (exit code 3) (event 0).';
    expect(steps).toEqual(['start 0', 'end 0', warning, 'start 1', 'end 1']);
    // It works again after it was idle.
    queue.add(2);
    await queue.drain();
    expect(steps.slice(5)).toEqual(['start 2', 'end 2']);
  });

  it('is bounded, and reports for how many events the command did not run', async () => {
    const [gate, warnings, executed] = [deferred(), [] as string[], [] as number[]];
    const queue = new CommandQueue<number>({
      run: async (number) => {
        executed.push(number);
        await gate.promise;
        return undefined;
      },
      describe: String,
      warn: (text) => warnings.push(text),
    });
    for (let number = 0; number < maxWaiting + 4; number += 1) queue.add(number);
    gate.resolve();
    await queue.drain();
    // The first one does not wait.
    expect(executed).toEqual(Array.from({ length: maxWaiting + 1 }, (_, number) => number));
    expect(warnings).toEqual(['The command of --exec is too slow: it did not run for 3 events.']);
  });

  it('reports a command that cannot be started, and continues', async () => {
    const [warnings, executed] = [[] as string[], [] as number[]];
    const queue = new CommandQueue<number>({
      run: async (number) => {
        executed.push(number);
        if (number === 1) throw new Error('E2BIG');
        return undefined;
      },
      describe: String,
      warn: (text) => warnings.push(text),
    });
    for (const number of [1, 2]) queue.add(number);
    await queue.drain();
    expect([executed, warnings]).toEqual([[1, 2], ['The command of --exec could not be started: E2BIG (1).']]);
  });

  it('forgets what waits when it is aborted', async () => {
    const executed: number[] = [];
    const queue = new CommandQueue<number>({
      run: async (number, signal) => {
        executed.push(number);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return undefined;
      },
      describe: String,
      warn: () => expect.unreachable(),
    });
    for (const number of [1, 2]) queue.add(number);
    queue.abort();
    queue.add(3);
    await queue.drain();
    expect(executed).toEqual([1]);
  });
});

describe('the command of --exec', () => {
  const execute = async (
    command: string,
    {
      clock = fastClock(1) as Clock,
      signal = new AbortController().signal,
      input = '',
      cwd = '/',
      onLine = (_: string): void => undefined,
    } = {},
  ) => {
    const lines: string[] = [];
    const problem = await runCommand({
      command,
      input,
      env: { PATH: process.env.PATH ?? '', TOPIC: 'x' },
      cwd,
      platform: 'linux',
      clock,
      signal,
      onLine: (line) => {
        lines.push(line);
        onLine(line);
      },
    });
    return { problem, lines };
  };

  it('gets the event on its standard input, and no terminal', async () => {
    const { problem, lines } = await execute('cat; echo; pwd; (: < /dev/tty) 2>/dev/null || echo no terminal; printf "$TOPIC" >&2', {
      input: '{"a":1}',
    });
    expect(problem).toBeUndefined();
    expect(lines.toSorted()).toEqual(['/', 'no terminal', 'x', '{"a":1}']);
  });

  it('may ignore its input and leave programs running in the background', async () => {
    expect(await execute('sleep 5 & echo "$!"', { clock: fastClock(20), input: 'x'.repeat(1_000_000) })).toMatchObject({
      problem: undefined,
    });
  });

  it('reports a failure', async () => {
    expect((await execute('echo no >&2; exit 3')).problem).toBe('failed (exit code 3)');
    expect((await execute('kill -9 $$')).problem).toBe('failed (SIGKILL)');
  });

  it('is limited in its output', async () => {
    const { lines } = await execute('i=0; while [ $i -lt 40 ]; do printf "%03000d\\n" $i; i=$((i+1)); done');
    expect(lines.length).toBeLessThan(25);
    expect(lines.at(-1)).toBe('… (the rest of the output is not shown)');
  });

  it('may write 64,000 characters', async () => {
    const shown: string[] = [];
    const output = new OutputLines((line) => shown.push(line));
    const stream = new PassThrough();
    const end = output.read(stream);
    stream.end(`${'x'.repeat(999)}\n`.repeat(65));
    await end;
    expect(shown).toEqual([...Array.from({ length: 64 }, () => 'x'.repeat(999)), '… (the rest of the output is not shown)']);
  });

  it('reports that it could not be started', async () => {
    expect((await execute('true', { cwd: '/missing' })).problem).toMatch(/^could not be started: .*ENOENT/);
  });

  it('has time to end after its time limit', async () => {
    const ready = deferred();
    const waits: number[] = [];
    // The time limit is over when the command is ready, and the time that it has then is never over.
    const sleep = (milliseconds: number): Promise<void> => (waits.push(milliseconds) === 1 ? ready.promise : new Promise(() => undefined));
    const command = 'trap "echo ended; exit" TERM; echo ready; while :; do sleep 0.01; done';
    const { lines } = await execute(command, { clock: { now: () => 0, sleep }, onLine: () => ready.resolve() });
    expect(waits).toEqual([timeLimit, 2_000, 500]);
    expect(lines).toContain('ended');
  });

  it('is stopped after its time limit, with the programs that it started', async () => {
    const { problem, lines } = await execute('sleep 1000 & echo "$!"; trap "" TERM; wait; sleep 1000', { clock: fastClock(60) });
    expect(problem).toBe(`did not end within ${timeLimit / 1_000} seconds and was stopped`);
    await eventually('its program has ended', () => !isAlive(Number(lines[0])));
  });

  it('is ended when watching is aborted', async () => {
    const controller = new AbortController();
    const ending = execute('echo started; sleep 1000', { signal: controller.signal });
    controller.abort();
    expect((await ending).problem).toBeUndefined();
  });
});

describe('the environment of --exec', () => {
  it('contains the event and no secrets of aops', () => {
    const env = { PATH: '/bin', AOPS_API_KEY: 'k', AOPS_CLIENT_SECRET: 's', AOPS_WEBHOOK_SECRET: 'w', AOPS_PROFILE: 'ci' };
    const data = { human_request: { id: 'q1', title: `Pay\0 ${'x'.repeat(5_000)}`, agent_name: 'payer', run_number: 7 } };
    const { AOPS_REQUEST_TITLE, ...variables } = commandEnvironment(env, {}, event('human_request.pending', data));
    expect(variables).toEqual({
      PATH: '/bin',
      AOPS_PROFILE: 'ci',
      AOPS_EVENT: 'human_request.pending',
      AOPS_RUN_ID: run_id,
      AOPS_RUN_NUMBER: '7',
      AOPS_AGENT_NAME: 'payer',
      AOPS_REQUEST_ID: 'q1',
    });
    expect(AOPS_REQUEST_TITLE).toMatch(/^Pay x+$/);
    expect(AOPS_REQUEST_TITLE).toHaveLength(2_000);
  });

  it('contains the status of a run that has ended', () => {
    const { AOPS_EVENT, AOPS_RUN_STATUS } = commandEnvironment({}, {}, event('run.finished', { run: { status: 'failed' } }));
    expect([AOPS_EVENT, AOPS_RUN_STATUS]).toEqual(['run.finished', 'failed']);
  });
});
