/** Connections to hosts from elsewhere: every address is checked right before the connection, with or without a lookup. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, setDefaultAutoSelectFamily } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { GuardedAgent } from '../../../src/service/outbound/guarded-agent.ts';
import { HostRules } from '../../../src/service/outbound/host-rules.ts';
import type { Lookup } from '../../../src/service/outbound/system-lookup.ts';
import { failureOf } from '../../client/harness.ts';
import { afterTest, whenDone } from '../../support/temporary.ts';

let port: number;
let receivedCount = 0;
beforeAll(async () => {
  const server = createServer((_, response) => {
    receivedCount += 1;
    response.end('ok');
  });
  whenDone(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

function agent(words: string[], lookup?: Lookup): GuardedAgent {
  const guardedAgent = new GuardedAgent({
    rules: new HostRules(words),
    lookup,
    deadline: 5_000,
    refusalMessage: (host) => `may not connect to ${host}`,
  });
  afterTest(() => guardedAgent.close());
  return guardedAgent;
}

const get = (agent: GuardedAgent, host: string) => agent.dispatcher.request({ origin: `http://${host}:${port}`, path: '/', method: 'GET' });

const resolvingTo =
  (...addresses: string[]): Lookup =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );

it.each(['127.0.0.1', '[::ffff:127.0.0.1]', '10.0.0.7', '169.254.169.254', '[fd00::1]'])(
  'the address %s is not dialled unless it is allowed, although it is not looked up',
  async (host) => {
    const before = receivedCount;
    const guardedAgent = agent(['public'], () => {
      throw new Error('An address is not looked up.');
    });
    expect(await failureOf(get(guardedAgent, host))).toMatchObject({
      name: 'HostNotAllowedError',
      message: expect.stringContaining('may not connect to'),
    });
    expect(receivedCount).toBe(before);
  },
);

it('connects to an allowed address', async () => {
  const { statusCode, body } = await get(agent(['loopback']), '127.0.0.1');
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

it('connects to the allowed addresses of a name', async () => {
  const guardedAgent = agent(['loopback'], resolvingTo('10.0.0.7', '127.0.0.1'));
  const { statusCode, body } = await get(guardedAgent, 'hooks.example');
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

it('does not connect to a name without an allowed address', async () => {
  const before = receivedCount;
  const guardedAgent = agent(['public'], resolvingTo('127.0.0.1', '10.0.0.7'));
  expect(await failureOf(get(guardedAgent, 'hooks.example'))).toMatchObject({
    message: expect.stringContaining('hooks.example'),
  });
  expect(receivedCount).toBe(before);
});

it('connects to an allowed address of a name on systems that try only one', async () => {
  setDefaultAutoSelectFamily(false);
  afterTest(async () => setDefaultAutoSelectFamily(true));
  const guardedAgent = agent(['loopback'], resolvingTo('10.0.0.7', '127.0.0.1', '127.0.0.2'));
  const { statusCode, body } = await get(guardedAgent, 'hooks.example');
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

it('looks up all addresses of a name, and reports a failure of the lookup as such', async () => {
  const lookups: [host: string, all: boolean][] = [];
  const guardedAgent = agent(['public'], (host, { all }, callback) => {
    lookups.push([host, all]);
    callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  });
  expect(await failureOf(get(guardedAgent, 'hooks.example'))).toMatchObject({ code: 'ENOTFOUND' });
  expect(lookups).toEqual([['hooks.example', true]]);
});

it('aborts connections in progress when it is closed', async () => {
  const server = createServer();
  afterTest(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const guardedAgent = agent(['loopback']);
  const { port: silentPort } = server.address() as AddressInfo;
  const failure = failureOf(guardedAgent.dispatcher.request({ origin: `http://127.0.0.1:${silentPort}`, path: '/', method: 'GET' }));
  await once(server, 'request');
  await guardedAgent.close();
  expect(await failure).toMatchObject({ code: 'UND_ERR_DESTROYED' });
});

describe('whether a host can be reached', () => {
  const notFound: Lookup = (_, __, callback) => callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  const unneededLookup: Lookup = () => {
    throw new Error('An address is not looked up.');
  };

  it.each([
    ['an allowed address', 'loopback', '127.0.0.1', unneededLookup, true],
    ['an allowed address in brackets', 'loopback', '[::1]', unneededLookup, true],
    ['an address that is not allowed', 'public', '10.0.0.7', unneededLookup, false],
    ['a name with an allowed address', 'loopback', 'hooks.example', resolvingTo('10.0.0.7', '127.0.0.1'), true],
    ['a name without an allowed address', 'loopback', 'hooks.example', resolvingTo('10.0.0.7', '8.8.8.8'), false],
    ['a name without an address', 'loopback', 'hooks.example', resolvingTo(), false],
    ['a name that might exist later', 'loopback', 'hooks.example', notFound, true],
  ])('depends on its addresses: %s', async (_, word, host, lookup, expected) => {
    expect(await agent([word], lookup).isAllowed(host)).toBe(expected);
  });
});

it('returns the allowed addresses of a host, for programs that connect by themselves', async () => {
  const failing: Lookup = (_, __, callback) => callback(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }), []);
  expect(await agent(['public'], resolvingTo('10.0.0.7', '93.184.216.34')).allowedAddresses('a.test')).toEqual(['93.184.216.34']);
  expect(await agent(['public'], failing).allowedAddresses('a.test')).toEqual([]);
  expect(await agent(['loopback']).allowedAddresses('[::1]')).toEqual(['::1']);
  expect(await agent(['public']).allowedAddresses('10.0.0.7')).toEqual([]);
});
