/** Checks of agents that behave in all the ways that agents have been seen to: each explains what it found, and leaves nothing behind. */
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentCheck } from '../../../../src/interface/types.ts';
import type { AcpLimits } from '../../../../src/service/runtimes/acp/options.ts';
import { SandboxStore } from '../../../../src/service/sandbox/sandbox-store.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { installAgent } from '../../../support/agent-programs.ts';
import { eventually } from '../../../support/eventually.ts';
import { itNeeding, needsPosix } from '../../../support/requirements.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { AgentMachine, processesBelow } from '../../helpers/agent-machine.ts';
import { config } from '../../helpers/service.ts';

const start = (limits: Partial<AcpLimits> = {}, concurrency?: number): Promise<AgentMachine> =>
  AgentMachine.start({ acp: { limits, ...(concurrency === undefined ? {} : { agentConcurrency: concurrency }) } });

interface CheckOptions {
  turn?: boolean;
  secrets?: Record<string, string>;
}

/** Checks a definition, and that nothing remains. */
async function check(machine: AgentMachine, definition: object, options: CheckOptions = {}): Promise<AgentCheck> {
  const report = await checkOnly(machine, definition, options);
  await expectNothing(machine);
  return report;
}

function checkOnly(machine: AgentMachine, definition: object, options: CheckOptions = {}): Promise<AgentCheck> {
  const body = { config: config(JSON.stringify({ version: 1, ...definition }), 'acp'), ...options };
  return machine.api.ok('checkAgent', { params: { teamId: machine.api.service.teamId }, body });
}

/** Checks several agents at the same time. Returns the reports by mode. */
async function checkAll<Mode extends string>(
  machine: AgentMachine,
  modes: readonly Mode[],
  options: CheckOptions = {},
): Promise<Record<Mode, AgentCheck>> {
  const reports = await Promise.all(
    modes.map(async (mode) => [mode, await checkOnly(machine, { command: misbehaving(mode) }, options)] as const),
  );
  await expectNothing(machine);
  return Object.fromEntries(reports) as Record<Mode, AgentCheck>;
}

const sandboxes = (machine: AgentMachine): string => path.join(machine.dataDirectory, 'sandboxes');

async function expectNothing(machine: AgentMachine): Promise<void> {
  expect(processesBelow(sandboxes(machine))).toEqual([]);
  expect(await readdir(sandboxes(machine)).catch(() => [])).toEqual([]);
}

describe('a check of an agent', () => {
  it('explains why an agent cannot be used', async () => {
    const reports = await checkAll(await start(), ['exit-at-start', 'other-protocol', 'login-required', 'login-impossible']);
    expect(Object.values(reports).map(({ usable }) => usable)).toEqual([false, false, false, false]);
    expect(reports['exit-at-start'].problem).toEqual({
      code: 'ended',
      message: 'The agent ended while it was starting (exit code 1). It wrote:\nThe configuration file is damaged.',
    });
    expect(reports['other-protocol'].problem).toEqual({
      code: 'unsupported_protocol',
      message: 'The agent speaks version 99 of the Agent Client Protocol; only version 1 is supported.',
    });
    for (const { problem } of [reports['login-required'], reports['login-impossible']])
      expect(problem).toEqual({
        code: 'not_signed_in',
        message: expect.stringMatching(
          /^The agent is not signed in\. Store its API key with `aops agents update AGENT --secret NAME=@FILE`.*Authentication required$/,
        ),
      });
  });

  it('gives up on an agent that never answers', async () => {
    const report = await check(await start({ checkStart: 300 }), { command: misbehaving('never-initialize') });
    expect(report.problem).toEqual({ code: 'timed_out', message: 'The agent did not answer within 0.3 seconds.' });
  });

  it('reports what an agent has said of itself before it failed', async () => {
    const machine = await start();
    expect((await check(machine, { command: misbehaving('other-protocol') })).program).toMatchObject({
      ...{ name: 'Misbehaving agent', version: '1.2.3', protocol_version: 99, start_milliseconds: null },
    });
    expect((await check(machine, { command: misbehaving('login-required') })).program).toMatchObject({
      ...{ protocol_version: 1, signed_in: false },
      sign_in_methods: [{ id: 'api-key', name: 'API key', description: 'Set EXAMPLE_API_KEY.' }],
    });
    expect(await check(machine, { command: misbehaving('asks-nobody'), mode: 'careful' })).toMatchObject({
      problem: { code: 'unknown_mode', message: 'The agent has no mode "careful"; it offers: auto, ask.' },
      program: { modes: [{ id: 'auto' }, { id: 'ask' }], mode: null },
    });
  });

  it('names a program that does not exist', async () => {
    const report = await check(await start(), { command: ['no-such-agent', '--acp'] });
    expect(report.problem).toMatchObject({ code: 'program_not_found', message: expect.stringContaining('`no-such-agent`') });
  });

  it('reports the mode and the sessions of an agent', async () => {
    const modes = ['asks-nobody', 'asks-nobody-config', 'asks-nobody-only', 'well-behaved', 'load-only', 'no-resume'] as const;
    expect(await checkAll(await start(), modes)).toMatchObject({
      'asks-nobody': { usable: true, program: { mode: 'ask', asks: true }, warnings: [] },
      'asks-nobody-config': { usable: true, program: { mode: 'ask', asks: true }, warnings: [] },
      'asks-nobody-only': {
        ...{ usable: true, program: { mode: 'auto', asks: false } },
        warnings: [expect.stringContaining('the agent decides by itself')],
      },
      'well-behaved': { usable: true, program: { mode: null, asks: null, can_resume: true, can_load: true }, warnings: [] },
      'load-only': { usable: true, program: { can_resume: false, can_load: true }, warnings: [] },
      'no-resume': {
        ...{ usable: true, program: { can_resume: false, can_load: false } },
        warnings: [expect.stringContaining('The agent cannot continue a session')],
      },
    });
  });

  it('hides the values of secrets that an agent prints', async () => {
    const value = 'The-configuration-file-is-damaged';
    const noisy = ['/bin/sh', '-c', 'echo "$API_KEY" >&2; exit 1'];
    const report = await check(await start(), { command: noisy, secrets: ['API_KEY'] }, { secrets: { API_KEY: value } });
    expect(report.problem?.message).toContain('[secret API_KEY]');
    expect(JSON.stringify(report)).not.toContain(value);
  });
});

