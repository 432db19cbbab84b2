/** Lookups by the system: one for a name at a time, so that a name without working servers occupies a single thread. */
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { beforeEach, expect, it, vi } from 'vitest';
import { systemLookup } from '../../../src/service/outbound/system-lookup.ts';
import { afterTest } from '../../support/temporary.ts';

type Callback = (error: Error | null, addresses: LookupAddress[]) => void;

/** The lookups in progress, which end when a test calls them. */
let lookups: { host: string; end: Callback }[];
beforeEach(() => {
  lookups = [];
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(((host: string, _: LookupOptions, end: Callback) => {
    lookups.push({ host, end });
  }) as never);
  syncBuiltinESMExports();
  afterTest(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
});

const resultOf = (host: string, options: LookupOptions = {}) =>
  new Promise((resolve) => systemLookup(host, { ...options, all: true }, (error, addresses) => resolve(error ?? addresses)));

const addresses = [{ address: '192.0.2.1', family: 4 }];

it('is shared by all who look up a name at the same time, and not by those who do so later', async () => {
  const results = [resultOf('a.example'), resultOf('A.example'), resultOf('b.example')];
  expect(lookups.map(({ host }) => host)).toEqual(['a.example', 'b.example']);
  lookups[0]?.end(null, addresses);
  expect(await Promise.all(results.slice(0, 2))).toEqual([addresses, addresses]);
  const later = resultOf('a.example');
  expect(lookups.map(({ host }) => host)).toEqual(['a.example', 'b.example', 'a.example']);
  const error = new Error('ENOTFOUND');
  lookups[2]?.end(error, []);
  lookups[1]?.end(null, []);
  expect([await later, await results[2]]).toEqual([error, []]);
});

it('is not shared by those who ask for other addresses', async () => {
  const results = [resultOf('a.example', { family: 4 }), resultOf('a.example', { family: 6 })];
  expect(lookups).toHaveLength(2);
  for (const { end } of lookups) end(null, addresses);
  expect(await Promise.all(results)).toEqual([addresses, addresses]);
});

it('fails for all who wait for it', async () => {
  const results = [resultOf('a.example'), resultOf('a.example')];
  const error = new Error('EAI_AGAIN');
  lookups[0]?.end(error, []);
  expect(await Promise.all(results)).toEqual([error, error]);
});
