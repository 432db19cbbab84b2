/** Connections to hosts from elsewhere: every address is checked right before the connection, with or without a lookup. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { GuardedAgent, type Lookup } from '../../../src/service/outbound/guarded-agent.ts';
import { HostRules } from '../../../src/service/outbound/host-rules.ts';
import { failureOf } from '../../client/harness.ts';
import { afterTest, whenDone } from '../../support/temporary.ts';

let port: number;
let received = 0;
beforeAll(async () => {
  const server = createServer((_, response) => {
    received += 1;
    response.end('ok');
  });
  whenDone(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

function agent(words: string[], lookup?: Lookup): GuardedAgent {
  const guarded = new GuardedAgent({
    rules: new HostRules(words),
    lookup,
    deadline: 5_000,
    refused: (host) => `may not connect to ${host}`,
  });
  afterTest(() => guarded.close());
  return guarded;
}

const get = (guarded: GuardedAgent, host: string) =>
  guarded.dispatcher.request({ origin: `http://${host}:${port}`, path: '/', method: 'GET' });

const resolvingTo =
  (...addresses: string[]): Lookup =>
  (_, __, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );

it.each(['127.0.0.1', '[::ffff:127.0.0.1]', '10.0.0.7', '169.254.169.254', '[fd00::1]'])(
  'the address %s is not dialled unless it is allowed, although it is not looked up',
  async (host) => {
    const before = received;
    const guarded = agent(['public'], () => {
      throw new Error('An address is not looked up.');
    });
    expect(await failureOf(get(guarded, host))).toMatchObject({
      message: expect.stringContaining('may not connect to'),
    });
    expect(received).toBe(before);
  },
);

it('connects to an allowed address', async () => {
  const { statusCode, body } = await get(agent(['loopback']), '127.0.0.1');
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

it('connects to the allowed addresses of a name', async () => {
  const guarded = agent(['loopback'], resolvingTo('10.0.0.7', '127.0.0.1'));
  const { statusCode, body } = await get(guarded, 'hooks.example');
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

it('does not connect to a name without an allowed address', async () => {
  const before = received;
  const guarded = agent(['public'], resolvingTo('127.0.0.1', '10.0.0.7'));
  expect(await failureOf(get(guarded, 'hooks.example'))).toMatchObject({
    message: expect.stringContaining('hooks.example'),
  });
  expect(received).toBe(before);
});
