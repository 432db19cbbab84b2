/** How a service on a server ends, and the effect of a second signal. */
import { cp, readdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { kill, Machine, project, type StartedProcess } from '../support/machine.ts';
import { itNeeding, needsLinux } from '../support/requirements.ts';

/** A service in the foreground, and its URL. */
const startServing = (machine: Machine, ...flags: string[]): Promise<StartedProcess & { url: string }> =>
  listening(machine.start('aops', ['serve', ...flags]));

async function listening(serverProcess: StartedProcess): Promise<StartedProcess & { url: string }> {
  let log = '';
  serverProcess.child.stderr?.on('data', (chunk) => {
    log += String(chunk);
  });
  const listeningUrl = () => /^Listening on (\S+);/m.exec(log)?.[1];
  await eventually('the service listens', () => listeningUrl() !== undefined);
  return { ...serverProcess, url: listeningUrl() as string };
}

const status = async (url: string): Promise<number> =>
  fetch(url).then(
    (answer) => answer.status,
    () => 0,
  );

itNeeding(needsLinux, 'a service has threads left when some of them wait for name servers', async () => {
  const { url, child, finished } = await startServing(await Machine.create());
  expect(await status(`${url}/readyz`)).toBe(200);
  // Lookups can use half of the threads for files. V8 has some of its own.
  expect((await readdir(`/proc/${child.pid}/task`)).length).toBeGreaterThanOrEqual(20);
  kill(child.pid as number, 'SIGTERM');
  expect((await finished).code).toBe(0);
});

describe.concurrent('SIGTERM', () => {
  it('makes the service not ready, then ends it with exit code 0; its work continues at the next start', async () => {
    const machine = await Machine.create();
    const { url, child, finished } = await startServing(machine, '--drain-delay', '1s');
    expect([await status(`${url}/healthz`), await status(`${url}/readyz`)]).toEqual([200, 200]);
    kill(child.pid as number, 'SIGTERM');
    await eventually('it is not ready', async () => (await status(`${url}/readyz`)) === 503);
    expect(await status(`${url}/healthz`)).toBe(200);
    const { code, stderr, stdout } = await finished;
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('"message":"service stopped"');
    expect(await status(`${url}/healthz`)).toBe(0);
    const secondServer = await startServing(machine);
    kill(secondServer.child.pid as number, 'SIGTERM');
    expect((await secondServer.finished).code).toBe(0);
  });

  it('sent again ends it immediately', async () => {
    const machine = await Machine.create();
    const { url, child, finished } = await startServing(machine, '--drain-delay', '5m');
    kill(child.pid as number, 'SIGTERM');
    await eventually('it drains', async () => (await status(`${url}/readyz`)) === 503);
    kill(child.pid as number, 'SIGTERM');
    await finished;
    expect(child.signalCode).toBe('SIGTERM');
  });
});

describe('a program that is replaced while its service runs', () => {
  it('is reported with a hint if a part of it is missing', async () => {
    const machine = await Machine.create();
    const copy = path.join(machine.folder, 'copy');
    for (const name of ['bin', 'dist', 'package.json']) await cp(path.join(project, name), path.join(copy, name), { recursive: true });
    await symlink(path.join(project, 'node_modules'), path.join(copy, 'node_modules'));
    const { url } = await listening(machine.start(process.execPath, [path.join(copy, 'bin/aops.js'), 'serve', '--port', '0']));
    const dist = path.join(copy, 'dist');
    for (const name of await readdir(dist)) if (name.startsWith('endpoint-')) await rm(path.join(dist, name));
    const answer = await fetch(`${url}/v2/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${(await machine.read('data/local/token')).trim()}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ error: 'internal_error', message: expect.stringContaining('Restart the service') });
  });
});
