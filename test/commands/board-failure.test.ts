/** The board ends with the error if it cannot be drawn, after it has restored the terminal. */
import { expect, it } from 'vitest';
import { Notifier } from '../../src/cli/notifying/notifier.ts';
import type { Client } from '../../src/client/client.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { showBoard } from '../../src/commands/runs/board/board.ts';
import { FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';

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
  await expect(board).rejects.toBe(problem);
  expect(tty.drawnAt('No runs match.')).toBeDefined();
});
