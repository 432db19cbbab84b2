import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Drafts } from '../../src/terminal/prompting/drafts.ts';
import { createPrompter } from '../../src/terminal/prompts.ts';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { fakeTerminal } from './fake-streams.ts';

let folder: string;
let program: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'aops-prompts-'));
  await build({
    input: path.join(import.meta.dirname, 'fixtures', 'terminal-program.ts'),
    platform: 'node',
    logLevel: 'silent',
    output: { dir: folder, format: 'esm', entryFileNames: 'program.mjs' },
  });
  program = path.join(folder, 'program.mjs');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program in a terminal. Each step waits for its text to appear, then acts. Resolves to all output once all steps are done. */
async function drive(
  show: string,
  steps: [seen: string, act: string | ((pty: IPty) => void)][],
  env: Record<string, string> = {},
): Promise<string> {
  const pty = spawn(process.execPath, [program, show], {
    cols: 60,
    rows: 20,
    env: { ...cleanEnvironment(), TERM: 'xterm', NO_COLOR: '1', ...env },
  });
  let output = '';
  let offset = 0;
  const pending = [...steps];
  pty.onData((text) => {
    output += text;
    for (let step = pending[0]; step && stripVTControlCharacters(output).indexOf(step[0], offset) >= 0; step = pending[0]) {
      offset = stripVTControlCharacters(output).indexOf(step[0], offset) + step[0].length;
      pending.shift();
      const [, act] = step;
      if (typeof act === 'string') pty.write(act);
      else act(pty);
    }
  });
  await new Promise((resolve) => pty.onExit(resolve));
  if (pending.length > 0) throw new Error(`It ended without showing ${pending[0]?.[0]} in:\n${output}`);
  return output;
}

const downKey = '\u001b[B';
const withdraw = (pty: IPty): void => pty.kill('SIGUSR2');

