/** By default, a service sends nothing to its own machine, whoever requests it and however the address is written. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Lookup } from '../../../src/service/outbound/system-lookup.ts';
import { afterTest } from '../../support/temporary.ts';
import type { Receiver } from '../../support/webhook-receiver.ts';
import { type Api, startApi } from '../helpers/service.ts';
import { delivery, failure, receiver } from '../helpers/webhooks.ts';

/** The names of all rules except the one for this machine. */
const strict = { webhooks: { allow: ['public'] }, connections: { allow: ['public'] } };
/** A name whose address changes between two lookups. */
const changing = (first: string, second: string): Lookup => {
  let requestCount = 0;
  return (_, __, callback) => {
    requestCount += 1;
    callback(null, [{ address: requestCount === 1 ? first : second, family: 4 }]);
  };
};

let hook: Receiver;
/** Whatever a test did, no request arrived. */
afterEach(() => expect(hook.deliveries).toEqual([]));

async function causeEvent(service: Api) {
  const run = await service.run();
  await service.until(run.id, 'completed');
  return delivery(service, ({ attempt_count }) => attempt_count > 0);
}

describe('webhooks', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
  ])('are not registered for %s', async (url) => {
    hook = await receiver();
    for (const options of [{ webhooks: { allow: [] } }, strict]) {
      const service = await startApi(options);
      const refusal = await service.call('createTeamWebhook', { body: { url: url.replace('PORT', new URL(hook.url).port) } });
      expect(failure(refusal)).toEqual([400, 'webhook_host_not_allowed']);
      expect(refusal.text).toContain(`--allow-webhook-host ${url.includes('localhost') ? 'localhost' : 'loopback'}`);
    }
  });

  it('are not sent to a name that has been redirected to this machine', async () => {
    hook = await receiver();
    const { port } = new URL(hook.url);
    const service = await startApi({ webhooks: { ...strict.webhooks, lookup: changing('8.8.8.8', '127.0.0.1') } });
    await service.ok('createTeamWebhook', { body: { url: `http://rebind.test:${port}/`, events: ['run.completed'] } });
    expect(await causeEvent(service)).toMatchObject({ last_status_code: null, last_error: 'webhooks may not be sent to rebind.test' });
  });

  it('are not sent to an address that was allowed when they were registered', async () => {
    hook = await receiver();
    const before = await startApi({ webhooks: { allow: ['loopback'] } });
    await before.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
    await before.service.close();
    const service = await startApi({ ...strict, dataDirectory: before.dataDirectory });
    const { id, last_error } = await causeEvent(service);
    expect(last_error).toBe('webhooks may not be sent to 127.0.0.1');
    const { delivery: currentDelivery } = await service.ok('getWebhookDelivery', { params: { deliveryId: id } });
    expect(currentDelivery.attempts).toMatchObject([{ status_code: null, response_body: null }]);
  });
});

describe('connections', () => {
  const startAskingService = async () => {
    hook = await receiver();
    return { service: await startApi({ connections: { allow: [] } }), url: hook.url };
  };

  it('are not created, probed, checked, or authorized on this machine', async () => {
    const { service, url } = await startAskingService();
    const body = { name: 'inside', provider: 'user', auth_method: 'url', server_url: url } as const;
    for (const refusedUrl of [
      await service.call('createConnection', { body }),
      await service.call('probeMcpServer', { body: { server_url: url } }),
      await service.call('checkMcpOAuth', { body: { mcp_server_url: url } }),
      await service.call('authorizeMcpOAuth', { body: { name: 'inside', mcp_server_url: url } }),
    ])
      expect(failure(refusedUrl)).toEqual([400, 'connection_host_not_allowed']);
  });

  it('do not follow a server elsewhere to an authorization server on this machine', async () => {
    hook = await receiver();
    const headers = { 'www-authenticate': `Bearer resource_metadata="${hook.url}"` };
    const server = createServer((_, response) => void response.writeHead(401, headers).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterTest(() => new Promise((resolve) => server.close(resolve)));
    const lookup: Lookup = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const service = await startApi({ connections: { allow: ['elsewhere.test'], lookup } });
    const url = `http://elsewhere.test:${(server.address() as AddressInfo).port}/mcp`;
    const checkAnswer = await service.call('checkMcpOAuth', { body: { mcp_server_url: url } });
    expect(checkAnswer.body).toEqual({ supports_dcr: false });
  });

  it('are no longer used at an address that was allowed when they were created', async () => {
    hook = await receiver();
    const before = await startApi();
    const { id } = await before.ok('createConnection', {
      body: { name: 'inside', provider: 'user', auth_method: 'url', server_url: hook.url },
    });
    await before.service.close();
    const service = await startApi({ ...strict, dataDirectory: before.dataDirectory });
    const { error } = await service.ok('listConnectionTools', { params: { connection_id: id } });
    expect(error).toContain('may not connect to 127.0.0.1');
  });
});
