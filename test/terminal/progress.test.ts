/** Lines at the bottom of the terminal that are redrawn: status lines, spinners, countdowns, and the progress of transfers. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startCountdown, startSpinner, statusLine } from '../../src/terminal/progress.ts';
import { startTransferProgress } from '../../src/terminal/transfer-progress.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { fakeTerminal } from './fake-streams.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

/** A terminal, and what is written to it during an action. */
function watchedTerminal(options: Parameters<typeof fakeTerminal>[0] = {}) {
  const { terminal, stderr } = fakeTerminal({ tty: true, columns: 80, ...options });
  const addedText = (act: () => void): string => {
    const before = stderr().length;
    act();
    return stderr().slice(before);
  };
  /** What is written during this time. */
  const drawnAfter = (milliseconds: number): string => addedText(() => vi.advanceTimersByTime(milliseconds));
  return { terminal, stderr, added: addedText, drawn: drawnAfter };
}

/** Long enough for the code that is loaded with the first line. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('a status line', () => {
  it('is drawn again with its current text every second, until it is stopped', async () => {
    const { terminal, added, drawn } = watchedTerminal();
    const line = await statusLine(terminal);
    let text = 'first';
    expect(added(() => line?.start(() => text))).toContain('first');
    text = 'second';
    expect(drawn(990)).not.toContain('second');
    expect(drawn(1_000)).toContain('second');
    text = 'third';
    line?.refresh();
    expect(drawn(100)).toContain('third');
    line?.stop();
    expect(drawn(5_000)).toBe('');
  });

  it('can be hidden and shown again, however often', async () => {
    const { terminal, added, drawn } = watchedTerminal();
    const line = await statusLine(terminal);
    line?.start(() => 'working');
    expect(added(() => line?.show())).toBe('');
    line?.hide();
    expect(added(() => line?.hide())).toBe('');
    expect(drawn(5_000)).toBe('');
    expect(added(() => line?.show())).toContain('working');
    line?.stop();
    expect(drawn(5_000)).toBe('');
  });

  it('hides an earlier one until it is stopped', async () => {
    const { terminal, added, drawn } = watchedTerminal();
    const [lower, upper] = [await statusLine(terminal), await statusLine(terminal)];
    lower?.start(() => 'transfer');
    expect(added(() => upper?.start(() => 'countdown'))).toMatch(/countdown/);
    expect(drawn(5_000)).not.toContain('transfer');
    expect(added(() => lower?.show())).toBe('');
    expect(added(() => upper?.stop())).toContain('transfer');
    expect(drawn(5_000)).toContain('transfer');
    expect(added(() => upper?.start(() => 'countdown'))).not.toContain('transfer');
    lower?.stop();
    expect(added(() => upper?.stop())).not.toContain('transfer');
    expect(drawn(5_000)).toBe('');
  });

  it('is not shown again by another one that began after it was stopped', async () => {
    const { terminal, added, drawn } = watchedTerminal();
    const [first, second] = [await statusLine(terminal), await statusLine(terminal)];
    first?.start(() => 'first');
    first?.stop();
    second?.start(() => 'second');
    expect(added(() => second?.stop())).not.toContain('first');
    expect(drawn(5_000)).toBe('');
    // It can be started again.
    expect(added(() => first?.start(() => 'first again'))).toContain('first again');
    first?.stop();
  });

  it('returns to those below it one after the other', async () => {
    const { terminal, added, drawn } = watchedTerminal();
    const lines = [await statusLine(terminal), await statusLine(terminal), await statusLine(terminal)];
    for (const [index, line] of lines.entries()) line?.start(() => `line ${index}`);
    expect(added(() => lines[2]?.stop())).toContain('line 1');
    expect(added(() => lines[1]?.stop())).toContain('line 0');
    expect(added(() => lines[0]?.stop())).not.toContain('line 1');
    expect(drawn(5_000)).toBe('');
  });

  it.each([
    [{ color: 'always' as const }, true],
    [{ color: 'never' as const }, false],
  ])('has a coloured spinner only with colour: %j', async (options, isColoured) => {
    const { terminal, added } = watchedTerminal(options);
    const line = await statusLine(terminal);
    expect(added(() => line?.start(() => 'working')).includes('\u001b[36m')).toBe(isColoured);
    line?.stop();
  });

  it('makes its text harmless', async () => {
    const { terminal, added } = watchedTerminal();
    const line = await statusLine(terminal);
    expect(added(() => line?.start(() => 'a\u001b]0;title\u0007b'))).toContain('a^[]0;title^Gb');
    line?.stop();
  });
});

describe('a spinner', () => {
  it('appears when the work takes longer than a moment, with its latest text', async () => {
    const { terminal, stderr, drawn } = watchedTerminal();
    const clock = new ManualClock();
    const spinner = startSpinner(terminal, 'Waiting', clock);
    clock.advance(149);
    await settle();
    expect(stderr()).toBe('');
    spinner.update('Still waiting');
    clock.advance(1);
    await vi.waitFor(() => expect(stderr()).toContain('Still waiting'));
    spinner.stop();
    spinner.stop();
    expect(drawn(5_000)).toBe('');
  });

  it('does not appear after it was stopped', async () => {
    const { terminal, stderr } = watchedTerminal();
    const clock = new ManualClock();
    const spinner = startSpinner(terminal, 'Waiting', clock);
    await settle();
    clock.advance(150);
    spinner.stop();
    await settle();
    const [early, quick] = [startSpinner(terminal, 'Waiting', clock), startTransferProgress(terminal, 'Downloading', clock)];
    early.stop();
    clock.advance(500);
    quick.stop();
    await settle();
    clock.advance(5_000);
    await settle();
    expect(stderr()).toBe('');
  });
});

describe('a countdown', () => {
  it('shows the remaining time on a terminal', async () => {
    const { terminal, stderr, drawn } = watchedTerminal();
    const clock = new ManualClock();
    const stop = await startCountdown(terminal, 'Waiting', clock.now() + 90_000, clock);
    expect(stderr()).toContain('Waiting (1m 30s)');
    clock.advance(60_000);
    expect(drawn(2_000)).toContain('Waiting (30s)');
    stop();
    expect(drawn(5_000)).toBe('');
  });

  it('is one note with the time of its end elsewhere', async () => {
    const { terminal, stderr } = watchedTerminal({ tty: false });
    const clock = new ManualClock();
    const stop = await startCountdown(terminal, 'Waiting', clock.now() + 90_000, clock);
    stop();
    expect(stderr()).toBe('Waiting (1m 30s, until 2026-07-18T09:01:30.000Z)\n');
  });
});

describe('the progress of a transfer', () => {
  it('appears when it takes longer than a moment, and disappears at the end', async () => {
    const { terminal, stderr, drawn } = watchedTerminal({ columns: 100 });
    const clock = new ManualClock();
    const progress = startTransferProgress(terminal, 'Downloading', clock);
    Object.assign(progress.state, { totalFiles: 2, totalBytes: 100, bytes: 50 });
    clock.advance(400);
    await settle();
    expect(stderr()).toBe('');
    clock.advance(200);
    await vi.waitFor(() => expect(stderr()).toContain('Downloading 0 of 2 files  [==========          ]  50 %'));
    progress.state.bytes = 80;
    expect(drawn(300)).toContain('80 %');
    clock.advance(3_400);
    // In 4 seconds, 20 bytes each.
    expect(drawn(300)).toContain('80 B of 100 B  20 B/s  1s left');
    progress.stop();
    progress.stop();
    expect(drawn(5_000)).toBe('');
  });

  it('fits the terminal together with its spinner', async () => {
    const { terminal, stderr } = watchedTerminal({ columns: 58 });
    const clock = new ManualClock();
    const progress = startTransferProgress(terminal, 'Downloading', clock);
    Object.assign(progress.state, { files: 12, totalFiles: 50, totalBytes: 100, bytes: 25 });
    clock.advance(500);
    await vi.waitFor(() => expect(stderr()).toContain('Downloading 12 of 50 files  25 %'));
    progress.stop();
  });
});
