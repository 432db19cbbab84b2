/** Which token endpoint a service publishes. */
import { describe, expect, it } from 'vitest';
import { discoverTokenUrl } from '../../../src/client/access/discovery.ts';
import { answer, json, noAnswer, type RawServer, reply, type Step } from '../../faults/raw-server.ts';
import { runPromptly } from '../../support/promptly.ts';
import { failureOf, scriptedServer } from '../harness.ts';

const discover = (server: RawServer, { path = '', signal = new AbortController().signal } = {}) =>
  discoverTokenUrl(server.url + path, { userAgent: 'aops/test', network: {}, signal });

/** A server that responds to every request with a step made from its metadata. */
async function publishing(respond: (metadata: Record<string, unknown>) => Step): Promise<RawServer> {
  const server = await scriptedServer();
  return server.always(reply(() => respond({ issuer: server.url, token_endpoint: `${server.url}/oauth/token` })));
}

describe('the token endpoint of a service', () => {
  it('is found in its metadata, without signing in, and the connection is closed', async () => {
    const server = await publishing((metadata) => json(200, metadata));
    expect(await discover(server)).toBe(`${server.url}/oauth/token`);
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      headers: { accept: 'application/json', 'user-agent': 'aops/test' },
    });
    expect(request?.headers).not.toHaveProperty('authorization');
    await runPromptly(() => server.until(({ open }) => open === 0), 2_000);
  });

  it('is found below the path of the service', async () => {
    const server = await publishing(({ issuer, ...rest }) => json(200, { ...rest, issuer: `${issuer}/api` }));
    expect(await discover(server, { path: '/api' })).toBe(`${server.url}/oauth/token`);
    expect(server.requests[0]?.path).toBe('/.well-known/oauth-authorization-server/api');
  });

  it('is found in metadata that is not declared as JSON', async () => {
    const server = await publishing((metadata) => answer(200, JSON.stringify(metadata)));
    expect(await discover(server)).toBe(`${server.url}/oauth/token`);
  });

  it.each<[string, (metadata: Record<string, unknown>) => Step]>([
    ['the metadata is for another issuer', (metadata) => json(200, { ...metadata, issuer: 'https://elsewhere.example' })],
    ['the metadata does not contain it', ({ issuer }) => json(200, { issuer })],
    ['there is no metadata', (metadata) => json(404, metadata)],
    ['the metadata is elsewhere', (metadata) => json(302, metadata, { location: '/other' })],
    ['the metadata is not JSON', () => answer(200, '<html>', { 'content-type': 'application/json' })],
    ['the response is empty', () => answer(204, '')],
    ['the status is unknown', (metadata) => json(999, metadata)],
  ])('is unknown if %s', async (_, respond) => {
    expect(await discover(await publishing(respond))).toBeUndefined();
  });

  it('is unknown if the service cannot be reached', async () => {
    expect(await discover(await scriptedServer(noAnswer('reset')))).toBeUndefined();
  });

  it('is no longer looked up after an abort', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    const controller = new AbortController();
    const failurePromise = failureOf(discover(server, { signal: controller.signal }));
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(new Error('enough'));
    expect(await failurePromise).toMatchObject({ message: 'enough' });
    await server.until(({ open }) => open === 0);
  });
});
