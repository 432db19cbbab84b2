/** What happens on the disk between two calls of the code under test, so that a race has the same outcome every time. */
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { vi } from 'vitest';
import { afterTest } from '../../support/temporary.ts';

type Call = 'link' | 'lstat' | 'mkdir' | 'open' | 'readdir' | 'readlink' | 'realpath' | 'rename' | 'rm';

/**
 * Does something right before or after the first call of a function of node:fs/promises with this path; its results stay unchanged.
 * If the action rejects, so does the call.
 */
export function onDiskCall(when: 'before' | 'after', call: Call, path: string | RegExp, action: () => Promise<unknown>): void {
  let isDone = false;
  const isSame = (candidate: string): boolean => (typeof path === 'string' ? candidate === path : path.test(candidate));
  const real = promises[call] as (...values: unknown[]) => Promise<unknown>;
  const act = async (): Promise<void> => {
    isDone = true;
    restore();
    await action();
  };
  const spy = vi.spyOn(promises, call as 'rm').mockImplementation((async (...values: unknown[]) => {
    const isFirst = !isDone && isSame(String(values[0]));
    if (isFirst && when === 'before') await act();
    try {
      return await real(...values);
    } finally {
      if (isFirst && when === 'after') await act();
    }
  }) as never);
  const restore = (): void => {
    spy.mockRestore();
    syncBuiltinESMExports();
  };
  syncBuiltinESMExports();
  afterTest(async () => restore());
}
