import { readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService } from '../../src/service/service.ts';
import { needsSqlite } from '../support/postgres.ts';
import { runPromptly } from '../support/promptly.ts';
import { itNeeding } from '../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';
import { Gate } from './helpers/runtime.ts';
import { Api, config, startApi } from './helpers/service.ts';

describe('the first start', () => {
  itNeeding(needsSqlite, 'creates a team, and a token file that only its owner can read', async () => {
    const dataDirectory = join(await temporaryDirectory(), 'deep', 'data');
    const { service } = await startApi({ dataDirectory });
    expect(service.token).toMatch(/^aops_local_[\w-]{43}$/);
    expect(await readFile(join(dataDirectory, 'token'), 'utf8')).toBe(`${service.token}\n`);
    for (const name of ['token', 'aops.db', 'aops.db-wal']) expect((await stat(join(dataDirectory, name))).mode & 0o777).toBe(0o600);
    expect((await stat(dataDirectory)).mode & 0o777).toBe(0o700);
    for (const name of ['aops.db', 'aops.db-wal']) expect((await readFile(join(dataDirectory, name))).includes(service.token)).toBe(false);
  });
});

describe('a later start', () => {
  itNeeding(needsSqlite, 'keeps the team, token, and data; a lost or foreign token is replaced and revoked', async () => {
    const dataDirectory = await temporaryDirectory();
    const first = await startApi({ dataDirectory });
    await first.agent();
    await first.service.close();
    const second = await startApi({ dataDirectory });
    expect([second.service.token, second.service.teamId]).toEqual([first.service.token, first.service.teamId]);
    expect(second.service.instanceId).not.toBe(first.service.instanceId);
    expect((await second.ok('listAgents')).total).toBe(1);
    await second.service.close();
    await writeFile(join(dataDirectory, 'token'), 'something else');
    const third = await startApi({ dataDirectory });
    expect(third.service.token).not.toBe(first.service.token);
    expect(third.service.teamId).toBe(first.service.teamId);
    expect(
      (await third.send('GET', '/v2/runs/x', { anonymous: true, headers: { authorization: `Bearer ${first.service.token}` } })).status,
    ).toBe(401);
  });
});

describe('a token file that cannot be read', () => {
  it('is not a lost one: the service does not start, and the token still works afterwards', async () => {
    const dataDirectory = await temporaryDirectory();
    const first = await startApi({ dataDirectory });
    await first.service.close();
    const file = join(dataDirectory, 'token');
    await rename(file, `${file}.aside`);
    // Whoever runs the tests, this cannot be read: it leads to itself.
    await symlink('token', file);
    await expect(startService({ dataDirectory, exec: 'off' })).rejects.toMatchObject({
      code: 'not_readable',
      message: `${file} cannot be read (ELOOP).`,
    });
    await rm(file);
    await rename(`${file}.aside`, file);
    const second = await startApi({ dataDirectory });
    expect(second.service.token).toBe(first.service.token);
  });
});

describe('starting and closing', () => {
  itNeeding(needsSqlite, 'a second service cannot use the directory, and learns which process owns it', async () => {
    const { dataDirectory } = await startApi();
    await expect(startService({ dataDirectory, exec: 'off' })).rejects.toMatchObject({
      code: 'data_directory_in_use',
      exit: 6,
      message: expect.stringContaining(dataDirectory),
    });
    await writeFile(join(dataDirectory, 'service.json'), JSON.stringify({ pid: 4711 }));
    await expect(startService({ dataDirectory, exec: 'off' })).rejects.toThrow('process 4711');
  });

  it('a port in use is reported, and the directory is free again', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    afterTest(() => new Promise((resolve) => holder.close(resolve)));
    const { port } = holder.address() as { port: number };
    const dataDirectory = await temporaryDirectory();
    await expect(startService({ dataDirectory, exec: 'off', port })).rejects.toMatchObject({
      code: 'port_in_use',
      exit: 2,
      hint: expect.stringContaining('--port'),
    });
    await startApi({ dataDirectory });
  });

  it('closing finishes requests, ends in time although a run does not, and can be repeated', async () => {
    const arrival = new Gate();
    const api = await startApi({
      behaviours: {
        endless: async () => {
          arrival.open();
          return new Promise(() => undefined);
        },
      },
    });
    const run = await api.run('endless');
    await arrival.opened;
    const request = api.ok('getRun', { params: { run_id: run.id } });
    await request;
    await runPromptly(() => Promise.all([api.service.close(), api.service.close()]), 4_000);
    await expect(api.send('GET', '/healthz')).rejects.toThrow();
  });
});

it('a data directory that cannot be created is an error', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'file'), '');
  await expect(startService({ dataDirectory: join(directory, 'file', 'data'), exec: 'off' })).rejects.toThrow();
});

it('executes scripts by default', async () => {
  const dataDirectory = await temporaryDirectory();
  const service = await startService({ dataDirectory, exec: 'off' });
  afterTest(() => service.close());
  const api = new Api(service, dataDirectory);
  const script = 'version: 1\nsteps:\n  - say: hello {{ agent.name }}\n  - say: bye\n';
  const { agent } = await api.ok('createAgent', { body: { name: 'Clerk', build: { name: 'first', config: config(script, 'script') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
  await api.until(run.id, 'completed');
  expect(await api.texts(run.id)).toEqual(['hello Clerk', 'bye']);
  const refusal = await api.call('createAgent', {
    body: { name: 'B', build: { name: 'b', config: config('version: 1\nsteps:\n  - dance: x\n', 'script') } },
  });
  expect(refusal).toMatchObject({ status: 400, body: { error: 'invalid_procedure', details: [{ line: 3 }] } });
});
