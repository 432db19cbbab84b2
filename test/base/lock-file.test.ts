import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { takeLock } from '../../src/base/lock-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'aops-lock-'));
  file = path.join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const leaveStale = (name: string): void => {
  writeFileSync(name, 'dead');
  utimesSync(name, new Date(0), new Date(0));
};

test('is held by one owner at a time', async () => {
  const unlock = await takeLock(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await takeLock(file, { waitMilliseconds: 30 })).toBeUndefined();
  const next = takeLock(file);
  unlock?.();
  (await next)?.();
  expect(existsSync(file)).toBe(false);
});

test('serialises many owners', async () => {
  let holderCount = 0;
  let maximum = 0;
  const enter = async (): Promise<void> => {
    const unlock = await takeLock(file);
    holderCount += 1;
    maximum = Math.max(maximum, holderCount);
    await new Promise((resolve) => setImmediate(resolve));
    holderCount -= 1;
    unlock?.();
  };
  await Promise.all(Array.from({ length: 20 }, enter));
  expect(maximum).toBe(1);
});

test('is broken when it was left behind, even if a process died while breaking it', async () => {
  leaveStale(file);
  leaveStale(`${file}.break`);
  const unlock = await takeLock(file, { waitMilliseconds: 1_000 });
  expect(unlock).toBeDefined();
  unlock?.();
  expect(existsSync(file) || existsSync(`${file}.break`)).toBe(false);
});

test('is kept fresh while it is held', async () => {
  // With a fake clock: on a loaded machine a lock could become stale between two turns of real timers.
  vi.useFakeTimers();
  try {
    const unlock = await takeLock(file);
    const otherLock = takeLock(file, { waitMilliseconds: 60_000 });
    await vi.advanceTimersByTimeAsync(60_100);
    expect(await otherLock).toBeUndefined();
    unlock?.();
    // A lock whose holder dies now is taken over when it becomes stale, and not earlier.
    writeFileSync(file, 'dead');
    utimesSync(file, new Date(), new Date());
    let isTaken = false;
    const next = takeLock(file).finally(() => {
      isTaken = true;
    });
    await vi.advanceTimersByTimeAsync(9_900);
    expect(isTaken).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(isTaken).toBe(true);
    (await next)?.();
  } finally {
    vi.useRealTimers();
  }
});

test('is left to the process that is breaking it, without blocking this one', async () => {
  leaveStale(file);
  writeFileSync(`${file}.break`, 'another');
  const controller = new AbortController();
  setImmediate(() => controller.abort(new Error('enough')));
  await expect(takeLock(file, { signal: controller.signal })).rejects.toThrow('enough');
  expect([readFileSync(file, 'utf8'), readFileSync(`${file}.break`, 'utf8')]).toEqual(['dead', 'another']);
});

test('is not broken when another process has taken it since it was found stale', async () => {
  leaveStale(file);
  // The time is read once for the end of the wait, and then for the age of the lock.
  const now = vi.spyOn(Date, 'now').mockReturnValueOnce(Date.now());
  now.mockImplementationOnce(() => {
    writeFileSync(file, 'another');
    return Date.now();
  });
  try {
    let checks = 0;
    expect(await takeLock(file, { until: () => ++checks === 3 })).toBeUndefined();
    expect(now).toHaveBeenCalled();
    expect(readFileSync(file, 'utf8')).toBe('another');
  } finally {
    now.mockRestore();
  }
});

test('is not refreshed when another owner holds it by now', async () => {
  vi.useFakeTimers();
  try {
    const unlock = await takeLock(file);
    leaveStale(file);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(statSync(file).mtimeMs).toBe(0);
    unlock?.();
  } finally {
    vi.useRealTimers();
  }
});

test('is not removed when another owner holds it by now', async () => {
  const unlock = await takeLock(file);
  writeFileSync(file, 'another');
  unlock?.();
  expect(existsSync(file)).toBe(true);
});

test('is no longer waited for once the wait is cut short', async () => {
  const unlock = await takeLock(file);
  let checks = 0;
  expect(await takeLock(file, { until: () => ++checks === 3 })).toBeUndefined();
  await expect(takeLock(file, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  unlock?.();
  await expect(takeLock(path.join(folder, 'none', 'lock'))).rejects.toThrow('ENOENT');
});

test('is broken immediately when its holder has ended, and by nobody who cannot know that', async () => {
  await takeLock(file, { holder: '17 here' });
  const hasEnded = (holder: string): boolean => holder === '17 here';
  expect(await takeLock(file, { waitMilliseconds: 0 })).toBeUndefined();
  expect(await takeLock(file, { waitMilliseconds: 0, hasEnded: () => false })).toBeUndefined();
  const unlock = await takeLock(file, { waitMilliseconds: 0, holder: '18 here', hasEnded });
  expect(readFileSync(file, 'utf8')).toMatch(/^[0-9a-f-]{36} 18 here$/);
  expect(await takeLock(file, { waitMilliseconds: 0, hasEnded })).toBeUndefined();
  unlock?.();
  expect(existsSync(file)).toBe(false);
});
