/** `runs send` to a run that waits for a person, at a terminal: nothing is sent unless the person chooses to answer with it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  expect((await machine.aops('local', 'up', '--ephemeral')).code).toBe(0);
  await machine.agent('deployer', '- approve: { id: go, title: "Deploy?" }');
});

describe('runs send at a terminal', () => {
  it('sends nothing on Enter alone, on keys pressed before the prompt, and on Escape', async () => {
    const run = await machine.startRun('deployer');
    const send = machine.terminal('runs', 'send', run, 'looks good to me');
    send.type(keys.down, keys.enter);
    await send.shows('is waiting for an answer: Deploy?');
    send.type(keys.down, keys.enter);
    await send.shows('the keys work in a moment');
    await send.asks('Do not send the message');
    send.type(keys.enter);
    send.type('\u001b');
    await send.shows('The message was not sent.');
    await send.shows(`aops runs respond ${run} --approve`);
    expect(await send.exit).toBe(6);
    expect((await machine.getRun(run)).pending_human_request?.title).toBe('Deploy?');
  });

  it('sends nothing if that is chosen', async () => {
    const run = await machine.startRun('deployer');
    const send = machine.terminal('runs', 'send', run, 'looks good to me');
    await send.asks('Do not send the message');
    send.type(keys.down, keys.down, keys.enter);
    await send.shows('The message was not sent.');
    expect(await send.exit).toBe(6);
    expect((await machine.getRun(run)).pending_human_request?.title).toBe('Deploy?');
  });

  it('denies if that is chosen, and reports it', async () => {
    const run = await machine.startRun('deployer');
    const send = machine.terminal('runs', 'send', run, 'not on a Friday');
    await send.shows('Deny it, with the message as the reason');
    await send.asks('Do not send the message');
    send.type(keys.down, keys.enter);
    await send.shows(/Denied: +Deploy\?/);
    await send.shows(/Response: +not on a Friday/);
    expect(await send.exit).toBe(0);
  });

  it('sends nothing on Ctrl-C', async () => {
    const run = await machine.startRun('deployer');
    const send = machine.terminal('runs', 'send', run, 'looks good to me');
    await send.asks('Do not send the message');
    send.type(keys.ctrlC);
    expect(await send.exit).toBe(130);
    expect((await machine.getRun(run)).pending_human_request?.title).toBe('Deploy?');
  });
});
