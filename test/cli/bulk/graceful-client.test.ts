/** Requests in progress when a bulk command is interrupted. */
import { describe, expect, it } from 'vitest';
import { AopsError, type ExitCode, exitCodes } from '../../../src/base/errors.ts';
import { gracefulClient } from '../../../src/cli/bulk/graceful-client.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import type { Client } from '../../../src/client/client.ts';
import { ManualClock } from '../../service/helpers/clock.ts';

const ended = (exit: ExitCode): AopsError => new AopsError('The end.', { code: 'ended', exit });

async function open(reason?: Error) {
  const clock = new ManualClock();
  const command = new AbortController();
  if (reason !== undefined) command.abort(reason);
  const log: string[] = [];
  const signals: AbortSignal[] = [];
  const client = { close: async () => void log.push('closed') } as unknown as Client;
  const context = { clock, signal: command.signal } as unknown as Context;
  const graceful = await gracefulClient(
    context,
    () => log.push('interrupted'),
    async ({ signal }) => {
      signals.push(signal);
      return client;
    },
  );
  const [signal] = signals as [AbortSignal];
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, command, log, client, graceful, signal, turn };
}

describe.each([
  ['before it is connected', true],
  ['later', false],
])('a bulk command that ends %s', (_, isEarly) => {
  /** Opens the client, and ends the command. */
  async function openAndEnd(reason: Error) {
    const parts = await open(isEarly ? reason : undefined);
    parts.command.abort(reason);
    return parts;
  }

  it.each([exitCodes.interrupted, exitCodes.terminated])('with exit code %i has 10 seconds for its requests', async (exit) => {
    const reason = ended(exit);
    const { clock, log, signal, turn } = await openAndEnd(reason);
    expect([log, signal.aborted]).toEqual([['interrupted'], false]);
    clock.advance(9_999);
    await turn();
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    await turn();
    expect(signal.reason).toBe(reason);
  });

  it.each([ended(exitCodes.timeout), Object.assign(new Error('x'), { exit: exitCodes.interrupted })])(
    'because of %s ends its requests immediately',
    async (reason) => {
      const { log, signal } = await openAndEnd(reason);
      expect([log, signal.reason]).toEqual([[], reason]);
    },
  );
});

describe('the client', () => {
  it('is the one of the new context', async () => {
    const { graceful, client, signal } = await open();
    expect(graceful.client).toBe(client);
    expect(await graceful.context.client()).toBe(client);
    expect(graceful.context.signal).toBe(signal);
  });

  it('is closed with everything that waits for the end of the command', async () => {
    const first = await open();
    await first.graceful.close();
    first.command.abort(ended(exitCodes.interrupted));
    expect([first.log, first.signal.aborted]).toEqual([['closed'], false]);
    const second = await open();
    second.command.abort(ended(exitCodes.interrupted));
    await second.graceful.close();
    second.clock.advance(60_000);
    await second.turn();
    expect([second.log, second.signal.aborted]).toEqual([['interrupted', 'closed'], false]);
  });
});
