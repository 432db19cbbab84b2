/** Prompts in this process, on streams in memory. */
import type { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Drafts } from '../../src/terminal/prompting/drafts.ts';
import { createPrompter, type Prompter } from '../../src/terminal/prompts.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

type Options = NonNullable<Parameters<typeof fakeTerminal>[0]> & { clock?: Clock; drafts?: string };

/** A terminal with a prompter. */
export function prompting({ clock = systemClock, drafts = '/dev/null/drafts', env = {}, ...options }: Options = {}) {
  const fake = fakeTerminal({ tty: true, columns: 80, ...options, env: { TERM: 'xterm', NO_COLOR: '1', ...env } });
  const prompter = createPrompter(fake.terminal, { clock, drafts: new Drafts(drafts, clock) });
  const stdin = fake.terminal.in.stream as PassThrough;
  const screen = (): string => stripVTControlCharacters(fake.stderr());
  const shows = (text: string): Promise<void> => expect.poll(screen, { interval: 1 }).toContain(text) as unknown as Promise<void>;
  /** Lets everything that is due happen. */
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  /** What an action writes to the screen, with escape sequences. */
  const written = async (act: () => unknown): Promise<string> => {
    const before = fake.stderr().length;
    act();
    await turns();
    return fake.stderr().slice(before);
  };
  /** What was drawn because of these keys, which are pressed one after another. */
  const press = async (...keys: string[]): Promise<string> => {
    let drawnText = '';
    for (const key of keys) drawnText += stripVTControlCharacters(await written(() => stdin.write(key)));
    return drawnText;
  };
  return { ...fake, prompter, stdin, screen, shows, turns, written, press };
}

/** A prompt that is on the screen once it shows this text. */
export async function openPrompt<Answer>(show: (prompter: Prompter) => Promise<Answer>, seen: string, options: Options = {}) {
  const terminal = prompting(options);
  const answer = show(terminal.prompter);
  answer.catch(() => undefined);
  await terminal.shows(seen);
  await terminal.turns();
  return { ...terminal, answer };
}
