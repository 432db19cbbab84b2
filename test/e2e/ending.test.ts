/** SIGTERM in the middle of everything ends the service in time with exit code 0, and nothing continues without it. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Machine } from '../support/machine.ts';
import { whenDone } from '../support/temporary.ts';

/** Processes whose arguments contain this text, excluding zombies. */
async function processes(text: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'stat=,args='], { maxBuffer: 10_000_000 });
  return stdout.split('\n').filter((line) => line.includes(text) && !line.startsWith('Z'));
}

it('ends with requests, uploads, downloads, streams, commands, a browser and deliveries in progress', async () => {
  const machine = await Machine.create();
  // Durations in seconds that no other process sleeps for.
  const [command, browser] = [`${9_000 + Math.random()}`, `${8_000 + Math.random()}`];
  const chromium = await machine.file('chromium', `#!/bin/sh\nexec sleep ${browser}\n`);
  await chmod(chromium, 0o755);
  // It never answers.
  const silentServer = createServer(() => undefined);
  let requests = 0;
  silentServer.on('request', () => {
    requests += 1;
  });
  await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    silentServer.closeAllConnections();
    silentServer.close();
  });
  const hook = `http://127.0.0.1:${(silentServer.address() as AddressInfo).port}/`;

  const data = path.join(machine.folder, 'data');
  const flags = ['--exec', 'host', '--allow-webhook-host', 'loopback', '--browse', 'on', '--chromium', chromium, '--drain-timeout', '3s'];
  const serve = machine.start('aops', ['serve', '--data-dir', data, '--state-file', path.join(machine.folder, 'state.json'), ...flags]);
  const state = await eventually('the service is up', () =>
    machine.read('state.json').then(
      (text) => (text === '' ? undefined : (JSON.parse(text) as { url: string; team_id: string })),
      () => undefined,
    ),
  );
  const token = (await machine.read('data/token')).trim();
  const call = async <Body>(method: 'GET' | 'POST', route: string, body?: unknown): Promise<Body> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await request(`${state.url}/v2${route}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.body.json()) as Body;
  };
  const team = `/teams/${state.team_id}`;
  await call('POST', `${team}/webhooks`, { url: hook });
  const input = `version: 1\nsteps:\n  - exec: { run: "sleep ${command}", timeout: 5m }\n`;
  const config = {
    version: 'v2',
    data: { models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } }, input },
  };
  const { agent } = await call<{ agent: { id: string } }>('POST', `${team}/agents`, { name: 'slow', build: { name: 'one', config } });
  const { run } = await call<{ run: { id: string } }>('POST', `${team}/runs`, { agent_id: agent.id });
  const { artifact_id } = await call<{ artifact_id: string }>('POST', '/artifacts', { message: 'title "Page"; runs' });
  await eventually('there is a page', async () => {
    const { artifact } = await call<{ artifact: { status: string } }>('GET', `/artifacts/${artifact_id}`);
    return artifact.status === 'completed';
  });
  const { sandbox_id } = await call<{ sandbox_id: string }>('POST', '/sandboxes');
  const { upload_url } = await call<{ upload_url: string }>('POST', `/sandboxes/${sandbox_id}/upload-urls`, { path: 'large' });

  // All of these are interrupted in the end, each in a different way.
  let fedCount = 0;
  async function* endlessInput() {
    for (; ; fedCount++) {
      yield Buffer.alloc(1_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const pendingCalls = [
    request(upload_url, { method: 'PUT', body: endlessInput() as never }),
    request(`${state.url}/v2/artifacts/${artifact_id}/export/pdf`, { headers: { authorization: `Bearer ${token}` } }),
    request(`${state.url}/v2/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: randomUUID(),
        method: 'tools/call',
        params: { name: 'wait_for_run', arguments: { run_id: run.id, timeout_seconds: 25 } },
      }),
    }).then((answer) => answer.body.text()),
  ].map((call) => call.catch(() => undefined));
  await eventually('the command runs', async () => (await processes(`sleep ${command}`)).length > 0);
  await eventually('the browser starts', async () => (await processes(`sleep ${browser}`)).length > 0);
  await eventually('a delivery waits for an answer', () => requests > 0);
  await eventually('the upload moves', () => fedCount > 3);

  const startedAt = Date.now();
  serve.child.kill('SIGTERM');
  const { code, stderr } = await serve.finished;
  expect([code, stderr.includes('"service stopped"')]).toEqual([0, true]);
  // Twice the limit of three seconds, for requests and for runs, and as much again for a busy machine.
  expect(Date.now() - startedAt).toBeLessThan(20_000);
  await eventually(
    'nothing continues',
    async () => (await processes(`sleep ${command}`)).length + (await processes(`sleep ${browser}`)).length === 0,
  );
  await Promise.all(pendingCalls);
});
