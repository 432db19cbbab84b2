import { expect, it } from 'vitest';
import { SingleFlight } from '../../src/base/single-flight.ts';

it('does the work once for callers at the same time, and again for later ones', async () => {
  const flights = new SingleFlight<number>();
  let calls = 0;
  const work = async () => ++calls;
  expect(await Promise.all([flights.run('a', work), flights.run('a', work)])).toEqual([1, 1]);
  expect(await flights.run('a', work)).toBe(2);
});

it('keeps the work of different keys apart', async () => {
  const flights = new SingleFlight<string>();
  expect(await Promise.all(['a', 'b'].map((key) => flights.run(key, async () => key)))).toEqual(['a', 'b']);
});

it('reports a failure to every caller, and retries for later ones', async () => {
  const flights = new SingleFlight<string>();
  const fail = () => Promise.reject(new Error('no network'));
  const results = await Promise.allSettled([flights.run('a', fail), flights.run('a', fail)]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flights.run('a', async () => 'ok')).toBe('ok');
});
