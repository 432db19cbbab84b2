/** Runs of an agent that behaves in all the ways that agents have been seen to: each ends with an explanation, and leaves no process behind. */
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import type { Run } from '../../../../src/interface/types.ts';
import { createAcpRuntime } from '../../../../src/service/runtimes/acp/acp-runtime.ts';
import type { RunHost, RuntimeEvent } from '../../../../src/service/runtimes/run-host.ts';
import { type RunToken, RunTokens } from '../../../../src/service/runtimes/run-tokens.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { eventually } from '../../../support/eventually.ts';
import { isAlive } from '../../../support/processes.ts';
import { itNeeding, needsLinux } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { AgentMachine, processesIn } from '../../helpers/agent-machine.ts';

const agent = (mode: string, fields: Record<string, unknown> = {}) => ({ command: misbehaving(mode), ...fields });

/** Starts a run of the agent in a mode. */
async function runOf(mode: string, message = 'Hello', fields: Record<string, unknown> = {}): Promise<{ machine: AgentMachine; run: Run }> {
  const machine = await AgentMachine.start();
  return { machine, run: await machine.run(agent(mode, fields), message) };
}

/** The host of a run that does something else before it emits events. */
const intercepting = (host: RunHost, before: (events: RuntimeEvent[]) => Promise<void>): RunHost =>
  new Proxy(host, {
    get(target, name) {
      if (name === 'emit')
        return async (events: RuntimeEvent[]) => {
          await before(events);
          await target.emit(events);
        };
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

describe('a run of an agent', () => {
  it('records what the agent thinks, plans, says, and does', async () => {
    const { machine, run } = await runOf('well-behaved');
    expect(run).toMatchObject({ status: 'waiting', error: null });
    expect(await machine.pending(run)).toMatchObject({
      type: 'approval',
      title: 'Write result.txt',
      description: 'Tool: edit\n\n```diff\n--- /dev/null\n+++ b/result.txt\n@@ -0,0 +1 @@\n+Hello\n\\ No newline at end of file\n```',
    });
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    const messages = await machine.messages(run);
    expect(messages.map(({ type, role, text_content: text }) => [type, role, text])).toEqual([
      ['message', 'user', 'Hello'],
      ['thought', 'assistant', 'The file has to be written.'],
      ['plan', 'assistant', '[>] Write the file'],
      ['message', 'assistant', 'I will write the file.'],
      ['tool_call', 'assistant', undefined],
      ['human_response', 'user', 'Approved: Write result.txt'],
      ['tool_result', 'tool', undefined],
      ['plan', 'assistant', '[x] Write the file'],
      ['message', 'assistant', 'I wrote result.txt.'],
    ]);
    expect(messages[4]?.tool_call).toMatchObject({ name: 'edit', arguments: { path: 'result.txt', content: 'Hello' } });
    expect(messages[6]?.tool_result).toMatchObject({
      tool_call_id: messages[4]?.tool_call?.id,
      result: { diffs: [{ path: 'result.txt' }] },
    });
    expect(readFileSync(machine.file(run, 'result.txt'), 'utf8')).toBe('Hello');
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
  });

  it('changes nothing that a person denies, and tells the agent why', async () => {
    const { machine, run } = await runOf('well-behaved');
    expect(await machine.answer(run, { approved: false, reason: 'Use another name.' })).toMatchObject({ status: 'waiting' });
    // The protocol has no place for the reason, so it is the next prompt, for which this agent asks again.
    expect((await machine.pending(run)).description).toContain('+The reason: Use another name.');
    expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed', error: null });
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
    expect((await machine.texts(run)).at(-1)).toBe('I did not write result.txt.');
  });

  it('fails if the agent gives up for another reason than a denial, although something was denied before', async () => {
    const { machine, run } = await runOf('cancels-later');
    expect(await machine.answer(run, { approved: false, reason: 'Use another name.' })).toMatchObject({
      status: 'failed',
      error: 'The agent stopped its work (cancelled).',
    });
  });

  it('continues after a question that cannot be asked here', async () => {
    const { machine, run } = await runOf('elicitation-empty');
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await machine.texts(run)).toEqual(['{"action":"decline"}']);
    expect(await machine.texts(run, 'notice')).toEqual([
      'The agent made a request that cannot be answered here, so it was declined: Is there anything?',
    ]);
  });

  it('gets a message that answers its request once, as the answer', async () => {
    const { machine, run } = await runOf('well-behaved');
    const { id } = await machine.pending(run);
    const body = { message: 'Use another name.', expected_human_request_id: id };
    await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body });
    const calls = async () => (await machine.messages(run)).filter(({ type }) => type === 'tool_call');
    await eventually('the next request', async () => (await calls()).length === 2);
    await machine.until(run.id, 'waiting');
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    expect(readFileSync(machine.file(run, 'result.txt'), 'utf8')).toBe(
      'A person has denied this: Write result.txt\nThe reason: Use another name.',
    );
  });

  it('sends the next message of a person to the same session', async () => {
    const { machine, run } = await runOf('text', 'First');
    expect(run).toMatchObject({ status: 'completed', error: null });
    await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Second' } });
    await machine.until(run.id, 'completed');
    await eventually('the answer', async () => (await machine.texts(run)).at(-1) === 'You wrote: Second');
    expect(await machine.texts(run)).toEqual(['You wrote: First', 'You wrote: Second']);
    expect(await machine.texts(run, 'notice')).toEqual(['The session of Misbehaving agent was resumed.']);
  });

  it('sends a message that arrives while the agent is being started as the next prompt', async () => {
    const acp = createAcpRuntime({
      clock: systemClock,
      log: () => undefined,
      runTokens: new RunTokens(),
      searchPath: '',
      agentConcurrency: 1,
    });
    let sendBefore: ((event: RuntimeEvent) => Promise<void>) | undefined;
    const advance = (host: RunHost) =>
      acp.advance(
        intercepting(host, async ([event]) => {
          if (event !== undefined) await sendBefore?.(event);
        }),
      );
    const machine = await AgentMachine.start({ runtimes: [{ ...acp, advance }] });
    const run = await machine.run(agent('text'), 'First');
    sendBefore = async ({ kind }) => {
      sendBefore = undefined;
      // That of the notice about the session.
      expect(kind).toBe('notice');
      await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'Third' } });
    };
    await machine.send(run, 'Second');
    expect(await machine.texts(run)).toEqual(['You wrote: First', 'You wrote: Second', 'You wrote: Third']);
  });

  it('begins with its instructions if nobody has sent a message', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.run(agent('text', { instructions: 'Be brief.' }));
    expect(await machine.texts(run)).toEqual(['You wrote: <instructions>\nBe brief.\n</instructions>\n\nBegin with your task.']);
  });

  it('gives the agent its own environment, and nothing of the service', async () => {
    const { machine, run } = await runOf('environment', 'Hello', { environment: { COLOUR: 'red' } });
    const [text] = await machine.texts(run);
    const { cwd, names } = JSON.parse(text as string) as { cwd: string; names: string[] };
    expect(cwd).toBe(machine.workspace(run));
    expect(names.filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name))).toEqual([
      'AOPS_PROGRAM_ID',
      'COLOUR',
      'HOME',
      'LANG',
      'PATH',
      'TMPDIR',
    ]);
  });

  it('asks the questions of a form', async () => {
    const { machine, run } = await runOf('elicitation');
    const { title, questions } = await machine.pending(run);
    expect(title).toBe('Which release is it?');
    expect(questions).toEqual([
      { question: 'The name of the release', header: 'Name' },
      { question: 'Number' },
      { question: 'Channel', options: [{ label: 'stable' }, { label: 'beta' }] },
      { question: 'Draft', options: [{ label: 'Yes' }, { label: 'No' }] },
    ]);
    await machine.answer(run, { answers: { 'The name of the release': 'Ada', Number: '3', Channel: 'beta', Draft: 'No' } });
    expect(JSON.parse((await machine.texts(run)).at(-1) as string)).toEqual({
      action: 'accept',
      content: { name: 'Ada', number: 3, channel: 'beta', draft: false },
    });
  });

  it('are asked as a question if the agent marks a permission as questions, and answered next to it', async () => {
    const { machine, run } = await runOf('questions');
    expect(await machine.pending(run)).toMatchObject({
      type: 'question',
      title: 'Ask user 2 questions',
      questions: [
        { question: 'Which colour?', header: 'Colour', options: [{ label: 'Red', description: 'Warm' }, { label: 'Blue' }] },
        { question: 'Which shapes?', header: 'Shapes', options: [{ label: 'Circle' }, { label: 'Square' }], multi_select: true },
      ],
    });
    const answers = { 'Which colour?': 'Blue', 'Which shapes?': 'Circle, Square' };
    expect(await machine.answer(run, { answers })).toMatchObject({ status: 'completed', error: null });
    const messages = await machine.messages(run);
    expect(messages.find(({ type }) => type === 'tool_call')?.tool_call?.name).toBe('ask_user_question');
    expect(messages.find(({ type }) => type === 'tool_result')?.tool_result?.result).toEqual({
      text: '**Colour**: Blue\n**Shapes**: Circle, Square',
    });
    expect(JSON.parse((await machine.texts(run)).at(-1) as string)).toEqual({
      outcome: { outcome: 'selected', optionId: 'proceed_once' },
      answers: { 0: 'Blue', 1: 'Circle, Square' },
    });
  });

  it('are cancelled without answers when the run is stopped', async () => {
    const { machine, run } = await runOf('questions');
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    await machine.until(run.id, 'interrupted');
    expect((await machine.messages(run)).filter(({ type }) => type === 'tool_result')).toEqual([]);
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
  });
});

