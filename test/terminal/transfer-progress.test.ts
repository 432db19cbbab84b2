import { describe, expect, it, vi } from 'vitest';
import { statusLine } from '../../src/terminal/progress.ts';
import { formatSize } from '../../src/terminal/size.ts';
import { progressText, startTransferProgress, type TransferCounts } from '../../src/terminal/transfer-progress.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { fakeTerminal } from './fake-streams.ts';

const state: TransferCounts = { files: 12, totalFiles: 50, bytes: 300_000_000, totalBytes: 1_200_000_000 };

describe('the progress line of a transfer', () => {
  it.each([
    [100, 'Downloading 12 of 50 files  [=====               ]  25 %  300 MB of 1.2 GB  30 MB/s  30s left'],
    [80, 'Downloading 12 of 50 files  [=====               ]  25 %  300 MB of 1.2 GB'],
    [60, 'Downloading 12 of 50 files  [=====               ]  25 %'],
    [40, 'Downloading 12 of 50 files  25 %'],
    [10, '25 %'],
    [2, ''],
  ])('fits into %i columns', (columns, text) => expect(progressText('Downloading', state, 10_000, columns)).toBe(text));

  it('shows what is known', () => {
    const unknownCounts: TransferCounts = { files: 0, totalFiles: undefined, bytes: 0, totalBytes: 0 };
    expect(progressText('Downloading', unknownCounts, 0, 80)).toBe('Downloading: listing the files');
    expect(progressText('Uploading', { files: 0, totalFiles: 1, bytes: 5, totalBytes: 10 }, 100, 80)).toBe(
      'Uploading  [==========          ]  50 %  5 B of 10 B',
    );
    expect(progressText('Uploading', { files: 0, totalFiles: 0, bytes: 0, totalBytes: 0 }, 100, 80)).toContain('100 %');
    // More bytes than announced are never shown as more than 100 %.
    expect(progressText('Uploading', { files: 1, totalFiles: 1, bytes: 30, totalBytes: 10 }, 5_000, 120)).toMatch(/100 % .*6 B\/s$/);
  });
});

describe('the progress of a transfer', () => {
  it.each([
    ['off a terminal', { tty: false }],
    ['with --quiet', { tty: true, quiet: true }],
    ['in CI', { tty: true, env: { CI: '1' } }],
  ])('is not shown %s', async (_, options) => {
    const { terminal, stderr } = fakeTerminal(options);
    const clock = new ManualClock();
    const progress = startTransferProgress(terminal, 'Downloading', clock);
    clock.advance(10_000);
    await new Promise(setImmediate);
    progress.stop();
    expect(stderr()).toBe('');
  });
});

it('a status line hides an earlier one until it is stopped', async () => {
  const { terminal, stderr } = fakeTerminal({ tty: true, columns: 80 });
  const isDone = (): boolean => true;
  Object.assign(terminal.err.stream, { cursorTo: isDone, moveCursor: isDone, clearLine: isDone });
  const [lower, upper] = [await statusLine(terminal), await statusLine(terminal)];
  const outputOf = (act: () => void): string => {
    const before = stderr().length;
    act();
    return stderr().slice(before);
  };
  lower?.start(() => 'transfer');
  expect(outputOf(() => upper?.start(() => 'countdown'))).toMatch(/countdown/);
  expect(outputOf(() => lower?.show())).toBe('');
  expect(outputOf(() => upper?.stop())).toContain('transfer');
  expect(outputOf(() => upper?.start(() => 'countdown'))).not.toContain('transfer');
  lower?.stop();
  expect(outputOf(() => upper?.stop())).not.toContain('transfer');
});

it('the progress of a transfer appears when it takes longer than a moment, and disappears at the end', async () => {
  const { terminal, stderr } = fakeTerminal({ tty: true, columns: 80 });
  const isDone = (): boolean => true;
  Object.assign(terminal.err.stream, { cursorTo: isDone, moveCursor: isDone, clearLine: isDone });
  const clock = new ManualClock();
  const progress = startTransferProgress(terminal, 'Downloading', clock);
  Object.assign(progress.state, { totalFiles: 2, totalBytes: 100, bytes: 50 });
  clock.advance(400);
  await new Promise(setImmediate);
  expect(stderr()).toBe('');
  clock.advance(200);
  await vi.waitFor(() => expect(stderr()).toContain('Downloading 0 of 2 files  [==========          ]  50 %'));
  progress.stop();
  const output = stderr();
  progress.stop();
  await new Promise(setImmediate);
  expect(stderr()).toBe(output);
});

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1 kB'],
  [1_536, '1.54 kB'],
  [15_360, '15.4 kB'],
  [999_400, '999 kB'],
  [999_500, '1 MB'],
  [200_000_000, '200 MB'],
  [1_073_741_824, '1.07 GB'],
  [5e15, '5000 TB'],
])('%i bytes are shown as %s', (bytes, text) => expect(formatSize(bytes)).toBe(text));
