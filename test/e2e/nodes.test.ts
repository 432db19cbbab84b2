/** Two processes on one database: when one ends, however it ends, the other one finishes its runs. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, it } from 'vitest';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { kill, Machine, type StartedProcess } from '../support/machine.ts';
import { needsPostgres, newDatabase } from '../support/postgres.ts';
import { describeNeeding } from '../support/requirements.ts';
import { afterTest } from '../support/temporary.ts';

interface Node extends StartedProcess {
  url: string;
}

/** Nodes that run the built program, and a command line that uses them. */
class Cluster {
  readonly machine: Machine;
  readonly #client: pg.Client;

  private constructor(machine: Machine, client: pg.Client) {
    this.machine = machine;
    this.#client = client;
  }

  static async create(): Promise<Cluster> {
    const url = await newDatabase();
    const machine = await Machine.create();
    Object.assign(machine.env, { AOPS_DATABASE_URL: url, AOPS_SECRET_KEY: randomBytes(32).toString('base64') });
    const client = new pg.Client(url);
    await client.connect();
    afterTest(() => client.end());
    return new Cluster(machine, client);
  }

  async start(name: string): Promise<Node> {
    const node = this.machine.start('aops', ['serve', '--node-name', name, '--data-dir', name, '--exec', 'host']);
    let log = '';
    node.child.stderr?.on('data', (text: string) => {
      log += text;
    });
    const url = await eventually(`node ${name} listens`, () => /^Listening on (\S+);/m.exec(log)?.[1]);
    return { ...node, url };
  }

  /** Signs the command line in. */
  async signIn({ url }: Node): Promise<void> {
    const { token, team_id } = await this.machine.hereJson<{ token: string; team_id: string }>(
      'local',
      'token',
      'create',
      'test',
      '--reveal',
    );
    Object.assign(this.machine.env, { AOPS_API_KEY: token, AOPS_BASE_URL: url, AOPS_TEAM_ID: team_id });
  }

  use({ url }: Node): void {
    this.machine.env.AOPS_BASE_URL = url;
  }

  /** The runs that a node is executing. */
  async runsOf(name: string): Promise<string[]> {
    const { rows } = await this.#client.query<{ run: string }>(
      `select subject_id as run from jobs join nodes on nodes.id = owner where kind = 'run' and status = 'running' and name = $1 order by 1`,
      [name],
    );
    return rows.map(({ run }) => run);
  }
}

/** Two nodes with runs that wait for a file in a command. Some of them are executed by `a`, because it is alone at first. */
async function startRuns(cluster: Cluster): Promise<{ a: Node; b: Node; runs: string[]; open: () => Promise<string> }> {
  const { machine } = cluster;
  const a = await cluster.start('a');
  await cluster.signIn(a);
  const gate = `${machine.folder}/gate`;
  await machine.agent(
    'waiting',
    `
- say: "one"
- exec: { id: write, run: "echo kept > file.txt" }
- exec: { id: wait, timeout: 10m, run: "until test -e ${gate}; do sleep 0.05; done" }
- exec: { id: read, run: "cat file.txt" }
- say: "two {{steps.read.stdout}}"`,
  );
  const runs = [await machine.startRun('waiting'), await machine.startRun('waiting')];
  await eventually('a executes the first runs', async () => (await cluster.runsOf('a')).length === runs.length);
  const b = await cluster.start('b');
  for (const node of [a, b]) {
    cluster.use(node);
    runs.push(await machine.startRun('waiting'));
  }
  await eventually(
    'all runs are executed',
    async () => [...(await cluster.runsOf('a')), ...(await cluster.runsOf('b'))].length === runs.length,
  );
  return { a, b, runs, open: () => machine.file('gate', '') };
}

/** How many jobs of runs a node has taken over from one that had not released them. */
async function takenOver({ url }: Node): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^aops_jobs_taken_over_total\{kind="run"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/** Checks that each step of the runs is in their conversation once, and that their files were there for each step. */
async function expectFinished({ machine }: Cluster, runs: readonly string[]): Promise<void> {
  for (const run of runs) {
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    const { data } = await machine.hereJson<{ data: { text_content: string | null; message_type: string }[] }>(
      'runs',
      'messages',
      run,
      '--all',
    );
    const said = data.flatMap(({ text_content: text }) => /^(one|two .*)$/.exec(text?.trim() ?? '')?.[0] ?? []);
    expect(said).toEqual(['one', 'two kept']);
  }
}

describeNeeding(needsPostgres, 'two nodes on one database', () => {
  it('finish the runs of one that was killed after its lease, with every step once', async () => {
    const cluster = await Cluster.create();
    const { a, b, runs, open } = await startRuns(cluster);
    const lost = await cluster.runsOf('a');
    expect(lost.length).toBeGreaterThan(0);
    const { nodes } = await cluster.machine.hereJson<{ nodes: { name: string; runs: string[] }[] }>('local', 'status');
    expect(nodes.map(({ name, runs: executed }) => [name, executed])).toEqual([
      ['a', lost],
      ['b', await cluster.runsOf('b')],
    ]);
    kill(a.child.pid as number, 'SIGKILL');
    await a.finished;
    cluster.use(b);
    // Before the end of the lease, nobody else may continue them.
    expect(await takenOver(b)).toBe(0);
    await eventually('b executes all runs', async () => (await cluster.runsOf('b')).length === runs.length);
    expect(await takenOver(b)).toBe(lost.length);
    await open();
    await expectFinished(cluster, runs);
  });

  it('hand over the runs of one that ends properly at once, without waiting for a lease', async () => {
    const cluster = await Cluster.create();
    const { a, b, runs, open } = await startRuns(cluster);
    expect((await cluster.runsOf('a')).length).toBeGreaterThan(0);
    kill(a.child.pid as number, 'SIGTERM');
    cluster.use(b);
    await eventually('b executes all runs', async () => (await cluster.runsOf('b')).length === runs.length);
    expect(await takenOver(b)).toBe(0);
    expect((await a.finished).code).toBe(0);
    await open();
    await expectFinished(cluster, runs);
    // Of the nodes, only the other one is left.
    expect(await cluster.machine.hereJson('local', 'status', '--jq', '[.nodes[].name]')).toEqual(['b']);
  });
});

describeNeeding(needsPostgres, 'a node that loses the database while it starts', () => {
  it('ends, so that it can be started again', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const machine = await Machine.create();
    Object.assign(machine.env, { AOPS_DATABASE_URL: proxy.url, AOPS_SECRET_KEY: randomBytes(32).toString('base64') });
    // The last change of a start: everything else is ready.
    proxy.loseAnswerTo('insert into "nodes"');
    const { code, stderr } = await machine.start('aops', ['serve', '--node-name', 'a', '--data-dir', 'a']).finished;
    expect(stderr).toContain('error: The database is not available');
    expect(stderr).not.toContain('Listening');
    expect(code).toBe(1);
  });
});

it('the local service has its own database, whatever the environment says', async () => {
  const machine = await Machine.create();
  machine.env.AOPS_DATABASE_URL = 'postgres://aops@127.0.0.1:1/none';
  expect(await machine.here('local', 'up')).toMatchObject({ code: 0 });
  expect((await machine.read('data/local/token')).trim()).toMatch(/^aops_local_/);
});