describe('permissions', () => {
  it('are asked one after the other, and answered separately', async () => {
    const { machine, run } = await runOf('two-permissions');
    expect((await machine.pending(run)).title).toBe('Write first.txt');
    expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'waiting' });
    expect((await machine.pending(run)).title).toBe('Write second.txt');
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    expect([existsSync(machine.file(run, 'first.txt')), existsSync(machine.file(run, 'second.txt'))]).toEqual([false, true]);
  });

  it('say so if the agent offers only lasting ones', async () => {
    const { machine, run } = await runOf('lasting-only');
    const { title, description } = await machine.pending(run);
    expect(title).toBe('Always allow: Write result.txt');
    expect(description).toContain('The agent offers no permission for a single execution.');
    await machine.answer(run, { approved: true });
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(true);
  });

  it.each(['no-options', 'two-allows', 'no-tool-call'])('are asked for and denied if the agent is peculiar: %s', async (mode) => {
    const { machine, run } = await runOf(mode);
    expect((await machine.pending(run)).title).toContain('Write result.txt');
    expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed', error: null });
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
  });

  it('survive the end of the service, and are used once', async () => {
    const { machine, run } = await runOf('well-behaved', 'Hello');
    await machine.restart();
    machine.expectNoProcess(run);
    // The agent is told to continue, which this one takes for another text: its arguments differ, so it needs another permission.
    const next = await machine.answer(run, { approved: true });
    expect(next.status).toBe('waiting');
    expect((await machine.pending(run)).description).toContain('You were interrupted.');
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    expect(await machine.texts(run, 'notice')).toEqual(['The session of Misbehaving agent was resumed.']);
  });

  it('are not needed if the agent does not ask again after the end of the service', async () => {
    const { machine, run } = await runOf('asks-no-more');
    await machine.restart();
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
  });
});

