/** Lookups by the system: names without working servers occupy few threads. */
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createSystemLookup, systemLookup } from '../../../src/service/outbound/system-lookup.ts';
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

const resultOf = (host: string, options: LookupOptions = {}, lookup = systemLookup) =>
  new Promise((resolve) => lookup(host, { ...options, all: true }, (error, addresses) => resolve(error ?? addresses)));

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

describe('names that could not be found in time', () => {
  const error = new Error('EAI_AGAIN');
  let time: number;
  let lookup: ReturnType<typeof createSystemLookup>;
  beforeEach(() => {
    time = 0;
    lookup = createSystemLookup({ ...systemClock, steady: () => time });
  });
  /** Looks up names at the same time, and returns their results. */
  const lookUp = (...hosts: string[]) => hosts.map((host) => resultOf(host, {}, lookup));
  const hosts = () => lookups.map(({ host }) => host);
  const end = (index: number, ...result: Parameters<Callback>) => lookups[index]?.end(...result);
  /** Looks up names whose lookups end after some milliseconds. */
  const lookUpFor = async (milliseconds: number, names: string[], ...result: Parameters<Callback>) => {
    const results = lookUp(...names);
    time += milliseconds;
    for (const lookup of lookups) lookup.end(...result);
    await Promise.all(results);
    lookups = [];
  };

  it('are looked up two at a time, in order, and do not let others wait', async () => {
    const slow = ['1.example', '2.example', '3.example', '4.example'];
    await lookUpFor(1_000, slow, error, []);
    const results = lookUp(...slow, 'fast.example');
    expect(hosts()).toEqual(['1.example', '2.example', 'fast.example']);
    end(1, error, []);
    expect(await results[1]).toBe(error);
    expect(hosts().slice(3)).toEqual(['3.example']);
    end(0, null, addresses);
    expect(await results[0]).toEqual(addresses);
    expect(hosts().slice(4)).toEqual(['4.example']);
    for (const index of [2, 3, 4]) end(index, null, addresses);
    expect(await Promise.all(results)).toEqual([addresses, error, addresses, addresses, addresses]);
  });

  it('are looked up two at a time again after all earlier lookups have ended', async () => {
    const slow = ['1.example', '2.example', '3.example'];
    await lookUpFor(1_000, slow, error, []);
    for (let round = 0; round < 3; round++) await lookUpFor(1_000, slow.slice(0, 2), error, []);
    lookUp(...slow);
    expect(hosts()).toEqual(slow.slice(0, 2));
  });

  it('are looked up like all others once they are found', async () => {
    const names = ['1.example', '2.example', '3.example'];
    await lookUpFor(1_000, names, error, []);
    const results = lookUp(...names);
    for (const index of [0, 1]) end(index, null, addresses);
    await Promise.all(results.slice(0, 2));
    end(2, null, addresses);
    await Promise.all(results);
    lookUp(...names);
    expect(hosts().slice(3)).toEqual(names);
  });

  it.each([
    { title: 'that failed quickly', milliseconds: 999, result: [error, []] as Parameters<Callback> },
    { title: 'whose lookups waited for a thread', milliseconds: 5_000, result: [null, addresses] as Parameters<Callback> },
  ])('do not include those $title', async ({ milliseconds, result }) => {
    const names = ['1.example', '2.example', '3.example'];
    await lookUpFor(milliseconds, names, ...result);
    lookUp(...names);
    expect(hosts()).toEqual(names);
  });
});
