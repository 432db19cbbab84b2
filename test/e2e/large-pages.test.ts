/** How much memory of the service pages with large messages use. */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';

const kilobyte = 1_024;

it('many readers of large pages do not exhaust the memory of the service', async () => {
  const machine = await Machine.create();
  machine.env.NODE_OPTIONS = '--max-old-space-size=64';
  const serverProcess = machine.start('aops', ['serve', '--port', '0', '--exec', 'off']);
  let log = '';
  serverProcess.child.stderr?.on('data', (chunk) => {
    log += String(chunk);
  });
  await eventually('the service listens', () => /^Listening on (\S+);/m.test(log));
  const url = /^Listening on (\S+);/m.exec(log)?.[1] as string;
  const token = (await readFile(`${machine.folder}/data/local/token`, 'utf8')).trim();
  const agents = new Agent({ connections: 20 });
  const call = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<string> => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher: agents,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    expect(answer.statusCode, text.slice(0, 500)).toBeLessThan(300);
    return text;
  };
  const teamId = (JSON.parse(await call('GET', '/v2/local/teams')) as { teams: { id: string }[] }).teams[0]?.id as string;
  const procedure = 'version: 1\nsteps:\n  - sleep: 1h\n';
  const { agent } = JSON.parse(
    await call('POST', `/v2/teams/${teamId}/agents`, {
      name: 'Large',
      build: {
        name: 'first',
        config: {
          version: 'v2',
          data: { models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure },
        },
      },
    }),
  ) as { agent: { id: string } };
  const { run } = JSON.parse(await call('POST', `/v2/teams/${teamId}/runs`, { agent_id: agent.id })) as { run: { id: string } };
  for (let count = 0; count < 30; count++) await call('POST', `/v2/runs/${run.id}/messages`, { message: 'x'.repeat(900 * kilobyte) });
  const pages = await Promise.all(Array.from({ length: 20 }, () => call('GET', `/v2/runs/${run.id}/messages?limit=50`)));
  expect(pages.map((page) => page.length < 1_100 * kilobyte)).toEqual(pages.map(() => true));
  kill(serverProcess.child.pid as number, 'SIGTERM');
  expect((await serverProcess.finished).code).toBe(0);
});