describe('the session of a run', () => {
  it.each([
    ['load-only', 'The session of Misbehaving agent was loaded.'],
    [
      'no-resume',
      'A new session of Misbehaving agent was opened with the transcript, because the earlier one cannot be continued: the agent cannot continue sessions.',
    ],
    [
      'load-fails',
      'A new session of Misbehaving agent was opened with the transcript, because the earlier one cannot be continued: it could not be loaded: Invalid session identifier.',
    ],
    [
      'load-hangs',
      'A new session of Misbehaving agent was opened with the transcript, because the earlier one cannot be continued: it could not be loaded: The agent did not answer within 0.5 seconds.',
    ],
  ])('is continued as well as the agent can: %s', async (mode, notice) => {
    const machine = await AgentMachine.start({ acp: { limits: { load: 500 } } });
    const run = await machine.run(agent(mode), 'Hello');
    await machine.restart();
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting', error: null });
    expect(await machine.texts(run, 'notice')).toEqual([notice]);
    // What the agent repeats while it loads is not recorded twice.
    expect(await machine.texts(run)).not.toContain('The first answer');
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
  });

  it.each(['asks-nobody', 'asks-nobody-config'])('is switched to the mode in which the agent asks: %s', async (mode) => {
    const { machine, run } = await runOf(mode);
    expect(run.status).toBe('waiting');
    await machine.answer(run, { approved: true });
    expect(await machine.texts(run, 'notice')).toEqual([]);
  });

  it('starts with a notice if the agent acts without asking', async () => {
    const { machine, run } = await runOf('asks-nobody-only');
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await machine.texts(run, 'notice')).toEqual([
      'Misbehaving agent 1.2.3 works in the mode "auto", in which it acts without asking a person.',
    ]);
  });

  it('can work in a mode that its definition names', async () => {
    const { run } = await runOf('asks-nobody', 'Hello', { mode: 'auto' });
    expect(run.status).toBe('completed');
    const { run: failedRun } = await runOf('asks-nobody', 'Hello', { mode: 'careful' });
    expect(failedRun.error).toBe('The agent has no mode "careful"; it offers: auto, ask.');
  });
});

