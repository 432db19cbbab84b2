import { expect, inject, it } from 'vitest';
import { patience, timeLimits } from './time-limits.ts';

it.each(['base/a.test.ts', 'client/access/a.test.ts', 'config/a.test.ts', 'terminal/a.test.ts', 'watch/a.test.ts'])(
  'lets a test in %s hang for seconds, not for a minute',
  (file) => {
    const name = `/home/me/aops/test/${file}`;
    expect(timeLimits(name, 120_000)).toEqual({ testTimeout: 30_000, hookTimeout: 30_000 });
    expect(timeLimits(name, 3_600_000).testTimeout).toBe(900_000);
  },
);

it('gives end-to-end tests twice the usual limit', () => {
  expect(timeLimits('/home/me/aops/test/e2e/a.test.ts', 120_000)).toEqual({ testTimeout: 240_000, hookTimeout: 240_000 });
});

it('gives all other tests the usual limit', ({ task }) => {
  for (const file of ['service/http/a.test.ts', 'commands/watch.test.ts'])
    expect(timeLimits(`/src/watch/aops/test/${file}`, 120_000)).toEqual({ testTimeout: 120_000, hookTimeout: 120_000 });
  // It applies to this test too.
  expect(task.timeout).toBe(inject('timeLimit'));
});

it('ends a wait before the test, so that the error names the condition', () => {
  expect(patience.inside).toBeLessThan(timeLimits('/home/me/aops/test/base/a.test.ts', 120_000).testTimeout);
  expect(patience.outside).toBeLessThan(timeLimits('/home/me/aops/test/service/a.test.ts', 120_000).testTimeout);
});
