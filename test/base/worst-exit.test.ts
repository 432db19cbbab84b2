import { expect, it } from 'vitest';
import { exitCodes } from '../../src/base/errors.ts';
import { exitCodesByGravity, worstExit } from '../../src/base/worst-exit.ts';

it('ranks every exit code once', () => {
  expect([...exitCodesByGravity].sort((a, b) => a - b)).toEqual(Object.values(exitCodes).sort((a, b) => a - b));
});

it('prefers an unknown outcome to failures, and a failed run to an interrupted or a waiting one', () => {
  expect(worstExit([])).toBe(0);
  expect(worstExit([0, 12, 11, 10])).toBe(10);
  expect(worstExit([12, 0, 11])).toBe(11);
  expect(worstExit([10, 6, 13, 8])).toBe(13);
});