describe('an agent that fails', () => {
  it.each([
    ['exit-at-start', 'The agent ended while it was starting (exit code 1). It wrote:\nThe configuration file is damaged.'],
    ['never-initialize', 'The agent did not answer within 2 seconds.'],
    ['other-protocol', 'The agent speaks version 99 of the Agent Client Protocol; only version 1 is supported.'],
    [
      'login-required',
      /^The agent is not signed in\. Store its API key with `aops agents update AGENT --secret NAME=@FILE`.+ Authentication required$/,
    ],
    ['exit-in-turn', /^The agent ended while it was working \(exit code 3\)\. It wrote nothing to standard error/],
    ['never-answers', /^The agent did not finish within 1 seconds?\./],
    ['error', 'The agent reported an error while it was working: The model is overloaded.'],
    // A run that has failed takes no messages, so the reason must not advise to send one.
    ['refusal', 'The agent refused to continue. Start another run to try something else.'],
    [
      'token-limit',
      'The agent stopped because its model reached its token limit. To continue with its files, start another run in the same sandbox.',
    ],
    ['no-stop-reason', 'The agent does not follow the Agent Client Protocol: its answer to `session/prompt` has no valid `stopReason`.'],
  ])('ends its run with the reason: %s', async (mode, reason) => {
    const machine = await AgentMachine.start({ acp: { limits: { start: 2_000 } } });
    const run = await machine.run(agent(mode, mode === 'never-answers' ? { timeout: '1s' } : {}), 'Hello');
    expect(run).toMatchObject({ status: 'failed', error: typeof reason === 'string' ? reason : expect.stringMatching(reason) });
    machine.expectNoProcess(run);
  });

  it('has the time that the service allows, unless its definition sets another', async () => {
    const machine = await AgentMachine.start({ acp: { turnTimeout: 500 } });
    const run = await machine.run(agent('never-answers'), 'Hello');
    expect(run).toMatchObject({ status: 'failed', error: expect.stringMatching(/^The agent did not finish within 0\.5 seconds\./) });
    const longer = await machine.begin(agent('slow', { timeout: '1h' }), 'Hello');
    await machine.until(longer.id, 'running');
    await machine.run(agent('never-answers'), 'Hello');
    // Its turn began before that of an agent whose time is over by now.
    expect((await machine.api.ok('getRun', { params: { run_id: longer.id } })).run.status).toBe('running');
  });

  it('ends its run with the reason if the program does not exist', async () => {
    const machine = await AgentMachine.start();
    const issue = vi.spyOn(RunTokens.prototype, 'issue');
    afterTest(async () => issue.mockRestore());
    const run = await machine.run({ command: ['no-such-agent', '--acp'] }, 'Hello');
    // Nobody uses its token any more.
    expect(issue.mock.results.map(({ value }) => (value as RunToken).signal.aborted)).toEqual([true]);
    expect(run.error).toBe(
      'The program `no-such-agent` of the agent was not found. Install it on the machine of the service, or correct the definition of the agent.',
    );
  });

  it('ends its run with the platforms for which it exists, if this is another one', async () => {
    const architecture = vi.spyOn(os, 'arch').mockReturnValue('riscv64');
    afterTest(() => architecture.mockRestore());
    const machine = await AgentMachine.start();
    const run = await machine.run({ acp: 'kimi' }, 'Hello');
    expect(run.error).toMatch(/^Kimi CLI is not available for \w+-riscv64, only for darwin-arm64, linux-arm64, linux-x64, win32-x64\./);
    machine.expectNoProcess(run);
  });

  it('ends its run if it exits while a person is awaited, and was told to continue', async () => {
    const { machine, run } = await runOf('exit-asking');
    // The answer goes to another process.
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting' });
  });

  it.each([
    ['unknown', /^\[-32601,-32601\]$/],
    ['other-session', /^This is of this session\.$/],
    ['noisy', /^That was loud\.$/],
    // What it sends after the end of its turn might still be heard.
    ['late', /^I am done\.( Or not\.)?$/],
  ])('does not disturb its run with %s', async (mode, text) => {
    const print = vi.spyOn(console, 'error');
    afterTest(() => print.mockRestore());
    const { machine, run } = await runOf(mode);
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(await machine.texts(run)).toEqual([expect.stringMatching(text)]);
    expect(print.mock.calls).toEqual([]);
    machine.expectNoProcess(run);
  });

  it('has no process when its run has ended, even if it ignores signals', async () => {
    const { machine, run } = await runOf('ignore-end');
    expect(run).toMatchObject({ status: 'completed', error: null });
    machine.expectNoProcess(run);
  });

  it('can write other lines between its messages', async () => {
    const { machine, run } = await runOf('not-json');
    expect(run.status).toBe('waiting');
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
  });

  it('can send a long message, and many short ones', async () => {
    const { machine, run } = await runOf('many-updates');
    const [text] = await machine.texts(run);
    expect(text?.split(' ')).toHaveLength(5_000);
    const long = await machine.run(agent('huge-line'), 'Hello');
    expect(long).toMatchObject({ status: 'completed', error: null });
  });

  it('cannot leave a process of its group behind', async () => {
    const { machine, run } = await runOf('child');
    const pid = Number(readFileSync(machine.file(run, 'child.pid'), 'utf8'));
    await eventually('the end of the process', () => !isAlive(pid));
  });

  itNeeding(needsLinux, 'cannot leave a daemon with its own session behind', async () => {
    const { machine, run } = await runOf('daemon');
    expect(run).toMatchObject({ status: 'completed', error: null });
    const pid = Number(readFileSync(machine.file(run, 'daemon.pid'), 'utf8'));
    await eventually('the end of the daemon', () => !isAlive(pid));
  });
});

