import { describe, expect, it } from 'vitest';
import { startSpinner, statusLine } from '../../src/terminal/progress.ts';
import { formatSize } from '../../src/terminal/size.ts';
import { progressText, startTransferProgress, type TransferCounts } from '../../src/terminal/transfer-progress.ts';
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
    [56, 'Downloading 12 of 50 files  [=====               ]  25 %'],
    [55, 'Downloading 12 of 50 files  25 %'],
  ])('fits into %i columns', (columns, text) => expect(progressText('Downloading', state, 10_000, columns)).toBe(text));

  it('shows what is known', () => {
    const unknownCounts: TransferCounts = { files: 0, totalFiles: undefined, bytes: 0, totalBytes: 0 };
    expect(progressText('Downloading', unknownCounts, 0, 80)).toBe('Downloading: listing the files');
    expect(progressText('Uploading', { files: 0, totalFiles: 1, bytes: 5, totalBytes: 10 }, 100, 80)).toBe(
      'Uploading  [==========          ]  50 %  5 B of 10 B',
    );
    expect(progressText('Uploading', { files: 0, totalFiles: 0, bytes: 0, totalBytes: 0 }, 100, 80)).toContain('100 %');
    expect(progressText('Uploading', { files: 1, totalFiles: 2, bytes: 0, totalBytes: 0 }, 100, 80)).toContain('50 %');
    // The rate is shown after two seconds, and the remaining time until the last byte.
    const progressAfter = (bytes: number, elapsedTime: number) =>
      progressText('Uploading', { files: 0, totalFiles: 1, bytes, totalBytes: 10 }, elapsedTime, 120).split(' of 10 B')[1];
    expect(progressAfter(4, 1_999)).toBe('');
    expect(progressAfter(4, 2_000)).toBe('  2 B/s  3s left');
    expect(progressAfter(10, 2_000)).toBe('  5 B/s');
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
    const sleeps: number[] = [];
    const clock = { now: () => 0, sleep: async (milliseconds: number) => void sleeps.push(milliseconds) };
    const progress = startTransferProgress(terminal, 'Downloading', clock);
    const spinner = startSpinner(terminal, 'Waiting', clock);
    await new Promise(setImmediate);
    progress.stop();
    spinner.update('Still waiting');
    spinner.stop();
    expect(await statusLine(terminal)).toBeUndefined();
    expect({ sleeps, text: stderr() }).toEqual({ sleeps: [], text: '' });
  });
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
  [1.6, '2 B'],
  [9_994, '9.99 kB'],
  [9_995, '10 kB'],
  [-1, '0 B'],
])('%i bytes are shown as %s', (bytes, text) => expect(formatSize(bytes)).toBe(text));
