/** The board ends with the error if it cannot be drawn, or if watching fails, after it has restored the terminal. */
import { expect, it } from 'vitest';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import { Notifier } from '../../src/cli/notifying/notifier.ts';
import type { Client } from '../../src/client/client.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { showBoard } from '../../src/commands/runs/board/board.ts';
import { FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';

/** The result of something that would otherwise wait for ever. @throws Error after ten seconds */
async function promptly<Value>(pending: Promise<Value>, what: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ten seconds.`)), 10_000);
  });
  return Promise.race([pending, late]).finally(() => clearTimeout(timer));
}

/** A client without any runs or event streams. */
const client = {
  call: async () => ({ data: [], total: 0 }),
  openEvents: async () => {
    throw new NoStreamError('unknown', { final: true });
  },
  onWaiting: () => () => undefined,
} as unknown as Client;

const failures: Record<string, (tty: FakeTty) => void> = {
  'when the time passes': () => undefined,
  'on a key': (tty) => tty.press('?'),
};

it.each(Object.keys(failures))('ends with the error of a drawing that fails %s', async (trigger) => {
  const clock = fastClock(20);
  const tty = new FakeTty(clock);
  const context = {
    ...watchingContext(tty, clock, client, new AbortController().signal),
    teamId: () => 'team',
    config: () => ({ notify: {} }),
  };
  const notifier = new Notifier(context as never, { notify: false, exec: undefined });
  const board = showBoard(context as never, { kind: 'filter', filter: {}, addsNew: true } as never, notifier);
  await tty.shows('0 runs');
  const problem = new TypeError('the width is unknown');
  Object.defineProperty(tty.terminal.err, 'columns', {
    get: () => {
      throw problem;
    },
  });
  failures[trigger]?.(tty);
  await expect(promptly(board, 'the end of the board')).rejects.toBe(problem);
  expect(tty.drawnAt('No runs match.')).toBeDefined();
});

it('withdraws an open prompt and ends with the error if watching fails', async () => {
  const clock = fastClock(20);
  const tty = new FakeTty(clock);
  const request = { id: 'q1', type: 'approval', title: 'Pay 10 EUR?', description: null, created_at: '2026-07-18T09:00:00.000Z' };
  const run = {
    ...{ id: 'r1', run_number: 1, status: 'waiting', title: 'March', agent_name: 'payer', agent_id: null },
    ...{ created_at: request.created_at, pending_human_request: request },
  };
  const problem = new AopsError('The credential may not read runs.', { code: 'forbidden', exit: exitCodes.forbidden });
  const state = { fails: false };
  const waiting = {
    ...client,
    call: async (id: string) => {
      if (id === 'listRuns' && state.fails) throw problem;
      if (id === 'listRuns') return { data: [run], total: 1 };
      return id === 'getRun' ? { run, pending_human_request: request } : { messages: [], total: 0 };
    },
  } as unknown as Client;
  const context = {
    ...watchingContext(tty, clock, waiting, new AbortController().signal),
    teamId: () => 'team',
    config: () => ({ notify: {} }),
  };
  const notifier = new Notifier(context as never, { notify: false, exec: undefined });
  const board = showBoard(context as never, { kind: 'filter', filter: {}, addsNew: true } as never, notifier);
  board.catch(() => undefined);
  await promptly(tty.shows('March'), 'the run');
  tty.press('a');
  await promptly(tty.shows('Leave it pending'), 'the prompt');
  state.fails = true;
  await expect(promptly(board, 'the end of the board')).rejects.toBe(problem);
});