describe('stopping a run', () => {
  it.each(['well-behaved', 'ignore-cancel', 'ignore-signals'])('ends the process of an agent that waits for a person: %s', async (mode) => {
    const machine = await AgentMachine.start({ acp: { limits: { cancel: 300 } } });
    const run = await machine.run(agent(mode), 'Hello');
    expect(run.status).toBe('waiting');
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    expect(await machine.until(run.id, 'interrupted')).toMatchObject({ status: 'interrupted' });
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
  });

  it('ends the process of an agent that works', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.begin(agent('slow'), 'Hello');
    await eventually('the process', () => processesIn(machine.workspace(run)).length > 0);
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
  });
});

describe('processes of runs that wait', () => {
  it('end after a while, and the session is continued by another one', async () => {
    const machine = await AgentMachine.start({ acp: { idleTimeout: 1 } });
    const run = await machine.run(agent('well-behaved'), 'Hello');
    await eventually('the end of the process', () => processesIn(machine.workspace(run)).length === 0);
    expect((await machine.answer(run, { approved: true })).status).toBe('waiting');
    expect(await machine.texts(run, 'notice')).toEqual(['The session of Misbehaving agent was resumed.']);
  });

  it('end if another run needs their memory', async () => {
    const machine = await AgentMachine.start({ acp: { agentConcurrency: 1 } });
    const first = await machine.run(agent('well-behaved'), 'Hello');
    expect(first.status).toBe('waiting');
    const second = await machine.run(agent('text'), 'Hello');
    expect(second.status).toBe('completed');
    machine.expectNoProcess(first);
  });
});