describe('a turn of a check', () => {
  it('shows that an agent asks before it writes, and is always denied', async () => {
    const report = await check(await start(), { command: misbehaving('well-behaved') }, { turn: true });
    expect(report).toMatchObject({ usable: true, problem: null, warnings: [], program: { asks: true, signed_in: true } });
    expect(report.program?.turn).toEqual({
      ...{ asked: true, wrote: false, requests: [{ type: 'approval', title: 'Write result.txt' }] },
      text: 'I will write the file. I did not write result.txt.',
      milliseconds: expect.any(Number),
      cost: { amount: 0.0125, currency: 'USD' },
    });
  });

  it('ignores what the program creates when it starts', async () => {
    const words = misbehaving('well-behaved').map((word) => `'${word}'`);
    const report = await check(await start(), { command: ['sh', '-c', `mkdir state; exec ${words.join(' ')}`] }, { turn: true });
    expect(report).toMatchObject({ usable: true, program: { turn: { asked: true, wrote: false } } });
  });

  it('shows that an agent asks nobody', async () => {
    const definition = { command: misbehaving('asks-nobody'), mode: 'auto' };
    expect(await check(await start(), definition, { turn: true })).toMatchObject({
      usable: true,
      warnings: ['The agent wrote a file without asking first.'],
      program: { mode: 'auto', asks: false, turn: { asked: false, wrote: true, requests: [] } },
    });
  });

  it('allows nothing, whatever the agent offers', async () => {
    const modes = ['lasting-only', 'no-options', 'no-tool-call', 'two-permissions'] as const;
    const reports = Object.values(await checkAll(await start(), modes, { turn: true }));
    expect(reports.map(({ program }) => program?.turn)).toMatchObject(modes.map(() => ({ asked: true, wrote: false })));
  });

  it('rejects an agent that ignores the denial', async () => {
    const report = await check(await start(), { command: misbehaving('ignore-denial') }, { turn: true });
    expect(report).toMatchObject({ usable: false, problem: { code: 'denial_ignored' }, program: { turn: { asked: true, wrote: true } } });
  });

  it('cancels a question, and says that it is unknown whether the agent asks before it writes', async () => {
    const report = await check(await start(), { command: misbehaving('elicitation') }, { turn: true });
    expect(report.program?.turn).toMatchObject({ requests: [{ type: 'question', title: 'Which release is it?' }], asked: false });
    expect(report.program?.turn?.text).toContain('cancel');
    expect(report.warnings).toEqual([expect.stringContaining('it is unknown whether it asks first')]);
  });

  it('reports how it ended', async () => {
    const modes = ['exit-in-turn', 'exit-asking', 'error', 'refusal'] as const;
    const reports = await checkAll(await start(), modes, { turn: true });
    const problemOf = (mode: keyof typeof reports): AgentCheck['problem'] => reports[mode].problem;
    const ended = { code: 'ended', message: expect.stringContaining('The agent ended in a short turn (exit code 3).') };
    expect([problemOf('exit-in-turn'), problemOf('exit-asking')]).toEqual([ended, ended]);
    expect(problemOf('error')).toEqual({
      code: 'agent_error',
      message: 'The agent reported an error in a short turn: The model is overloaded.',
    });
    expect(problemOf('refusal')).toEqual({
      code: 'turn_failed',
      message: 'The agent did not finish a short turn: it stopped with the reason refusal.',
    });
  });

  it('ends an agent that does not finish', async () => {
    const modes = ['never-answers', 'ignore-cancel', 'ignore-signals'] as const;
    const reports = await checkAll(await start({ checkTurn: 500, cancel: 100 }), modes, { turn: true });
    const problem = { code: 'timed_out', message: 'The agent did not finish a short turn within 0.5 seconds.' };
    expect(Object.values(reports).map((report) => report.problem)).toEqual([problem, problem, problem]);
  });

  it('survives whatever the agent sends', async () => {
    const modes = ['late', 'other-session', 'unknown', 'not-json', 'noisy', 'huge-line', 'many-updates'] as const;
    for (const report of Object.values(await checkAll(await start(), modes, { turn: true }))) {
      expect(report).toMatchObject({ problem: null, program: { signed_in: true } });
      expect(report.program?.turn?.text.length).toBeLessThanOrEqual(1_000);
    }
  });
});

