/** The misbehaving agent does what it promises, so that tests of the runtime can rely on it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { AcpClient } from '../support/acp-client.ts';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/processes.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { misbehaving } from './installed.ts';

async function start(mode: string): Promise<AcpClient> {
  const client = await AcpClient.start(misbehaving(mode), {}, await temporaryDirectory());
  client.decide = () => 'allow_once';
  return client;
}

/** The agent with an open session. */
async function openClient(mode: string, strictestMode?: string): Promise<AcpClient> {
  const client = await start(mode);
  await client.initialize();
  await client.open(strictestMode === undefined ? {} : { strictestMode });
  return client;
}

describe('the misbehaving agent', () => {
  it('performs a turn with everything that a client shows', async () => {
    const client = await openClient('well-behaved');
    expect((await client.prompt('Hello')).stopReason).toBe('end_turn');
    expect(client.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      'agent_thought_chunk',
      'plan',
      'agent_message_chunk',
      'tool_call',
      'tool_call_update',
      'plan',
      'agent_message_chunk',
      'usage_update',
    ]);
    expect(client.permissions.map(({ toolCall }) => toolCall.rawInput)).toEqual([{ path: 'result.txt', content: 'Hello' }]);
    expect(readFileSync(path.join(client.workspace, 'result.txt'), 'utf8')).toBe('Hello');
  });

  it.each(['reject_once', 'cancelled'] as const)('writes no file if its permission is answered with %s', async (decision) => {
    const client = await openClient('well-behaved');
    client.decide = () => decision;
    await client.prompt('Hello');
    expect(client.text).toContain('I did not write result.txt.');
    expect(existsSync(path.join(client.workspace, 'result.txt'))).toBe(false);
  });

  it.each(['exit-in-turn', 'exit-asking'])('exits in the mode %s', async (mode) => {
    const client = await openClient(mode);
    client.decide = () => new Promise(() => undefined);
    await expect(client.prompt('Hello')).rejects.toThrow();
    await eventually('the end', () => client.child.exitCode === 3);
  });

  it('ends its turn when it is cancelled, unless it is to ignore that', async () => {
    const slow = await openClient('slow');
    const turn = slow.prompt('Hello');
    await slow.cancel();
    expect((await turn).stopReason).toBe('cancelled');

    const stubborn = await openClient('ignore-signals');
    const requestMade = new Promise<void>((resolve) => {
      stubborn.decide = () => {
        resolve();
        return 'cancelled';
      };
    });
    void stubborn.prompt('Hello').catch(() => undefined);
    await requestMade;
    await stubborn.cancel();
    stubborn.child.kill('SIGTERM');
    // An answer proves that it is still running, and that it has read the cancellation.
    await stubborn.initialize();
    expect(stubborn.lines.map((line) => JSON.parse(line)).filter(({ result }) => result?.stopReason !== undefined)).toEqual([]);
  });

  it('asks for two permissions at the same time', async () => {
    const client = await openClient('two-permissions');
    await client.prompt('Hello');
    expect(client.text).toBe('[true,true]');
    expect(client.permissions.map(({ toolCall }) => toolCall.toolCallId)).toEqual(['call-1', 'call-2']);
  });

  it.each([
    ['lasting-only', ['allow_always', 'reject_always']],
    ['two-allows', ['allow_once', 'allow_once', 'reject_once']],
    ['no-options', []],
  ])('offers its own options in the mode %s', async (mode, kinds) => {
    const client = await openClient(mode);
    await client.prompt('Hello');
    expect(client.permissions[0]?.options.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('asks nobody in its first mode, but does in the stricter one', async () => {
    const lenient = await openClient('asks-nobody');
    await lenient.prompt('Hello');
    expect([lenient.permissions.length, existsSync(path.join(lenient.workspace, 'result.txt'))]).toEqual([0, true]);
    const strict = await openClient('asks-nobody', 'ask');
    await strict.prompt('Hello');
    expect(strict.permissions).toHaveLength(1);
  });

  it('offers its modes as a configuration option, and asks nobody in the first one', async () => {
    const client = await start('asks-nobody-config');
    await client.initialize();
    const { configOptions } = await client.open();
    expect(configOptions).toMatchObject([{ category: 'mode', currentValue: 'auto' }]);
    await client.prompt('Hello');
    expect(client.permissions).toEqual([]);
  });

  it.each([
    ['well-behaved', ['Continue']],
    ['asks-differently', ['Continue Differently.']],
    ['asks-no-more', []],
  ])('after a session was resumed, asks in the mode %s for %j', async (mode, contents) => {
    const client = await start(mode);
    await client.initialize();
    await client.continue('0d1f6f0e-1111-4222-8333-444455556666', 'resume');
    await client.prompt('Continue');
    expect(client.permissions.map(({ toolCall }) => (toolCall.rawInput as { content: string }).content)).toEqual(contents);
  });

  it('fills in a form', async () => {
    const client = await openClient('elicitation');
    client.fill = () => ({ action: 'accept', content: { name: 'Autumn', channel: 'beta' } });
    await client.prompt('Hello');
    expect(JSON.parse(client.text)).toEqual({ action: 'accept', content: { name: 'Autumn', channel: 'beta' } });
  });

  it.each(['unknown', 'not-json', 'noisy', 'huge-line', 'many-updates', 'other-session'])(
    'completes its turn in the mode %s',
    async (mode) => {
      const client = await openClient(mode);
      expect((await client.prompt('Hello')).stopReason).toBe('end_turn');
    },
  );

  it.each([
    ['daemon', 'daemon.pid', true],
    ['child', 'child.pid', false],
  ])('starts a process in the mode %s', async (mode, file, outlives) => {
    const client = await openClient(mode);
    await client.prompt('Hello');
    const pid = Number(readFileSync(path.join(client.workspace, file), 'utf8'));
    afterTest(() => isAlive(pid) && process.kill(pid, 'SIGKILL'));
    process.kill(-(client.child.pid as number), 'SIGKILL');
    if (outlives) expect(isAlive(pid)).toBe(true);
    else await eventually('the end of the process', () => !isAlive(pid));
  });

  it.each([
    ['login-required', undefined],
    ['login-impossible', 'api-key'],
  ])('opens no session in the mode %s', async (mode, authentication) => {
    const client = await start(mode);
    await client.initialize();
    await expect(client.open(authentication === undefined ? {} : { authentication })).rejects.toThrow();
  });

  it('rejects a mode that does not exist', () => {
    const { status, stderr } = spawnSync(process.execPath, [...misbehaving('mistyped').slice(1)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, expect.stringContaining('There is no mode mistyped. The modes are exit-at-start,')]);
  });
});
