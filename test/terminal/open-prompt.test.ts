/** A prompt on the screen: how it takes over the terminal and returns it, ignores keys at first, is stopped, resized, and withdrawn. */
import { describe, expect, it } from 'vitest';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import type { Prompter } from '../../src/terminal/prompts.ts';
import type { JobControl } from '../../src/terminal/streams.ts';
import { failureOf } from '../client/harness.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { openPrompt, prompting } from '../support/open-prompts.ts';

const enter = '\r';
const [pasteOn, pasteOff] = ['\u001b[?2004h', '\u001b[?2004l'];
const choices = ['Alpha', 'Beta'].map((name) => ({ value: name, name }));

/** Each kind of prompt, with a text that it shows. */
const kinds: [string, string, (prompter: Prompter, options?: Parameters<Prompter['select']>[1]) => Promise<unknown>][] = [
  ['confirm', '(y/N)', (prompter, options) => prompter.confirm({ message: 'Which?' }, options)],
  ['select', 'confirm', (prompter, options) => prompter.select({ message: 'Which?', choices }, options)],
  ['search', 'type to search', (prompter, options) => prompter.search({ message: 'Which?', choices }, options)],
  ['checkbox', 'space choose', (prompter, options) => prompter.checkbox({ message: 'Which?', choices }, options)],
  ['input', 'confirm', (prompter, options) => prompter.input({ message: 'Which?' }, options)],
  ['line', 'Which?', (prompter, options) => prompter.line({ message: 'Which?' }, options)],
  ['password', 'Which?', (prompter, options) => prompter.password({ message: 'Which?' }, options)],
];

/** Job control whose signals are sent by the test. */
function fakeJobs() {
  const listeners = { continue: new Set<() => void>(), exit: new Set<() => void>() };
  const on = (name: keyof typeof listeners) => (listener: () => void) => {
    listeners[name].add(listener);
    return () => void listeners[name].delete(listener);
  };
  let stops = 0;
  const jobs: JobControl = {
    stop: () => {
      stops += 1;
    },
    onContinue: on('continue'),
    onExit: on('exit'),
    interruptibly: (work) => work(),
  };
  const send = (name: keyof typeof listeners): void => {
    for (const listener of listeners[name]) listener();
  };
  return { jobs, send, stops: () => stops, listening: () => listeners.continue.size + listeners.exit.size };
}

