/** Proxies and certificates configured by flag, environment and setting. Secrets are never shown. */

import { readFile, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConnectProxy, type ProxyOptions } from '../support/connect-proxy.ts';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder, whenDone } from '../support/temporary.ts';
import { clientNameOf, startHttps, tlsFile } from '../support/tls.ts';

const team = '00000000-0000-4000-8000-000000000005';
const accessToken = 'at_0123456789abcdef';
const apiKey = 'aops_key_fedcba9876543210';
const clientSecret = 'cs_0123456789fedcba';
const proxyPassword = 'px%40ss-0123456789';
const secrets = [accessToken, apiKey, clientSecret, proxyPassword, decodeURIComponent(proxyPassword)];

interface RecordedRequest {
  host: string | undefined;
  path: string | undefined;
  authorization: string | undefined;
  client: string | undefined;
}
let requests: RecordedRequest[];
let port: number;
beforeAll(async () => {
  const answer: http.RequestListener = (request, response) => {
    const { authorization, host } = request.headers;
    requests.push({ host, path: request.url, authorization, client: clientNameOf(request) });
    response.setHeader('content-type', 'application/json');
    if (request.url === '/oauth/token')
      return void response.end(JSON.stringify({ access_token: accessToken, token_type: 'Bearer', expires_in: 600 }));
    response.end(JSON.stringify({ team: { id: team, name: 'Far away' } }));
  };
  const server = await startHttps('server', answer, 'requested');
  port = server.port;
  whenDone(server.close);
});

let folder: string;
let env: Record<string, string>;
beforeEach(async () => {
  requests = [];
  folder = await temporaryFolder();
  env = { ...folderEnv(folder), AOPS_TEAM_ID: team };
});

async function cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const result = await runCli(argv, { cwd: folder, ...options, env: { ...env, ...options.env } });
  for (const secret of secrets.flatMap((text) => [text, Buffer.from(text).toString('base64'), encodeURIComponent(text)]))
    expect(result.stdout + result.stderr).not.toContain(secret);
  return result;
}

const localEnv = (): Record<string, string> => ({ AOPS_BASE_URL: `https://127.0.0.1:${port}`, AOPS_API_KEY: apiKey });
const trustedEnv = { AOPS_CA_FILE: tlsFile('ca.pem') };
const status = (extraEnv: Record<string, string>, ...flags: string[]): Promise<CliResult> =>
  cli(['auth', 'status', ...flags], { env: { ...localEnv(), ...extraEnv } });

async function proxy(options: Partial<ProxyOptions> = {}): Promise<ConnectProxy> {
  const connectProxy = await ConnectProxy.start({ port, ...options });
  whenDone(() => connectProxy.close());
  return connectProxy;
}

describe('--ca-file', () => {
  it('is suggested when the certificate authority is not trusted', async () => {
    const refusal = await status({}, '--json');
    expect(refusal).toMatchObject({ code: 8, stdout: '' });
    expect(JSON.parse(refusal.stderr).error.hint).toContain('--ca-file FILE');
    expect(requests).toEqual([]);
  });

  it('is read from the flag, the environment and the settings', async () => {
    expect((await status({}, '--ca-file', tlsFile('ca.pem'))).code).toBe(0);
    expect((await status(trustedEnv)).code).toBe(0);
    await writeFile(path.join(folder, 'ours.pem'), await readFile(tlsFile('ca.pem')));
    expect((await cli(['config', 'set', 'ca_file', 'ours.pem'])).stdout).toBe(`ca_file = ${path.join(folder, 'ours.pem')}\n`);
    expect((await cli(['auth', 'status'], { env: localEnv(), cwd: '/' })).code).toBe(0);
    const explanation = (await cli(['config', 'explain', 'ca_file', '--json', '--ca-file', 'x'], { env: trustedEnv })).json<{
      data: object[];
    }>();
    expect(explanation.data[0]).toMatchObject({
      value: 'x',
      source: '--ca-file',
      shadowed: [{ source: 'AOPS_CA_FILE' }, { source: 'setting ca_file' }],
    });
  });

  it('does not replace NODE_EXTRA_CA_CERTS', async () => {
    expect((await status({ NODE_EXTRA_CA_CERTS: tlsFile('ca.pem') }, '--ca-file', tlsFile('self-signed.pem'))).code).toBe(0);
  });

  it.each([
    ['none.pem', 'cannot be read (ENOENT)'],
    ['.', 'cannot be read (EISDIR)'],
    ['key.pem', 'does not contain a PEM certificate'],
    ['cut.pem', 'contains an invalid certificate'],
  ])('%s: %s', async (name, message) => {
    await writeFile(path.join(folder, 'key.pem'), await readFile(tlsFile('server-key.pem')));
    await writeFile(path.join(folder, 'cut.pem'), '-----BEGIN CERTIFICATE-----\nMIIBfake\n-----END CERTIFICATE-----\n');
    const refusal = await status({}, '--ca-file', name);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`${path.resolve(folder, name)} (--ca-file) ${message}`);
  });
});

