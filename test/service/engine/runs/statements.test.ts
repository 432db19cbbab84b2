/**
 * How much the database has to do for a run. Each statement costs as much as a good part of a request, so an additional one must be
 * worth it: change the numbers only with a reason.
 */
import { expect, it } from 'vitest';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { nextTurn } from '../../helpers/disk.ts';
import { config, startApi } from '../../helpers/service.ts';
import { executedStatements } from '../../helpers/statements.ts';

/** How often transactions are committed, and how often the worker looks for due jobs, depends on what happens at the same moment. */
const isTimed = (sql: string): boolean => /^(begin|commit)/.test(sql) || sql.includes('"queued run"');

const kindOf = (sql: string): 'transactions' | 'writes' | 'reads' | undefined => {
  if (/^savepoint/.test(sql)) return 'transactions';
  if (/^release/.test(sql)) return undefined;
  return /^(insert|update|delete)/.test(sql) ? 'writes' : 'reads';
};

it.each([
  [1, { transactions: 3, writes: 14, reads: 8 }],
  [5, { transactions: 7, writes: 22, reads: 12 }],
])('a run of %i steps, from its request to its evaluation', async (steps, expected) => {
  const statements = executedStatements();
  const api = await startApi({ runtimes: [scriptRuntime] });
  const procedure = `version: 1\nsteps:\n${'  - say: Done.\n'.repeat(steps)}`;
  const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
  const counts = { transactions: 0, writes: 0, reads: 0 };
  /** Executes a run, and resolves when no job is left. */
  const execute = async (key: string): Promise<void> => {
    await api.call('startRun', { body: { agent_id: agent.id }, headers: { 'idempotency-key': key } });
    while (statements.read("select count(*) from jobs where status in ('queued', 'running') and kind = 'run'") !== 0) await nextTurn();
    expect(statements.read("select count(*) from runs where status != 'completed'")).toBe(0);
  };
  // What is read once is in the caches afterwards.
  await execute('first');
  statements.note = (sql) => {
    const kind = isTimed(sql) ? undefined : kindOf(sql);
    if (kind !== undefined) counts[kind] += 1;
  };
  await execute('second');
  expect(counts).toEqual(expected);
});

it.each([
  ['completed', 1, '  - say: Done.\n'],
  ['waiting', 2, '  - approve: { id: pay, title: "Pay?" }\n'],
] as const)('a run that is %s is read with as few statements as possible (%i), by an index', async (status, expected, steps) => {
  const statements = executedStatements();
  const api = await startApi({ runtimes: [scriptRuntime] });
  const procedure = `version: 1\nsteps:\n${steps}`;
  const { agent } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config(procedure, 'script') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
  await api.until(run.id, status);
  while (statements.read("select count(*) from jobs where status in ('queued', 'running') and kind = 'run'") !== 0) await nextTurn();
  const queries: string[] = [];
  statements.note = (sql) => void (isTimed(sql) || queries.push(sql));
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: run.id } });
  statements.note = undefined;
  expect([queries.length, request === null]).toEqual([expected, status === 'completed']);
  const ofRequests = queries.filter((sql) => sql.includes('"human_requests"'));
  // The plan does not depend on the values that are bound.
  for (const sql of ofRequests) expect(statements.plan(sql)).toContain('human_requests_pending');
});
