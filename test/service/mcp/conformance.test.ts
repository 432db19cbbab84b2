/** The conformance suite of the protocol against the endpoint. It cannot sign in, so a proxy adds the token and changes nothing else. */
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';
import { temporaryFolder, whenDone } from '../../support/temporary.ts';

const suite = path.join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await startTestService();
  const server = createServer((incoming, outgoing) => {
    const { port, token } = service.service;
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const upstreamRequest = request({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    upstreamRequest.on('error', () => outgoing.destroy());
    incoming.pipe(upstreamRequest);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    server.closeAllConnections();
    server.close();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/mcp`;
});

async function conformance(scenario: string): Promise<{ code: number | null; output: string }> {
  // A separate folder: the suite writes its results to the current directory.
  const cwd = await temporaryFolder();
  const child = spawn(process.execPath, [suite, 'server', '--url', url, '--scenario', scenario], {
    cwd,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 40_000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

it.each(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])('%s', async (scenario) => {
  const { code, output } = await conformance(scenario);
  expect(output).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
  expect(code).toBe(0);
});

it('server-sse-multiple-streams', async () => {
  const { code, output } = await conformance('server-sse-multiple-streams');
  // The scenario expects a session for its streams, which this endpoint does not have: a warning, not a failure.
  expect(output).toMatch(/Passed: 0\/0, 0 failed, 1 warnings/);
  expect(code).toBe(0);
});