describe('an agent of the registry', () => {
  itNeeding(needsPosix, 'without anything to sign in with is not usable, unless a turn shows that it needs nothing', async () => {
    const folder = await temporaryDirectory();
    await installAgent(folder, 'cursor');
    const machine = await AgentMachine.start({ commandPath: `${folder}:/usr/bin:/bin` });
    const report = await check(machine, { acp: 'cursor' });
    expect(report).toMatchObject({
      usable: false,
      problem: {
        code: 'not_signed_in',
        message: expect.stringMatching(/^Cursor has no credential\. /),
      },
      program: { credential: null, signed_in: null, protocol_version: 1 },
    });
    expect(await check(machine, { acp: 'cursor' }, { turn: true })).toMatchObject({ usable: true, program: { signed_in: true } });
    const credential = { acp: 'cursor', secrets: ['CURSOR_API_KEY'] };
    expect(await check(machine, credential, { secrets: { CURSOR_API_KEY: 'value' } })).toMatchObject({
      usable: true,
      program: { credential: 'CURSOR_API_KEY', signed_in: null },
    });
    // It could be configured to use another provider.
    expect(await check(machine, { acp: 'cursor', environment: { USE_ANOTHER: '1' } })).toMatchObject({ usable: true });
  });

  it('that is not installed comes with the command that installs it', async () => {
    const machine = await AgentMachine.start({ commandPath: await temporaryDirectory() });
    const report = await check(machine, { acp: 'codex' });
    expect(report).toMatchObject({ usable: false, program: { command: null } });
    expect(['not_installed', 'unsupported_platform']).toContain(report.problem?.code);
    expect(report.problem?.message).toMatch(/npm install --global @agentclientprotocol\/codex-acp@|is not available for/);
  });
});

describe('the checks of a service', () => {
  it('use a slot, and end with an explanation if all are in use', async () => {
    const machine = await start({ checkSlot: 100 }, 1);
    const run = await machine.begin({ command: misbehaving('slow') }, 'Hello');
    await eventually('the text of the agent', async () => processesBelow(machine.workspace(run)).length > 0);
    const body = { config: config(JSON.stringify({ version: 1, command: misbehaving('text') }), 'acp') };
    const params = { teamId: machine.api.service.teamId };
    expect(await machine.api.ok('checkAgent', { params, body })).toMatchObject({ usable: false, problem: { code: 'busy' } });
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    await eventually('a free slot', async () => (await machine.api.ok('checkAgent', { params, body })).usable);
    expect(await machine.api.ok('checkAgent', { params, body })).toMatchObject({ usable: true });
  });

  it.each(['the client disconnects', 'the service stops'])('end their agent when %s', async (event) => {
    const errors: string[] = [];
    const machine = await AgentMachine.start({ log: ({ level, message }) => void (level === 'error' && errors.push(message)) });
    const { url, token, teamId } = machine.api.service;
    const abort = new AbortController();
    const body = { config: config(JSON.stringify({ version: 1, command: misbehaving('never-initialize') }), 'acp') };
    const request = fetch(`${url}/v2/teams/${teamId}/agents/check`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: abort.signal,
    }).catch(() => undefined);
    await eventually('the start of the agent', () => processesBelow(sandboxes(machine)).length > 0);
    if (event === 'the service stops') await machine.close();
    else abort.abort();
    await request;
    await eventually('the end of the agent', () => processesBelow(sandboxes(machine)).length === 0);
    await eventually('the removal of its files', async () => (await readdir(sandboxes(machine))).length === 0);
    expect(errors).toEqual([]);
  });
});

describe('temporary sandboxes', () => {
  it('are removed by a sweep if a crash left them behind, and not while they are in use', async () => {
    const root = await temporaryDirectory();
    await new SandboxStore(root).inTemporary(async (sandbox) => {
      await writeFile(path.join(sandbox.directory, 'file'), '');
      expect(await readdir(root)).toHaveLength(1);
      const restarted = new SandboxStore(root);
      await restarted.sweep();
      expect(await readdir(root)).toEqual([]);
      await restarted.inTemporary(async (second) => {
        await restarted.sweep();
        expect(await readdir(second.directory)).toEqual([]);
      });
    });
    expect(await readdir(root)).toEqual([]);
  });
});
