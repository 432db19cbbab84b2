/** For the tests of the service on Postgres: each of them fails if one of its transactions locks rows in another order than all others. */
import { afterEach, beforeEach, expect } from 'vitest';
import { lateLocks } from './lock-order.ts';

let late: ReadonlySet<string> = new Set();

beforeEach(() => {
  late = lateLocks();
});

afterEach(() => {
  expect([...late]).toEqual([]);
});
