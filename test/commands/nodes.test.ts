/** Nodes on a shared database, from the command line: how they are started, and managed without a running node. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startService } from '../../src/service/service.ts';
import { needsPostgres, newDatabase, newEmptyDatabase } from '../support/postgres.ts';
import { describeNeeding } from '../support/requirements.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { afterTest, temporaryDirectory } from '../support/temporary.ts';

const secretKey = { text: randomBytes(32).toString('base64'), source: 'the test' };

async function startNode(url: string, nodeName: string) {
  const dataDirectory = await temporaryDirectory();
  const service = await startService({ exec: 'off', dataDirectory, database: { url, nodeName, secretKey, maxConnections: 3 } });
  afterTest(() => service.close());
  return { service, dataDirectory };
}

/** A command line on another machine, with the URL of the database in its environment. */
async function administrator(url: string) {
  const folder = await temporaryDirectory();
  const env = { ...folderEnv(folder), AOPS_DATABASE_URL: url };
  const run = (argv: readonly string[], options: CliOptions = {}) =>
    runCli(argv, { cwd: folder, ...options, env: { ...env, ...options.env } });
  const json = async <Value>(...argv: string[]): Promise<Value> => {
    const { code, stdout, stderr } = await run([...argv, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Value;
  };
  return { folder, run, json };
}

describeNeeding(needsPostgres, 'a node', () => {
  it('is refused with a password in its arguments, without the key for secrets, and with another key', async () => {
    const { run, folder } = await administrator('');
    const serve = async (...argv: string[]) => {
      const { code, stderr } = await run(['serve', ...argv]);
      return [code, stderr.split('\n')[0]];
    };
    for (const url of ['postgres://aops:hunter2@db.test/aops', 'postgres://aops@db.test/aops?password=hunter2'])
      expect(await serve('--database-url', url)).toEqual([
        2,
        'error: --database-url must not contain a password, because other users of this machine can read the arguments of a process.',
      ]);
    const invalid = await serve('--database-url', 'postgres://aops:hunter2@db.test:port/aops');
    expect(invalid).toEqual([2, expect.stringContaining('--database-url must be the URL of a Postgres database')]);
    expect(invalid.join()).not.toContain('hunter2');
    for (const argv of [
      ['--node-name', 'a'],
      ['--file-store', 'database'],
      ['--secret-key-file', 'key'],
      ['--database-connections', '5'],
    ])
      expect(await serve(...argv)).toEqual([2, expect.stringContaining(`${argv[0]} needs a database`)]);
    const url = await newDatabase();
    expect(await serve('--database-url', url)).toEqual([2, expect.stringContaining('need the same key for secrets')]);
    const file = path.join(folder, 'key');
    await writeFile(file, 'not a key');
    expect(await serve('--database-url', url, '--secret-key-file', file)).toEqual([
      1,
      expect.stringContaining('does not contain a valid key'),
    ]);
    await startNode(url, 'a');
    await writeFile(file, randomBytes(32).toString('base64'));
    expect(await serve('--database-url', url, '--secret-key-file', file)).toEqual([
      1,
      `error: ${file} does not contain the key with which the secrets in the database were encrypted.`,
    ]);
  });

  it('has no page of the owner on its machine', async () => {
    const { service, dataDirectory } = await startNode(await newDatabase(), 'a');
    const { url, instanceId, teamId } = service;
    const state = {
      pid: 1,
      url,
      data_dir: dataDirectory,
      team_id: teamId,
      instance_id: instanceId,
      ...{ node: 'a', database: 'db.test/aops' },
    };
    await writeFile(path.join(dataDirectory, 'service.json'), JSON.stringify(state));
    const { run, json } = await administrator('');
    expect(await json('local', 'status', '--data-dir', dataDirectory)).toMatchObject({ node: 'a', database: 'db.test/aops', nodes: [] });
    expect(await run(['local', 'open', '--data-dir', dataDirectory])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a node of the database db.test/aops'),
    });
  });

  it('gets no token of the owner, and leaves those of others alone', async () => {
    const url = await newDatabase();
    const { service, dataDirectory } = await startNode(url, 'a');
    expect(service.token).toBe('');
    const { json } = await administrator(url);
    const { token } = await json<{ token: string }>('local', 'token', 'create', 'first', '--reveal');
    const b = await startNode(url, 'b');
    const headers = { authorization: `Bearer ${token}` };
    for (const { url: address } of [service, b.service])
      expect((await fetch(`${address}/v2/teams/${service.teamId}/agents`, { headers })).status).toBe(200);
    await expect(import('node:fs/promises').then(({ readFile }) => readFile(path.join(dataDirectory, 'token')))).rejects.toThrow('ENOENT');
  });
});

describeNeeding(needsPostgres, 'the owner of a database', () => {
  it('manages tokens, clients, teams, and plans without a running node', async () => {
    const url = await newDatabase();
    const { json, run, folder } = await administrator(url);
    const team = await json<{ id: string }>('local', 'team', 'create', 'finance');
    const token = await json<{ id: string; token: string; team_id: string }>(
      'local',
      'token',
      'create',
      'ci',
      '--team',
      'finance',
      '--reveal',
    );
    expect(token.team_id).toBe(team.id);
    const { data } = await json<{ data: { name: string; team: string }[] }>('local', 'token', 'list');
    expect(data.map(({ name, team: of }) => [name, of])).toEqual([['ci', 'finance']]);
    expect((await run(['local', 'client', 'create', 'job', '--reveal'])).stderr).toContain('Pass it with --base-url URL');
    const client = await json<{ token_url: string }>('local', 'client', 'create', 'job', '--reveal', '--base-url', 'https://agents.test');
    expect(client.token_url).toBe('https://agents.test/oauth/token');
    const plan = path.join(folder, 'plan.yaml');
    await writeFile(plan, 'name: Small\nlimits: { agentRuns: 1 }\n');
    expect(await json('local', 'plan', 'set', plan, '--team', 'finance')).toEqual({ team: 'finance', file: plan });
    expect((await run(['local', 'plan', 'set', plan, '--team', 'nobody'])).stderr).toContain('There is no team "nobody"');
    expect(await run(['local', 'token', 'revoke', 'ci', '--yes'])).toMatchObject({ code: 0, stdout: 'Revoked ci.\n' });
    expect(await json('local', 'status')).toMatchObject({ running: false, nodes: [] });
  });

  it('saves a profile with the address of a node', async () => {
    const url = await newDatabase();
    await startNode(url, 'a');
    const { run } = await administrator(url);
    expect(await run(['local', 'token', 'create', 'mine', '--save-profile', 'mine'])).toMatchObject({ code: 0 });
    // The profile was passed, so the request goes to the node, which has no other owner.
    expect(await run(['local', 'team', 'list', '--profile', 'mine'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('--database-url'),
    });
  });

  it('sees the nodes and what they execute', async () => {
    const url = await newDatabase();
    const [a, b] = [await startNode(url, 'a'), await startNode(url, 'b')];
    const { json, run } = await administrator(url);
    const seen = await json<{ nodes: { name: string; started_at: string }[] }>('local', 'status');
    expect(seen).toMatchObject({
      ...{ running: true, team_id: a.service.teamId },
      nodes: [a, b].map(({ service }) => ({
        ...{ id: service.instanceId, name: service.node?.name, url: service.url, alive: true, connections: 4, runs: [] },
      })),
    });
    expect((await run(['local', 'status', '--color', 'never'], { tty: true, columns: 120 })).stdout).toMatch(
      /^NODE +ADDRESS +VERSION +ALIVE +STARTED +SEEN +EXECUTING\na /,
    );
    await a.service.close();
    expect((await json<{ nodes: { name: string }[] }>('local', 'status')).nodes.map(({ name }) => name)).toEqual(['b']);
  });

  it('is told to start a node if the database has no tables', async () => {
    const { run } = await administrator(await newEmptyDatabase());
    expect(await run(['local', 'team', 'list'])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('Start a node of this version first'),
    });
  });

  it('backs the database up with its own tools', async () => {
    const { run } = await administrator('postgres://aops@db.test/aops');
    expect(await run(['local', 'backup', 'aops.tar.gz'])).toMatchObject({ code: 2, stderr: expect.stringContaining('pg_dump') });
    expect(await run(['local', 'restore', 'aops.tar.gz'])).toMatchObject({ code: 2, stderr: expect.stringContaining('pg_restore') });
    expect((await run(['local', 'backup', 'aops.tar.gz', '--data-dir', 'own'])).stderr).not.toContain('pg_dump');
  });
});
