/** A simulated terminal with a user: what is drawn, when, and the keys that the user presses. */
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { type Clock, steadyTime } from '../../src/base/clock.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import type { Client } from '../../src/client/client.ts';
import { Drafts } from '../../src/terminal/prompting/drafts.ts';
import { createPrompter } from '../../src/terminal/prompts.ts';
import type { OutputStream } from '../../src/terminal/sides.ts';
import { Terminal } from '../../src/terminal/streams.ts';

/** A clock that runs this many times faster than the real one. */
export function fastClock(factor: number): Clock {
  const startedAt = performance.now();
  const now = (): number => (performance.now() - startedAt) * factor;
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms / factor);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  return { now, sleep };
}

export interface TerminalEvent {
  at: number;
  text: string;
}

export class FakeTty {
  readonly terminal: Terminal;
  readonly drawings: TerminalEvent[] = [];
  /** Every key, with the time at which it was pressed. */
  readonly presses: TerminalEvent[] = [];
  readonly #clock: Clock;
  readonly #stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  #waiters = new Set<() => void>();

  constructor(clock: Clock, env: Record<string, string> = {}) {
    this.#clock = clock;
    const side = (): OutputStream =>
      Object.assign(
        new Writable({
          write: (chunk, _encoding, callback) => {
            this.drawings.push({ at: steadyTime(clock), text: stripVTControlCharacters(String(chunk)) });
            for (const check of [...this.#waiters]) check();
            callback();
          },
        }),
        { isTTY: true, columns: 80, rows: 40, cursorTo: () => true, moveCursor: () => true, clearLine: () => true },
      );
    const streams = { stdin: this.#stdin, stdout: side(), stderr: side(), env: { TERM: 'xterm', NO_COLOR: '1', ...env } };
    this.terminal = new Terminal(streams);
  }

  press(keys: string): void {
    this.presses.push({ at: steadyTime(this.#clock), text: keys });
    this.#stdin.write(keys);
  }

  /** When this was first drawn; undefined until then. */
  drawnAt(text: string): number | undefined {
    return this.drawings.find((entry) => entry.text.includes(text))?.at;
  }

  /** Resolves when this has been drawn. */
  shows(text: string): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.drawnAt(text) === undefined) return;
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
      check();
    });
  }
}

/** What a command that watches something at this terminal needs of its context. */
export function watchingContext(tty: FakeTty, clock: Clock, client: Client, signal: AbortSignal): Context {
  const { terminal } = tty;
  const drafts = new Drafts('/dev/null/drafts', clock);
  const prompter = createPrompter(terminal, { clock, drafts });
  return {
    terminal,
    prompter,
    drafts,
    clock,
    signal,
    env: {},
    format: 'table',
    flags: {},
    client: async () => client,
  } as unknown as Context;
}
