import { createServer, type IncomingMessage, type Server } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import type { LaunchRequest, NetworkPolicy } from '../../../src/service/sandbox/launch.ts';
import { startProcess } from '../../../src/service/sandbox/process.ts';
import { ContainedRuns, listening, needsContainment } from '../../support/contained.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { whenDone } from '../../support/temporary.ts';
import { startHttps } from '../../support/tls.ts';

/** Requests a URL, through the proxy of the environment unless it is on this machine. */
const get = (url: string): string => `"$(command -v node)" -e '
const http = require("node:http");
const url = new URL(process.argv[1]);
const proxy = ["localhost", "127.0.0.1"].includes(url.hostname) ? undefined : new URL(process.env.HTTP_PROXY);
const options = proxy ? { host: proxy.hostname, port: proxy.port, path: url.href, headers: { host: url.host } } : url;
http.get(options, (response) => {
  response.setEncoding("utf8").on("data", (text) => process.stdout.write(response.statusCode + " " + text));
}).on("error", (error) => console.log(error.code));
' ${url}`;

/** Opens a tunnel through the proxy of the environment, and prints the first line of the response. */
const tunnel = (target: string): string => `"$(command -v node)" -e '
const proxy = new URL(process.env.HTTPS_PROXY);
const socket = require("node:net").connect(Number(proxy.port), proxy.hostname, () => socket.write("CONNECT " + process.argv[1] + " HTTP/1.1\\r\\n\\r\\n"));
socket.once("data", (data) => { console.log(String(data).split("\\r\\n")[0]); socket.destroy(); });
' ${target}`;

async function serving(answer: (request: IncomingMessage) => string): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => response.end(answer(request)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { server, port: (server.address() as { port: number }).port };
}