describe('in a terminal', () => {
  test.each<[string, [string, string][], string]>([
    ['confirm', [['(y/N)', 'y\r']], 'ANSWER true'],
    ['confirm', [['(y/N)', '\r']], 'ANSWER false'],
    ['confirm', [['(y/N)', ' YES \r']], 'ANSWER true'],
    ['confirm', [['(y/N)', 'No\r']], 'ANSWER false'],
    ...['yikes', 'yesterday', 'yy', 'no way', 'what', 'y\tn'].map((word): [string, [string, string][], string] => [
      'confirm',
      [
        ['(y/N)', `${word}\r`],
        ['is neither yes nor no. Type y or n.', 'n\r'],
      ],
      'ANSWER false',
    ]),
    ['confirm', [['(y/N)', 'yx\u007f\r']], 'ANSWER true'],
    ['confirm', [['(y/N)', '\u001b[200~yes\u001b[201~\r']], 'ANSWER false'],
    [
      'select',
      [
        ['confirm', downKey],
        ['the second', '\r'],
      ],
      'ANSWER 2',
    ],
    [
      'checkbox',
      [
        ['confirm', '\r'],
        ['Choose at least one', ' '],
        ['◉', '\r'],
      ],
      'ANSWER [1]',
    ],
    [
      'search',
      [
        ['confirm', '二'],
        ['the second', '\r'],
      ],
      'ANSWER 2',
    ],
    [
      'input',
      [
        ['confirm', 'bad\r'],
        ['Not that one.', '\u007f\u007f\u007fgood\r'],
      ],
      'ANSWER "good"',
    ],
    // Enter arrives together with the text, before anything is redrawn.
    ['search', [['confirm', '二\r']], 'ANSWER 2'],
    ['line', [['Pick', 'some text\r']], 'ANSWER "some text"'],
    ['line', [['Pick', '\u001b[200~two\r\nlines\r\u001b[201~\r']], 'ANSWER "two lines"'],
    ['password', [['Pick', 's3cret\r']], 'ANSWER "s3cret"'],
    ['password', [['Pick', '\u001b[200~s3cret\n\u001b[201~\r']], 'ANSWER "s3cret"'],
    ['many', Array.from({ length: 15 }, (): [string, string] => ['confirm', '\r']), 'ANSWER "done"'],
  ])('%s', async (show, steps, expected) => {
    const output = await drive(show, steps);
    expect(output).toContain(expected);
    // No part of the hostile texts reaches the terminal as an escape sequence.
    expect(output).not.toContain('\u001b]0;');
    expect(output).not.toContain('\u001b[2J');
    expect(output).not.toContain('\u001b[8m');
    expect(output).not.toContain('Warning');
  });

  test('a password is never echoed', async () => {
    const output = await drive('password', [['Pick', 's3cret\r']]);
    expect(output.split('ANSWER')[0]).not.toContain('s3cret');
  });

  test.each([
    ['confirm', '(y/N)'],
    ['line', 'one'],
    ['password', 'one'],
    ['select', '⏎'],
    ['checkbox', '⏎'],
    ['input', '⏎'],
  ])('%s disappears without a trace when it is withdrawn', async (show, expectedText) => {
    const output = await drive(show, [[expectedText, withdraw]]);
    expect(output).toContain('REJECTED Error: withdrawn');
    // It is erased from its first line on, the cursor is shown again, and bracketed paste is switched off.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
    expect(output).toMatch(/\r\u001b\[J\u001b\[\?25h\u001b\[\?2004lREJECTED/);
  });

  test('a message too tall for the terminal is printed once, above the prompt', async () => {
    const output = await drive('tall', [
      ['confirm', downKey],
      ['the second', '\r'],
    ]);
    expect(output).toContain('ANSWER 2');
    expect(output.match(/line 59/g)).toHaveLength(1);
    expect(output.indexOf('line 59')).toBeLessThan(output.indexOf('Short?'));
    expect(output).not.toContain('\u001b[2J');
  });

  test('notes written meanwhile appear after the prompt', async () => {
    const correction = '\u007f\u007f\u007fgood\r';
    const output = await drive('inputWithNote', [
      ['confirm', 'bad\r'],
      ['Not that one.', correction],
    ]);
    expect(output).toMatch(/received bad\r\nreceived good\r\nANSWER "good"\r\n$/);
    expect(output.match(/received/g)).toHaveLength(2);
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('%s cancels', async (_name, key) => {
    for (const show of ['input', 'confirm', 'line', 'password'])
      expect(await drive(show, [['one', key]])).toContain('REJECTED PromptCancelled: Cancelled.');
  });

  test('there is no colour with NO_COLOR, and colour otherwise', async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
    const colour = /\u001b\[\d+m/;
    expect(await drive('select', [['confirm', '\r']])).not.toMatch(colour);
    expect(await drive('select', [['confirm', '\r']], { NO_COLOR: '' })).toMatch(colour);
  });

  test('nothing is asked in CI or on a dumb terminal', async () => {
    for (const env of [{ CI: '1' }, { TERM: 'dumb' }] as Record<string, string>[]) {
      const output = await drive('input', [], env);
      expect(output).toMatch(/^REJECTED UsageError: This question needs an answer/);
    }
  });
});

describe('progress in a terminal', () => {
  test('a spinner makes way for notes and leaves no trace', async () => {
    const output = await drive('spinner', []);
    expect(output).toContain('Working^[[2J');
    expect(output).toContain('a note above\r\n');
    expect(output.slice(output.lastIndexOf('Working'))).toContain('\u001b[?25h');
  });

  test('a countdown', async () => {
    expect(await drive('countdown', [])).toMatch(/Waiting \(30s\)[\s\S]*ANSWER/);
  });

  test('nothing is animated in CI: a countdown is one line, a spinner shows nothing', async () => {
    expect(await drive('spinner', [], { CI: '1' })).toBe('a note above\r\nANSWER "done"\r\n');
    expect(await drive('countdown', [], { CI: '1' })).toMatch(/^Waiting \(30s, until \d{4}-[^)]*Z\)\r\nANSWER "done"\r\n$/);
  });
});

describe('without an interactive terminal', () => {
  const options = { clock: systemClock, drafts: new Drafts('/dev/null/drafts', systemClock) };

  test('every kind of question is refused, naming the flag that answers it', async () => {
    const { terminal, stdout, stderr } = fakeTerminal({ tty: { stdin: false, stdout: true, stderr: true } });
    const prompter = createPrompter(terminal, options);
    const question = { message: 'Delete it?\u001b[2J', flag: '--yes' };
    const expected = {
      code: 'prompt_needed',
      exit: 2,
      message: expect.stringContaining('Delete it?^[[2J'),
      hint: expect.stringContaining('--yes'),
    };
    await expect(prompter.confirm(question)).rejects.toMatchObject(expected);
    await expect(prompter.select({ ...question, choices: [] })).rejects.toMatchObject(expected);
    await expect(prompter.checkbox({ ...question, choices: [] })).rejects.toMatchObject(expected);
    await expect(prompter.input(question)).rejects.toMatchObject(expected);
    await expect(prompter.search({ ...question, choices: [] })).rejects.toMatchObject(expected);
    await expect(prompter.line(question)).rejects.toMatchObject(expected);
    await expect(prompter.password(question)).rejects.toMatchObject(expected);
    expect(stdout() + stderr()).toBe('');
  });

  test('a signal that is already aborted rejects with its reason', async () => {
    const prompter = createPrompter(fakeTerminal({ tty: true }).terminal, options);
    await expect(prompter.input({ message: 'x' }, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
  });
});
