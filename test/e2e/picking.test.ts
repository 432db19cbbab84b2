/** What a user of a terminal can choose instead of an argument, and what is shown while they wait. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Run } from '../../src/interface/types.ts';
import { Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

const pay = '- approve: { id: pay, title: "Pay {{message}}?", on_deny: continue }\n- say: "it was {{ answers.pay }}"';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.aops('local', 'up', '--ephemeral');
  await machine.agent('payer', pay);
  await machine.agent('talker', '- say: "Hello {{message}}"');
  await machine.agent('sleeper', '- say: started\n- sleep: 1h');
});

const start = (agent: string, message: string): Promise<Run> =>
  machine.runUntil(agent, agent === 'payer' ? 'waiting' : 'completed', message);

describe('a missing run argument', () => {
  it('is chosen from a list that can be filtered by typing', async () => {
    const first = await start('talker', 'alpha');
    await start('talker', 'omega');
    const get = machine.terminal('runs', 'get');
    await get.shows('Which run?');
    await get.shows(`#${first.run_number} `);
    await get.shows('talker: alpha');
    get.type('alpha');
    await get.shows(/Which run\? .*alpha/);
    get.type(keys.enter);
    await get.shows(/Number: +\d/);
    await get.shows(first.id);
    expect(await get.exit).toBe(0);
  });

  it('is chosen from the waiting runs, whose request is then shown', async () => {
    const run = await start('payer', 'gamma');
    const respond = machine.terminal('runs', 'respond');
    await respond.shows('Which waiting run?');
    await respond.shows('payer: gamma');
    expect(respond.text).not.toContain('talker');
    respond.type(keys.enter);
    await respond.shows('Pay gamma?');
    await respond.asks('Leave it pending');
    respond.type(keys.down, keys.enter);
    await respond.shows(/Answered: Pay gamma\?/);
    await respond.shows(`Watch the run with: aops runs watch ${run.run_number}`);
    expect(await respond.exit).toBe(0);
    expect(await machine.runStatus(run.id)).not.toBe('waiting');
  });

  it('is not chosen by Enter alone if the run would be stopped', async () => {
    const run = await start('payer', 'delta');
    const terminal = machine.terminal('runs', 'stop');
    await terminal.shows('Which active run?');
    await terminal.shows('payer: delta');
    terminal.type(keys.enter);
    await terminal.shows('Nothing was changed, because no run was picked.');
    expect(await terminal.exit).toBe(2);
    expect(await machine.runStatus(run.id)).toBe('waiting');
    const stopScreen = machine.terminal('runs', 'stop');
    await stopScreen.shows('payer: delta');
    stopScreen.type(keys.down, keys.enter);
    await stopScreen.shows('The run was interrupted.');
    expect(await stopScreen.exit).toBe(0);
    expect(await machine.runStatus(run.id)).toBe('interrupted');
    const respondScreen = machine.terminal('runs', 'respond');
    await respondScreen.shows('There are no waiting runs to pick from.');
    await respondScreen.shows('aops runs list');
    expect(await respondScreen.exit).toBe(3);
  });
});

describe('other missing arguments', () => {
  it('are also chosen from a list: the agent of a run, the agent of a command', async () => {
    const startScreen = machine.terminal('runs', 'start', '--message', 'zeta');
    await startScreen.shows('Which agent?');
    await startScreen.shows('talker');
    startScreen.type('talk');
    await startScreen.shows(/Which agent\? .*talk/);
    startScreen.type(keys.enter);
    await startScreen.shows(/Number: +\d/);
    expect(await startScreen.exit).toBe(0);
    const get = machine.terminal('agents', 'get');
    await get.shows('Which agent?');
    await get.shows('payer');
    get.type('payer');
    await get.shows(/Which agent\? .*payer/);
    get.type(keys.enter);
    await get.shows(/Name: +payer/);
    expect(await get.exit).toBe(0);
  });

  it('are named in an error if there is no terminal', async () => {
    for (const [argv, name] of [
      [['runs', 'get'], "'RUN'"],
      [['agents', 'get', '--no-input'], "'AGENT'"],
      [['runs', 'start'], "'--agent <ID|NAME>'"],
    ] as const) {
      const refusal = await machine.aops(...argv);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(name);
    }
    const quietScreen = machine.terminal('runs', 'get', '--no-input');
    await quietScreen.shows("Missing required argument 'RUN'.");
    expect(await quietScreen.exit).toBe(2);
    const json = machine.terminal('runs', 'get', '--json');
    await json.shows("Missing required argument 'RUN'.");
    expect(await json.exit).toBe(2);
  });
});

describe('runs wait', () => {
  it('shows the state of the run, and on Ctrl-C how to come back', async () => {
    const { run_number } = await machine.hereJson<{ run_number: number }>('runs', 'start', '--agent', 'sleeper');
    const wait = machine.terminal('runs', 'wait', String(run_number));
    await wait.shows('running');
    wait.type(keys.ctrlC);
    await wait.shows(`Stopped waiting. The run continues. Come back with: aops runs wait ${run_number}`);
    expect(await wait.exit).toBe(130);
  });

  it('reports that a person is needed', async () => {
    const { run_number } = await start('payer', 'kappa');
    const wait = machine.terminal('runs', 'wait', String(run_number));
    await wait.shows(`Run #${run_number} needs an answer: Pay kappa?`);
    await wait.shows(`aops runs respond ${run_number}`);
    await machine.here('runs', 'respond', String(run_number), '--approve');
    await wait.shows(/Status: +completed/);
    expect(await wait.exit).toBe(0);
  });
});