describe('--client-cert', () => {
  it('identifies the client, with the key in the same file or another one', async () => {
    expect((await status(trustedEnv, '--client-cert', tlsFile('client.pem'), '--client-key', tlsFile('client-key.pem'))).code).toBe(0);
    await writeFile(
      path.join(folder, 'both.pem'),
      `${await readFile(tlsFile('client-key.pem'), 'utf8')}${await readFile(tlsFile('client.pem'), 'utf8')}`,
    );
    expect((await status({ ...trustedEnv, AOPS_CLIENT_CERT: 'both.pem' })).code).toBe(0);
    // Two requests each, for the team and for the credential.
    expect(requests.map(({ client }) => client)).toEqual(Array(4).fill('aops-client'));
  });

  it.each([
    [['--client-cert', tlsFile('client.pem')], '--client-cert is set without --client-key'],
    [['--client-key', tlsFile('client-key.pem')], '--client-key is set without --client-cert'],
    [['--client-cert', tlsFile('client.pem'), '--client-key', tlsFile('server-key.pem')], 'cannot be used with its key'],
    [['--client-cert', tlsFile('client.pem'), '--client-key', tlsFile('server.pem')], 'does not contain a PEM private key'],
  ])('rejects %j', async (flags, message) => {
    const refusal = await status(trustedEnv, ...flags);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });
});

describe('proxies of the environment', () => {
  const far = { ...trustedEnv, AOPS_BASE_URL: 'https://agents.test' };

  it('are used for the service and the token endpoint, and their password is never shown', async () => {
    const tunnel = await proxy({ login: `me:${decodeURIComponent(proxyPassword)}` });
    const client = { AOPS_CLIENT_ID: 'job', AOPS_CLIENT_SECRET: clientSecret, AOPS_TOKEN_URL: 'https://id.agents.test/oauth/token' };
    const finalResult = await cli(['auth', 'status', '--debug'], {
      env: { ...far, ...client, HTTPS_PROXY: `me:${proxyPassword}@${tunnel.host}` },
    });
    expect(finalResult.code).toBe(0);
    expect(tunnel.requests).toEqual(['CONNECT id.agents.test:443', 'CONNECT agents.test:443', 'CONNECT agents.test:443']);
    expect(requests.map(({ host, authorization }) => [host, authorization])).toEqual([
      ['id.agents.test', `Basic ${Buffer.from(`job:${clientSecret}`).toString('base64')}`],
      ['agents.test', `Bearer ${accessToken}`],
      ['agents.test', `Bearer ${accessToken}`],
    ]);
  });

  it('that reject the password are reported', async () => {
    const tunnel = await proxy({ login: 'me:other' });
    const refusal = await status({ ...far, https_proxy: `http://me:${proxyPassword}@${tunnel.host}` }, '--json', '--debug');
    expect(refusal).toMatchObject({ code: 8, stdout: '' });
    const { error } = JSON.parse(refusal.stderr.trim().split('\n').at(-1) as string);
    expect(error.message).toContain(`the proxy ${tunnel.host} (https_proxy) did not accept the user name and password (407)`);
    expect(requests).toEqual([]);
  });

  it('that are not addresses are reported before anything is sent, unless they are not needed', async () => {
    const invalidEnv = { HTTPS_PROXY: `http://me:${proxyPassword}@host:port` };
    const refusal = await status({ ...far, ...invalidEnv });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('HTTPS_PROXY is not a usable proxy address');
    expect((await status({ ...trustedEnv, ...invalidEnv })).code).toBe(0);
  });

  it('are not used for NO_PROXY and for this machine', async () => {
    const tunnel = await proxy();
    expect((await status({ ...trustedEnv, HTTPS_PROXY: tunnel.host })).code).toBe(0);
    await status({ ...far, HTTPS_PROXY: tunnel.host, NO_PROXY: '.test' }, '--timeout', '1s');
    expect(tunnel.requests).toEqual([]);
  });
});

describe('NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
  const insecureEnv = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const signIn = (baseUrl: string, extraEnv: Record<string, string> = {}) =>
    cli(['auth', 'login', '--base-url', baseUrl], { stdin: apiKey, env: { ...trustedEnv, ...extraEnv } });

  it('is rejected with a stored credential and with one about to be stored', async () => {
    const tunnel = await proxy();
    expect(await signIn('https://agents.test', { HTTPS_PROXY: tunnel.host })).toMatchObject({ code: 0 });
    for (const refusal of [
      await cli(['auth', 'status', '--json'], { env: { ...insecureEnv, HTTPS_PROXY: tunnel.host } }),
      await cli(['auth', 'login', '--base-url', 'https://agents.test', '--json'], {
        stdin: apiKey,
        env: { ...insecureEnv, HTTPS_PROXY: tunnel.host },
      }),
    ]) {
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(JSON.parse(refusal.stderr).error).toMatchObject({ code: 'tls_verification_off', hint: expect.stringContaining('--ca-file') });
    }
    expect(tunnel.requests).toHaveLength(1);
  });

  it('otherwise causes a prominent warning, even with --quiet', async () => {
    await signIn(`https://127.0.0.1:${port}`);
    const storeResult = await cli(['auth', 'status', '--quiet'], { env: { ...trustedEnv, ...insecureEnv } });
    expect(storeResult.code).toBe(0);
    expect(storeResult.stderr).toContain('WARNING: NODE_TLS_REJECT_UNAUTHORIZED=0 turns off');
    const withFlags = await status({ ...trustedEnv, ...insecureEnv });
    expect(withFlags.code).toBe(0);
    expect(withFlags.stderr).toContain('WARNING: NODE_TLS_REJECT_UNAUTHORIZED=0');
  });
});