describeNeeding(needsContainment, 'the network of a contained program', () => {
  let runs: ContainedRuns;
  let web: number;
  let lookups: string[] = [];
  beforeAll(async () => {
    const addresses: Record<string, string> = {
      'model.test': '127.0.0.1',
      'other.test': '127.0.0.1',
      'inside.test': '10.0.0.1',
      'metadata.test': '169.254.169.254',
      localhost: '127.0.0.1',
      // The resolver of the system accepts these as addresses.
      '127.1': '127.0.0.1',
      '2130706433': '127.0.0.1',
    };
    runs = await ContainedRuns.start({
      allow: ['public', 'loopback'],
      lookup: (host, _options, callback) => {
        lookups.push(host);
        // A name that changes its address as soon as it has been checked.
        const isChecked = lookups.filter((name) => name === host).length > 1;
        const address = host === 'rebinding.test' ? (isChecked ? '10.0.0.1' : '127.0.0.1') : addresses[host];
        if (address === undefined) return callback(Object.assign(new Error(host), { code: 'ENOTFOUND' }), []);
        return callback(null, [{ address, family: 4 }]);
      },
    });
    web = (await serving((request) => `hello from ${request.headers.host}`)).port;
  });
  const hosts = (...list: string[]): Partial<LaunchRequest> => ({ network: { kind: 'hosts', hosts: list } });
  const output = async (command: string, changes: Partial<LaunchRequest>): Promise<string> => {
    const { stdout, stderr } = await runs.run(command, changes);
    return `${stdout}${stderr}`.trim();
  };

  it('does not exist without a policy', async () => {
    expect(await output(get(`http://127.0.0.1:${web}/`), {})).toBe('ECONNREFUSED');
    expect(await output('env | grep -ci proxy; cat /proc/net/dev | grep -c :', {})).toBe('0\n1');
  });

  it('reaches a listed host through the proxy, at the listed port', async () => {
    expect(await output(get(`http://model.test:${web}/`), hosts(`model.test:${web}`))).toBe(`200 hello from model.test:${web}`);
    expect(await output(tunnel(`model.test:${web}`), hosts(`model.test:${web}`))).toBe('HTTP/1.1 200 Connection established');
  });

  it.each([
    ['a host that is not listed', (port: number) => `other.test:${port}`],
    ['an unlisted port of a listed host', () => 'model.test:22'],
    ['a listed name whose address the operator does not allow', () => 'inside.test:80'],
    ['a listed private address that the operator does not allow', () => '10.1.2.3:80'],
    ['a loopback address instead of the listed name', (port: number) => `127.0.0.1:${port}`],
    ['the addresses of cloud credentials', () => '169.254.169.254:80'],
    ['a listed name of the addresses of cloud credentials', () => 'metadata.test:80'],
    ['a shortened loopback address', (port: number) => `127.1:${port}`],
    ['a loopback address as a number', (port: number) => `2130706433:${port}`],
    ['a loopback address in IPv6', (port: number) => `[::ffff:127.0.0.1]:${port}`],
    ['the unspecified address', (port: number) => `0.0.0.0:${port}`],
  ])('refuses %s', async (_, target) => {
    const policy = hosts(`model.test:${web}`, 'model.test', 'inside.test', 'metadata.test', '10.1.2.3', '169.254.169.254');
    expect(await output(tunnel(target(web)), policy)).toBe('HTTP/1.1 403 Forbidden');
  });

  it('connects to the address that was checked, even if the name has another one by then', async () => {
    lookups = [];
    const policy = hosts(`rebinding.test:${web}`);
    expect(await output(tunnel(`rebinding.test:${web}`), policy)).toBe('HTTP/1.1 200 Connection established');
    expect(lookups).toEqual(['rebinding.test']);
    expect(await output(tunnel(`rebinding.test:${web}`), policy)).toBe('HTTP/1.1 403 Forbidden');
  });

  it.each(['model.test', 'localhost', '127.0.0.2', '[::1]'])('refuses the service itself, even if it is listed: %s', async (host) => {
    const [address, decoy] = [`${host}:${runs.port}`, 'other.test'];
    const response = await output(tunnel(address), hosts(address, decoy));
    expect(response).toBe('HTTP/1.1 403 Forbidden');
    expect(runs.connections()).toBe(0);
  });

  it('refuses the service itself at the same address', async () => {
    const service = `127.0.0.1:${runs.port}`;
    expect(await output(get(`http://${service}/`), hosts(service))).toBe('ECONNRESET');
    expect(runs.connections()).toBe(0);
  });

  it('reports a host that does not exist as unreachable', async () => {
    expect(await output(tunnel('missing.test:443'), hosts('missing.test'))).toBe('HTTP/1.1 502 Bad Gateway');
  });

  it('reaches a listed port of this machine under the same address, and no other port', async () => {
    const other = await listening();
    const policy = hosts(`127.0.0.1:${web}`);
    expect(await output(get(`http://127.0.0.1:${web}/`), policy)).toBe(`200 hello from 127.0.0.1:${web}`);
    expect(await output(get(`http://127.0.0.1:${other.port}/`), policy)).toBe('ECONNREFUSED');
    expect(other.connections()).toBe(0);
  });

  it('does not reach a port of this machine that the operator does not allow', async () => {
    const strict = await ContainedRuns.start({ allow: ['public'] });
    const { stdout } = await strict.run(get(`http://127.0.0.1:${web}/`), hosts(`127.0.0.1:${web}`));
    expect(stdout.trim()).toBe('ECONNRESET');
  });

  it('reaches one endpoint of the service, and no other path', async () => {
    const service = await serving((request) => `${request.method} ${request.url} ${request.headers.authorization}`);
    const base = `http://127.0.0.1:${service.port}`;
    const endpoint = { url: `${base}/v2/mcp`, authorization: 'Bearer secret' };
    const launch = await runs.containment.prepare({ ...(await runs.request('true')), endpoint });
    expect(launch.endpoint).toEqual({ url: `${base}/v2/mcp` });
    await launch.release();
    const request = await runs.request(
      `${get(`${base}/v2/mcp`)}; echo; ${get(`${base}/v2/teams`)}; echo; ${get(`${base}/v2/mcp%2f..%2fteams`)}`,
    );
    const { stdout } = await runs.run('', { args: request.args, endpoint });
    const [first, second, third] = stdout.split('\n');
    // The connection adds the token, which the program does not know.
    expect(first).toBe('200 GET /v2/mcp Bearer secret');
    expect(second).toMatch(/^403 .*path_not_allowed/);
    expect(third).toMatch(/^403 .*path_not_allowed/);
  });

  it('reaches the endpoint of a service with TLS, without knowing its certificate', async () => {
    const service = await startHttps('server', (request, response) => void response.end(`${request.url} ${request.headers.authorization}`));
    whenDone(() => service.close());
    const endpoint = { url: `https://127.0.0.1:${service.port}/v2/mcp`, authorization: 'Bearer secret' };
    const request = await runs.request(get(`http://127.0.0.1:${service.port}/v2/mcp`));
    const { stdout } = await runs.run('', { args: request.args, endpoint });
    expect(stdout).toBe('200 /v2/mcp Bearer secret');
  });

  it('passes stdin, the exit code, and signals through the bridge', async () => {
    const startedProcess = await startProcess(
      await runs.containment.prepare({ ...(await runs.request('read line; echo "got $line"; exit 7')), ...hosts('model.test') }),
      { stdin: 'pipe' },
    );
    startedProcess.stdin?.end('a line\n');
    const text = Buffer.concat(await startedProcess.stdout.toArray()).toString();
    expect(text).toBe('got a line\n');
    expect(await startedProcess.exit).toEqual({ exitCode: 7, signal: null });
    await startedProcess.close();
    // Not a signal: nobody has sent one.
    const code = await startProcess({
      ...(await runs.containment.prepare({ ...(await runs.request('exit 143')), ...hosts('model.test') })),
    });
    expect(await code.exit).toEqual({ exitCode: 143, signal: null });
    await code.close();

    const command = 'trap "echo cleaned; exit 3" TERM; echo ready; while :; do sleep 0.1; done';
    const trapping = await startProcess(await runs.containment.prepare({ ...(await runs.request(command)), ...hosts('model.test') }));
    trapping.stdout.once('data', () => void trapping.end(5_000));
    expect(Buffer.concat(await trapping.stdout.toArray()).toString()).toBe('ready\ncleaned\n');
    expect(await trapping.exit).toEqual({ exitCode: 3, signal: null });
    await trapping.close();
  });

  it('is the network of the host only if the operator allows that', async () => {
    const all: { network: NetworkPolicy } = { network: { kind: 'all' } };
    await expect(runs.run('true', all)).rejects.toMatchObject({ status: 403, error: 'network_refused' });
    const generous = await ContainedRuns.start({ allow: ['all'] });
    const { stdout } = await generous.run(get(`http://127.0.0.1:${web}/`), all);
    expect(stdout).toBe(`200 hello from 127.0.0.1:${web}`);
  });

  it('refuses entries that are not hosts', async () => {
    await expect(runs.run('true', hosts('https://model.test/'))).rejects.toMatchObject({ status: 400, error: 'invalid_network' });
  });
});