describe.each(kinds)('a prompt of the kind %s', (_, seen, show) => {
  it('takes over the terminal, and returns it when it is withdrawn', async () => {
    const stop = new AbortController();
    const { jobs, listening } = fakeJobs();
    const { answer, terminal, stdin, stderr, written } = await openPrompt((prompter) => show(prompter, { signal: stop.signal }), seen, {
      jobs,
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
    const modes = (): string[] => stderr().match(/\u001b\[\?2004[hl]/g) ?? [];
    expect(modes()).toEqual([pasteOn]);
    terminal.note('note');
    expect(stderr()).not.toContain('note');
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await failureOf(answer)).toBe(reason);
    expect(modes()).toEqual([pasteOn, pasteOff]);
    expect(stderr().indexOf('note')).toBeGreaterThan(stderr().indexOf(pasteOff));
    expect([stdin.listenerCount('data'), stdin.isPaused(), listening()]).toEqual([0, true, 0]);
    expect(terminal.prompting).toBe(false);
    expect(await written(() => terminal.err.stream.emit('resize'))).toBe('');
  });

  it('shows nothing if it was withdrawn before', async () => {
    const { prompter, stderr, stdin } = prompting();
    const reason = new Error('enough');
    expect(await failureOf(show(prompter, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect([stderr(), stdin.listenerCount('data')]).toEqual(['', 0]);
  });

  it('shows nothing without an interactive terminal', async () => {
    const { prompter, stderr } = prompting({ input: false });
    expect(await failureOf(show(prompter))).toMatchObject({ code: 'prompt_needed', exit: 2 });
    expect(stderr()).toBe('');
  });

  it('is drawn again when the window is resized', async () => {
    const { terminal, answer, written, press } = await openPrompt(show, seen);
    terminal.err.stream.columns = 60;
    expect(await written(() => terminal.err.stream.emit('resize'))).toContain('Which?');
    await press('\u0003');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted', exit: 130 });
  });

  it('can be stopped and continued', async () => {
    const { jobs, send, stops } = fakeJobs();
    const { answer, terminal, stdin, written, press } = await openPrompt(show, seen, { jobs });
    const suspendedOutput = await written(() => stdin.write('\u001a'));
    expect(stops()).toBe(1);
    expect(suspendedOutput.indexOf(pasteOff)).toBeGreaterThanOrEqual(0);
    // No signal arrives if the process could not be stopped, so it continues by itself.
    expect(suspendedOutput.indexOf(pasteOn)).toBeGreaterThan(suspendedOutput.indexOf(pasteOff));
    expect(suspendedOutput.slice(suspendedOutput.indexOf(pasteOn))).toContain('Which?');
    const outputAfter = await written(() => send('continue'));
    expect(outputAfter).toContain(pasteOn);
    expect(await written(() => send('exit'))).toBe(pasteOff);
    expect(await written(() => terminal.err.stream.emit('resize'))).toContain('Which?');
    await press('\u0003');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
    expect(await written(() => send('continue'))).toBe('');
  });

  it('is not drawn while the process is stopped', async () => {
    const { jobs } = fakeJobs();
    const { answer, terminal, stdin, press, stderr } = await openPrompt(show, seen, { jobs });
    const before = stderr().length;
    // The window is resized in the shell.
    jobs.stop = () => void terminal.err.stream.emit('resize');
    await press('\u001a');
    const output = stderr().slice(before);
    expect(output.slice(0, output.indexOf(pasteOn))).not.toContain('Which?');
    stdin.write('\u0003');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
  });

  it('cannot be stopped where jobs cannot', async () => {
    const { answer, stdin, written, press } = await openPrompt(show, seen, {
      jobs: { onContinue: () => () => undefined, onExit: () => () => undefined, interruptibly: (work) => work() },
    });
    expect(await written(() => stdin.write('\u001a'))).toBe('');
    await press('\u0003');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
  });

  it('ends when the terminal is closed', async () => {
    const { answer, stdin, stderr } = await openPrompt(show, seen);
    stdin.end();
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted', exit: 130 });
    expect(stderr()).toContain(pasteOff);
  });
});

describe('a prompt that appears by itself', () => {
  it('ignores keys until nobody has typed for a moment, and says so', async () => {
    const clock = new ManualClock();
    const { answer, press, screen, turns } = await openPrompt(
      (prompter) => prompter.select({ message: 'Which?', choices }, { unsolicited: true }),
      'the keys work in a moment',
      { clock },
    );
    await press(enter, '\u001b[B', enter);
    expect(screen()).not.toContain('❯ Beta');
    const before = screen().length;
    clock.advance(graceMs);
    await turns();
    clock.advance(graceMs);
    for (let count = 0; count < 4; count += 1) await turns();
    expect(screen().slice(before)).toContain('confirm');
    expect(screen().slice(before)).not.toContain('the keys work in a moment');
    await press('\u001b[B', enter);
    expect(await answer).toBe('Beta');
  });

  it('ignores keys again after it was continued', async () => {
    const clock = new ManualClock();
    const { jobs, send } = fakeJobs();
    const { answer, press, turns, written } = await openPrompt(
      (prompter) => prompter.select({ message: 'Which?', choices }, { unsolicited: true }),
      'the keys work in a moment',
      { clock, jobs },
    );
    clock.advance(graceMs);
    for (let count = 0; count < 4; count += 1) await turns();
    expect(await press('\u001b[B')).toContain('❯ Beta');
    expect(await written(() => send('continue'))).toContain('the keys work in a moment');
    expect(await press('\u001b[A')).not.toContain('❯ Alpha');
    await press('\u0003');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
  });
});

describe('an answered prompt', () => {
  it('stays on the screen', async () => {
    const { answer, press, screen, turns } = await openPrompt((prompter) => prompter.select({ message: 'Which?', choices }), 'confirm');
    await press(enter);
    await answer;
    await turns();
    expect(screen()).toMatch(/✓ Which\? Alpha\s*$/);
  });

  it('is withdrawn from the screen when it is dismissed or its signal is aborted', async () => {
    const stop = new AbortController();
    const withdrawnPrompt = await openPrompt((prompter) => prompter.confirm({ message: 'Which?' }, { signal: stop.signal }), '(y/N)');
    const erasedOutput = await withdrawnPrompt.written(() => stop.abort(new Error('enough')));
    expect(erasedOutput).toContain('\u001b[J');
    expect(erasedOutput).not.toContain('Which?');
  });
});

describe('a question with context', () => {
  const context = Array.from({ length: 6 }, (_, index) => `line ${index}`).join('\n');
  const show = (prompter: Prompter) => prompter.select({ message: 'Which?', above: `${context}\n\n`, detail: 'The detail.\n', choices });

  it.each([
    [undefined, false],
    [22, false],
    [21, true],
  ])('that has 8 rows is part of the prompt in a window of %s rows unless it is too long: %s', async (rows, isPrinted) => {
    const terminal = prompting();
    if (rows !== undefined) Object.assign(terminal.terminal.err.stream, { rows });
    const answer = show(terminal.prompter);
    answer.catch(() => undefined);
    await terminal.shows(isPrinted ? 'Which?' : 'confirm');
    await terminal.turns();
    const again = await terminal.press('\u001b[B');
    expect([again.includes('line 0'), again.includes('The detail.')]).toEqual([!isPrinted, !isPrinted]);
    await terminal.press(enter);
    expect(await answer).toBe('Beta');
    await terminal.turns();
    expect(terminal.screen()).toContain('line 5');
    expect(terminal.screen()).toContain('The detail.');
  });

  it('counts rows that are wrapped', async () => {
    const terminal = prompting();
    Object.assign(terminal.terminal.err.stream, { rows: 18 });
    const answer = terminal.prompter.select({ message: 'Which?', above: 'x'.repeat(80 * 4), choices });
    answer.catch(() => undefined);
    await terminal.shows('Which?');
    await terminal.turns();
    expect(await terminal.press('\u001b[B')).not.toContain('xxx');
    await terminal.press(enter);
    expect(await answer).toBe('Beta');
  });

  it('shows hostile text as harmless text', async () => {
    const hostile = 'a\u001b[8mb\u009b2Jc\u202ed';
    const { answer, press, stderr } = await openPrompt(
      (prompter) => prompter.select({ message: hostile, above: hostile, detail: hostile, choices }),
      'confirm',
    );
    await press(enter);
    await answer;
    expect(stderr().split('a^[[8mb\\u{9b}2Jc\\u{202e}d').length).toBeGreaterThan(3);
    for (const sequence of ['\u001b[8m', '\u009b', '\u202e']) expect(stderr()).not.toContain(sequence);
  });
});
