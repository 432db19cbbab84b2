import { expect, inject, it } from 'vitest';
import { timeLimits } from './time-limits.ts';

it.each(['base/a.test.ts', 'client/access/a.test.ts', 'config/a.test.ts', 'terminal/a.test.ts', 'watch/a.test.ts'])(
  'lets a test in %s hang for seconds, not for a minute',
  (file) => {
    const name = `/home/me/aops/test/${file}`;
    expect(timeLimits(name, 60_000)).toEqual({ testTimeout: 20_000, hookTimeout: 20_000 });
    expect(timeLimits(name, 3_600_000).testTimeout).toBe(1_200_000);
  },
);

it('gives tests of processes and services the usual limit', ({ task }) => {
  for (const file of ['e2e/a.test.ts', 'service/http/a.test.ts', 'commands/watch.test.ts'])
    expect(timeLimits(`/src/watch/aops/test/${file}`, 60_000)).toEqual({ testTimeout: 60_000, hookTimeout: 60_000 });
  // It applies to this test too.
  expect(task.timeout).toBe(inject('timeLimit'));
});
