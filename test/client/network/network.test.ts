/** Proxies and certificates over real sockets: what is reached, what is presented to whom, and how failures are reported. */
import http from 'node:http';
import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { AopsError } from '../../../src/base/errors.ts';
import type { Network } from '../../../src/client/network/network.ts';
import { failure } from '../../../src/client/transport.ts';
import { proxiesOf } from '../../../src/config/proxy.ts';
import { ConnectProxy, type ProxyOptions } from '../../support/connect-proxy.ts';
import { afterTest } from '../../support/temporary.ts';
import { authority, type CertificateName, certificate, clientNameOf, startHttps } from '../../support/tls.ts';
import { failureOf, newClient } from '../harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const password = 'hunter2-hunter2';
const trustingNetwork: Network = { certificates: { authorities: authority } };

interface SeenRequest {
  requests: { path: string | undefined; client: string | undefined; headers: http.IncomingHttpHeaders }[];
}

async function service(name: CertificateName = 'server', client: 'ignored' | 'requested' = 'ignored') {
  const observation: SeenRequest = { requests: [] };
  const answer: http.RequestListener = (request, response) => {
    observation.requests.push({ path: request.url, client: clientNameOf(request), headers: request.headers });
    response.setHeader('content-type', 'application/json').end('{"run":{}}');
  };
  const server = await startHttps(name, answer, client);
  afterTest(server.close);
  return { ...observation, port: server.port, url: `https://127.0.0.1:${server.port}` };
}

async function proxy(options: ProxyOptions): Promise<ConnectProxy> {
  const connectProxy = await ConnectProxy.start(options);
  afterTest(() => connectProxy.close());
  return connectProxy;
}

const networkThrough = (value: string, base: Network = trustingNetwork): Network => ({
  ...base,
  proxyFor: proxiesOf({ HTTPS_PROXY: value, HTTP_PROXY: value }) as NonNullable<Network['proxyFor']>,
});

describe('TLS', () => {
  it.each([
    ['self-signed', 'is self-signed', '--ca-file FILE'],
    ['expired', 'has expired', '--ca-file does not help'],
    ['wrong-name', 'is for another name than 127.0.0.1: other.test', '--ca-file does not change'],
  ] as const)('with a %s certificate fails once and says why', async (name, reason, hint) => {
    const { url, requests } = await service(name);
    const { client, clock } = newClient(url, { network: trustingNetwork });
    const error = await failureOf<AopsError>(client.call('startRun', start));
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining(reason), hint: expect.stringContaining(hint) });
    expect(clock.waitTimes).toEqual([]);
    expect(requests).toEqual([]);
  });

  it('with an unknown authority is rejected, and accepted with --ca-file', async () => {
    const { url } = await service();
    expect(await failureOf(newClient(url).client.call('getRun', getRun))).toMatchObject({
      exit: 8,
      message: expect.stringContaining('an authority that this machine does not trust'),
      hint: expect.stringContaining('--ca-file FILE'),
    });
    expect(await newClient(url, { network: trustingNetwork }).client.call('getRun', getRun)).toEqual({
      run: {},
      pending_human_request: null,
    });
  });

  it('with a self-signed certificate is accepted when the certificate itself is trusted', async () => {
    const { url } = await service('self-signed');
    const network = { certificates: { authorities: certificate('self-signed').cert } };
    expect(await newClient(url, { network }).client.call('getRun', getRun)).toEqual({ run: {}, pending_human_request: null });
  });

  it('presents the client certificate only to its origins', async () => {
    const askingService = await service('server', 'requested');
    const { cert, key } = certificate('client');
    const identity = (origin: string): Network => ({
      certificates: { authorities: authority, client: { certificate: cert, key, origins: [origin] } },
    });
    await newClient(askingService.url, { network: identity(askingService.url) }).client.call('getRun', getRun);
    await newClient(askingService.url, { network: identity('https://elsewhere.test') }).client.call('getRun', getRun);
    expect(askingService.requests.map(({ client }) => client)).toEqual(['aops-client', undefined]);
    const { host } = await proxy({ port: askingService.port });
    await newClient('https://agents.test', { network: networkThrough(host, identity('https://agents.test')) }).client.call(
      'getRun',
      getRun,
    );
    expect(askingService.requests.at(-1)?.client).toBe('aops-client');
  });

  // Node's servers just hang up; others say why, even after the handshake, when no request was read yet.
  it.each([
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'requires a client certificate', '--client-cert'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'refused the TLS handshake', '--client-cert'],
    ['ERR_SSL_SOMETHING_NEW', 'a TLS connection could not be made (ERR_SSL_SOMETHING_NEW)', ''],
    ['CERT_REVOKED', 'was not accepted (CERT_REVOKED)', '--ca-file'],
    ['CERT_NOT_YET_VALID', 'is not valid yet', 'clock'],
  ])('that fails with %s is explained, and nothing was sent', (code, reason, hint) => {
    const networkFailure = failure(Object.assign(new Error('x'), { code }));
    expect(networkFailure).toMatchObject({ maybeSent: false, final: true, reason: expect.stringContaining(reason) });
    expect(networkFailure.hint ?? '').toContain(hint);
  });

  it('rejects a certificate that does not belong to the key', async () => {
    const { url } = await service();
    const client = { certificate: certificate('client').cert, key: certificate('server').key, origins: [url] };
    const error = await failureOf(newClient(url, { network: { certificates: { client } } }).client.call('getRun', getRun));
    expect(error).toMatchObject({ exit: 2, message: expect.stringContaining('cannot be used with its key') });
  });
});

