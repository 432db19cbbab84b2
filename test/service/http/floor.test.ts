/** The minimal servers of the benchmark do the work of the service, so that a ratio compares the same work. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { FloorDatabase } from '../../../bench/floor-database.js';
import { createAgent, queries, startRun } from '../../../bench/floor-operations.js';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { whenDone } from '../../support/temporary.ts';
import { nextTurn } from '../helpers/disk.ts';
import { config, startApi } from '../helpers/service.ts';
import { executedStatements, type Statements } from '../helpers/statements.ts';

/** A service with an agent whose runs have one step, and one of them. */
async function serviceWithRun() {
  const statements = executedStatements();
  const api = await startApi({ runtimes: [scriptRuntime] });
  const procedure = 'version: 1\nsteps:\n  - say: Done.\n';
  const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
  await api.until(run.id, 'completed');
  await untilIdle(statements);
  return { api, statements, agent, run };
}

async function untilIdle(statements: Statements): Promise<void> {
  while (statements.read("select count(*) from jobs where kind = 'run' and status in ('queued', 'running')") !== 0) await nextTurn();
}

/** The changes of tables that some work makes, sorted, such as `insert runs`. */
async function changesOf(statements: Statements, work: () => Promise<void>): Promise<string[]> {
  const changes: string[] = [];
  statements.note = (sql) => {
    const [, verb, table] = /^(insert into|update|delete from) "?(\w+)/.exec(sql) ?? [];
    if (verb !== undefined) changes.push(`${verb.split(' ')[0]} ${table}`);
  };
  await work();
  statements.note = undefined;
  return changes.sort();
}

it('reads a run and a page of the list with the statements of the service', async () => {
  const { api, statements, run } = await serviceWithRun();
  const executed: string[] = [];
  statements.note = (sql) => void executed.push(sql);
  await api.ok('getRun', { params: { run_id: run.id } });
  await api.ok('listRuns', { query: { limit: 20, offset: 20 } });
  statements.note = undefined;
  const ofRequests = executed.filter((sql) => !sql.includes('"queued run"'));
  expect(ofRequests.map((sql) => Object.values(queries).filter((query) => sql.includes(`(${query})`)))).toEqual(
    Object.values(queries).map((query) => [query]),
  );
});

it('changes the tables that the service changes', async () => {
  const { api, statements, agent, run } = await serviceWithRun();
  const create = (name: string) => api.call('createAgent', { body: { name }, headers: { 'idempotency-key': name } });
  const start = () => api.call('startRun', { body: { agent_id: agent.id }, headers: { 'idempotency-key': 'start' } });
  const ofAgent = await changesOf(statements, async () => void (await create('B')));
  const ofRun = await changesOf(statements, async () => {
    await start();
    await untilIdle(statements);
  });
  const credential = String(statements.read('select id from credentials'));
  await api.service.close();

  const database = await FloorDatabase.open(path.join(api.dataDirectory, 'aops.db'));
  whenDone(() => database.close());
  const identity = { team: api.service.teamId, credential };
  const floorAgents = createAgent(database, identity);
  const floorRuns = startRun(database, identity);
  const floorOfAgent = await changesOf(statements, async () => void (await floorAgents('/agents', 'C', '{"name":"C"}')));
  const floorOfRun = await changesOf(statements, async () => {
    await floorRuns.start('/runs', 'floor', JSON.stringify({ agent_id: agent.id }));
    while (floorRuns.completed() === 0) await nextTurn();
  });

  expect(floorOfAgent).toEqual(ofAgent);
  expect(floorOfRun).toEqual(ofRun);
  const columns = 'status, title, source, runtime, turn, started_at is not null as started, completed_at is not null as completed';
  const rowOf = database.first(`select ${columns} from runs where run_number = ?`);
  expect(rowOf(3)).toEqual({ ...rowOf(run.run_number), title: 'A #3' });
});
