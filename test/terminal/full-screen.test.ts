/** The alternate screen: what is written to the terminal, and which keys count. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FullScreen } from '../../src/terminal/full-screen.ts';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import type { InputStream } from '../../src/terminal/sides.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { fakeTerminal } from './fake-streams.ts';

const esc = '\u001b';
const enters = `${esc}[?1049h`;
const leaves = `${esc}[?1049l`;

async function turns(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await turn();
}

async function openScreen(lines: readonly string[]) {
  const clock = new ManualClock();
  const events: string[] = [];
  let onContinue: () => void = () => undefined;
  let onExit: () => void = () => undefined;
  const { terminal, stderr } = fakeTerminal({
    tty: true,
    columns: 40,
    jobs: {
      stop: () => events.push('stopped'),
      onContinue: (listener) => {
        onContinue = listener;
        return () => undefined;
      },
      onExit: (listener) => {
        onExit = listener;
        return () => undefined;
      },
      interruptibly: (work) => work(),
    },
  });
  const screen = new FullScreen(terminal, clock, {
    onKey: (key) => events.push(JSON.stringify(key)),
    onResize: () => events.push('resized'),
    onCancel: () => events.push('cancelled'),
  });
  const type = async (text: string): Promise<void> => {
    (terminal.in.stream as InputStream & { write(text: string): void }).write(text);
    await turns();
  };
  const opened = screen.open(lines);
  await type('typed before');
  clock.advance(graceMs * 10);
  await opened;
  let length = 0;
  /** What was written since the last call. */
  const written = (): string => {
    const text = stderr().slice(length);
    length = stderr().length;
    return text;
  };
  return { screen, terminal, events, type, written, resume: () => onContinue(), exit: () => onExit() };
}

it('shows lines, then only those that change, and restores the terminal', async () => {
  const { screen, written } = await openScreen(['one', 'two']);
  expect(written()).toContain(`${enters}${esc}[?25l`);
  screen.draw(['one', 'three']);
  expect(written()).toBe(`${esc}[?2026h${esc}[2;1H${esc}[Kthree${esc}[?2026l`);
  screen.draw(['one', 'three']);
  expect(written()).toBe('');
  screen.close();
  expect(written()).toContain(`${esc}[?25h${leaves}`);
  screen.close();
  screen.draw(['more']);
  expect([written(), screen.isOpen]).toEqual(['', false]);
});

it('holds warnings back until the terminal shows lines again', async () => {
  const { screen, terminal, written } = await openScreen(['one']);
  written();
  terminal.warn('The service does not answer.');
  expect(written()).toBe('');
  screen.close();
  const text = written();
  expect(text.indexOf('The service does not answer.')).toBeGreaterThan(text.indexOf(leaves));
});

it('passes on the keys that were pressed after it was shown, one at a time', async () => {
  const { events, type, screen } = await openScreen(['one']);
  await type(`a${esc}[A${esc}OPü`);
  expect(events).toEqual(['"a"', JSON.stringify(`${esc}[A`), JSON.stringify(`${esc}OP`), '"ü"']);
  await type('\u0003');
  expect(events.at(-1)).toBe('cancelled');
  screen.close();
});

it('leaves the terminal to the shell while the process is stopped, and draws everything again afterwards', async () => {
  const { events, type, written, resume, screen } = await openScreen(['one', 'two']);
  written();
  await type('\u001a');
  expect(events).toEqual(['stopped', 'resized']);
  const text = written();
  expect(text.indexOf(leaves)).toBeLessThan(text.indexOf(enters));
  resume();
  await turns();
  expect([written(), events.at(-1)]).toEqual([expect.stringContaining(enters), 'resized']);
  screen.draw(['one', 'two']);
  expect(written()).toContain('two');
  screen.close();
});

it('does not take over the terminal again when the process continues after it was closed', async () => {
  const { written, resume, screen, events } = await openScreen(['one']);
  screen.close();
  written();
  resume();
  await turns();
  expect([written(), events]).toEqual(['', []]);
});

it('restores the terminal when the process ends', async () => {
  const { written, exit, screen } = await openScreen(['one']);
  written();
  exit();
  expect(written()).toContain(leaves);
  screen.close();
});