describe('a proxy', () => {
  it.each([
    ['with a scheme', (host: string) => `http://${host}`],
    ['without a scheme', (host: string) => host],
  ])('%s tunnels to the service, which is verified as usual', async (_, write) => {
    const { port, requests } = await service();
    const tunnel = await proxy({ port });
    const { client } = newClient('https://agents.test', { network: networkThrough(write(tunnel.host)) });
    expect(await client.call('getRun', getRun)).toEqual({ run: {}, pending_human_request: null });
    expect(tunnel.requests).toEqual(['CONNECT agents.test:443']);
    expect(requests[0]?.headers.authorization).toBe('Bearer secret-token');
    expect(JSON.stringify(requests)).not.toContain('proxy-');
    const otherHarness = newClient('https://agents.test', { network: networkThrough(tunnel.host, {}) });
    expect(await failureOf(otherHarness.client.call('getRun', getRun))).toMatchObject({
      exit: 8,
      hint: expect.stringContaining('--ca-file FILE'),
    });
    const misnamedClient = newClient('https://else.test', { network: networkThrough(tunnel.host) });
    expect(await failureOf(misnamedClient.client.call('getRun', getRun))).toMatchObject({
      message: expect.stringContaining('another name than else.test'),
    });
  });

  it('can be reached by TLS, with the same authorities', async () => {
    const { port } = await service();
    const tunnel = await proxy({ port, tls: 'server' });
    const url = `https://localhost:${tunnel.host.split(':')[1]}`;
    expect(await newClient('https://agents.test', { network: networkThrough(url) }).client.call('getRun', getRun)).toEqual({
      run: {},
      pending_human_request: null,
    });
    const distrusting = newClient('https://agents.test', { network: networkThrough(url, {}) });
    expect(await failureOf(distrusting.client.call('getRun', getRun))).toMatchObject({
      exit: 8,
      message: expect.stringMatching(/the proxy localhost:\d+ \(HTTPS_PROXY\) failed: its TLS certificate/),
      hint: expect.stringContaining('--ca-file FILE'),
    });
    const misnamedProxy = await proxy({ port, tls: 'wrong-name' });
    const misnamedClient = newClient('https://agents.test', {
      network: networkThrough(`https://localhost:${misnamedProxy.host.split(':')[1]}`),
    });
    expect(await failureOf(misnamedClient.client.call('getRun', getRun))).toMatchObject({
      message: expect.stringContaining('is for another name'),
    });
  });

  it('receives the user name and password', async () => {
    const { port } = await service();
    const tunnel = await proxy({ port, login: `us er:${password}` });
    await newClient('https://agents.test', { network: networkThrough(`us%20er:${password}@${tunnel.host}`) }).client.call('getRun', getRun);
    expect(tunnel.authorizations).toEqual([`Basic ${Buffer.from(`us er:${password}`).toString('base64')}`]);
  });

  it.each([
    ['asks for a password', '', 'requires a user name and password (407)'],
    ['does not accept the password', `me:${password}@`, 'did not accept the user name and password (407)'],
  ])('that %s is reported once, without the credentials', async (_, login, message) => {
    const { port, requests } = await service();
    const tunnel = await proxy({ port, login: 'me:other' });
    const { client, clock } = newClient('https://agents.test', { network: networkThrough(`${login}${tunnel.host}`) });
    const error = await failureOf<AopsError>(client.call('startRun', start));
    expect(error).toMatchObject({ exit: 8, message: expect.stringContaining(`the proxy ${tunnel.host} (HTTPS_PROXY) ${message}`) });
    expect(error.hint).toContain('USER:PASSWORD@');
    expect([tunnel.requests.length, requests.length, clock.waitTimes.length]).toEqual([1, 0, 0]);
    expect(JSON.stringify([error, String(error.stack), error.cause, String((error.cause as Error).stack)])).not.toContain(password);
  });

  it.each([
    [403, 1],
    [503, 4],
  ])('that answers %i to CONNECT is tried %i times, and nothing is sent', async (status, times) => {
    const tunnel = await proxy({ port: 1, status });
    const { client } = newClient('https://agents.test', { network: networkThrough(tunnel.host) });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({
      exit: 8,
      message: expect.stringContaining(`refused to connect: it answered ${status}`),
      hint: expect.stringContaining('NO_PROXY'),
    });
    expect(tunnel.requests).toHaveLength(times);
  });

  it('that hangs up before the tunnel is established is retried a few times', async () => {
    const tunnel = await proxy({ port: 1, hangsUp: true });
    const { client } = newClient('https://agents.test', { network: networkThrough(tunnel.host) });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({
      exit: 8,
      message: expect.stringContaining(`the proxy ${tunnel.host}`),
    });
    expect(tunnel.requests).toHaveLength(4);
  });

  it('that cannot be reached is named', async () => {
    const { client } = newClient('https://agents.test', { network: networkThrough('127.0.0.1:1') });
    expect(await failureOf(client.call('startRun', start))).toMatchObject({
      exit: 8,
      message: expect.stringContaining('the proxy 127.0.0.1:1 (HTTPS_PROXY) failed: the connection was refused'),
    });
  });

  it('is not used for this machine', async () => {
    const { url } = await service();
    const tunnel = await proxy({ port: 1 });
    await newClient(url, { network: networkThrough(tunnel.host) }).client.call('getRun', getRun);
    expect(tunnel.requests).toEqual([]);
  });

  it('is used for plain http without a tunnel, as signed URLs may need it', async () => {
    const plain = http.createServer((_, response) => response.setHeader('content-type', 'application/json').end('{"run":{}}'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    afterTest(() => new Promise((resolve) => plain.close(resolve)));
    const { port } = plain.address() as net.AddressInfo;
    const tunnel = await proxy({ port });
    expect(await newClient('http://store.test', { network: networkThrough(tunnel.host) }).client.call('getRun', getRun)).toEqual({
      run: {},
      pending_human_request: null,
    });
    expect(tunnel.requests).toEqual(['GET http://store.test/v2/runs/r1']);
    const lockedProxy = await proxy({ port, login: 'me:other' });
    const error = await failureOf(
      newClient('http://store.test', { network: networkThrough(lockedProxy.host) }).client.call('getRun', getRun),
    );
    expect(error).toMatchObject({ message: expect.stringContaining('407') });
    // The service has not seen a change that the proxy refused.
    const refusal = failureOf(newClient('http://store.test', { network: networkThrough(lockedProxy.host) }).client.call('startRun', start));
    expect(await refusal).toMatchObject({ exit: 8, message: expect.stringContaining('407') });
  });
});
