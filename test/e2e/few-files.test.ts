/** A service that can open only a few files still completes everything that it has accepted, a little later. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';

/** Fewer than the runs need that are executed concurrently. */
const openFiles = 64;

it('ends no run because it has too many open files', async () => {
  const machine = await Machine.create();
  const { child, finished } = machine.start('sh', ['-c', `ulimit -n ${openFiles}; exec aops serve`]);
  let log = '';
  child.stderr?.on('data', (chunk) => {
    log += String(chunk);
  });
  const listening = /^Listening on (\S+); team (\S+); token in ([^;]+);/m;
  await eventually('the service listens', () => listening.test(log));
  const [, url = '', team = '', tokenFile = ''] = listening.exec(log) ?? [];
  const token = (await readFile(tokenFile, 'utf8')).trim();
  /** The answer to a request, which is repeated until it is answered: connections need descriptors too. */
  const ask = async <Value>(method: string, path: string, body?: unknown): Promise<Value> => {
    for (;;) {
      const answer = await fetch(`${url}/v2/teams/${team}/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      if (answer?.ok) return (await answer.json()) as Value;
      await answer?.body?.cancel();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  // Templates that are rendered in a thread, which also needs descriptors.
  const step = "  - write: { path: a.txt, content: \"{{ message | split: '' | join: '-' }}\" }\n";
  const config = {
    version: 'v2',
    data: {
      models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } },
      input: `version: 1\nsteps:\n${step}`,
    },
  };
  const { agent } = await ask<{ agent: { id: string } }>('POST', 'agents', { name: 'Writes', build: { name: 'first', config } });
  await Promise.all(Array.from({ length: 100 }, () => ask('POST', 'runs', { agent_id: agent.id, message: 'hello' })));
  const count = async (status: string) => (await ask<{ total: number }>('GET', `runs?count_only=true&status=${status}`)).total;
  await eventually(
    'all runs have ended',
    async () => (await count('pending')) + (await count('starting')) + (await count('running')) === 0,
  );
  const { data } = await ask<{ data: { error: string }[] }>('GET', 'runs?status=failed&limit=3');
  expect(data.map(({ error }) => error)).toEqual([]);
  expect(await count('completed')).toBeGreaterThanOrEqual(100);
  // Files were really scarce; otherwise this would prove nothing.
  expect(log).toContain('"trouble":"too_many_open_files"');
  kill(child.pid as number, 'SIGTERM');
  expect((await finished).code).toBe(0);
});
