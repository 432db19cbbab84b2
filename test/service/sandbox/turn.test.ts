import { afterEach, expect, it, vi } from 'vitest';
import { Turn } from '../../../src/service/sandbox/turn.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('a turn of several milliseconds lets other requests be handled, and then begins again', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const turn = new Turn();
  let handled = 0;
  const request = (): void => void setImmediate(() => (handled += 1));
  request();
  now.mockReturnValue(1_004);
  await turn.yield();
  expect(handled).toBe(0);
  now.mockReturnValue(1_005);
  await turn.yield();
  expect(handled).toBe(1);
  request();
  now.mockReturnValue(1_009);
  await turn.yield();
  expect(handled).toBe(1);
  now.mockReturnValue(1_010);
  await turn.yield();
  expect(handled).toBe(2);
});
