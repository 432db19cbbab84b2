/**
 * Random sequences of operations of all groups, several at a time, by seed: agents and queues are deleted while runs and cases use them,
 * the clock jumps, runs are removed while they are read, the service is killed in between. The service never answers with a 5xx, and in
 * the end everything that can be counted in two ways has the same count.
 */
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../src/service/service.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { crashImage } from '../service/helpers/crash.ts';
import { type Api, startApi } from '../service/helpers/service.ts';
import { behaviours, nextMove, Player } from './random-operations.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const rounds = 4;
const stepsInRound = 200;
const workers = 8;

/** Several at a time until the round ends. A failure shows what was done before. */
async function play(player: Player, api: Api, clock: ManualClock, errors: readonly LogEntry[]): Promise<void> {
  let remainingSteps = stepsInRound;
  const work = async (): Promise<void> => {
    while (remainingSteps-- > 0) {
      if (player.below(25) === 0) clock.advance(player.one([minute, 6 * minute, 70 * minute, day, -20 * minute]));
      const answer = await nextMove(player)(player, api);
      const details = (): string => [answer.text, ...player.trail.slice(-30), ...errors.map((entry) => JSON.stringify(entry))].join('\n');
      expect(answer.status, answer.status < 500 ? '' : details()).toBeLessThan(500);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

/** Waits until nothing is in progress. */
async function settle(api: Api, clock: ManualClock): Promise<void> {
  let polls = 0;
  for (;;) {
    // Jobs that were queued while the clock was ahead for a moment wait until it shows that time again.
    if (++polls % 100 === 0) clock.advance(10 * minute);
    const count = async (status: 'pending' | 'starting' | 'running') =>
      (await api.ok('listRuns', { query: { status, count_only: 'true' } })).total;
    // A run that sleeps is running for as long as the clock stands still.
    if ((await count('pending')) + (await count('starting')) === 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function pages<Row>(readPage: (query: { limit: number; offset: number }) => Promise<{ rows: Row[]; total: number }>): Promise<Row[]> {
  const allRows: Row[] = [];
  for (;;) {
    const { rows, total: count } = await readPage({ limit: 50, offset: allRows.length });
    allRows.push(...rows);
    if (rows.length === 0) {
      expect(allRows.length).toBe(count);
      return allRows;
    }
  }
}

/** Compares everything that can be counted in two ways while nothing changes. */
async function check(api: Api): Promise<void> {
  let before = await snapshot(api);
  for (;;) {
    // The comparison takes hundreds of requests, so it only begins when nothing seems to change.
    await new Promise((resolve) => setImmediate(resolve));
    const now = await snapshot(api);
    if (now !== before) {
      before = now;
      continue;
    }
    const failure = await consistent(api).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if ((await snapshot(api)) !== before) continue;
    if (failure === undefined) return;
    throw failure.error;
  }
}

/** Changes without requests: of runs, and of their cases. */
async function snapshot(api: Api): Promise<string> {
  const { data, total: runs } = await api.ok('listRuns', { query: { limit: 100 } });
  const { deliveries, total: deliveryTotal } = await api.ok('listWebhookDeliveries');
  return JSON.stringify([runs, deliveryTotal, deliveries, data.map(({ id, status, updated_at }) => [id, status, updated_at])]);
}

async function consistent(api: Api): Promise<void> {
  const runs = await pages(async (query) => {
    const { data, total: count } = await api.ok('listRuns', { query });
    return { rows: data, total: count };
  });
  const statuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'] as const;
  for (const status of statuses) {
    const { total: count } = await api.ok('listRuns', { query: { status: status as never, count_only: 'true' } });
    expect([status, count]).toEqual([status, runs.filter((run) => run.status === status).length]);
  }
  expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length);

  const agents = await pages(async (query) => {
    const { agents: rows, total: count } = await api.ok('listAgents', { query });
    return { rows, total: count };
  });
  for (const { id } of agents) {
    for (const readId of ['listAgentSchedules', 'listAgentMemoryFiles', 'getAgent', 'listAgentRevisions'] as const)
      expect((await api.call(readId, { params: { agent_id: id } })).status).toBe(200);
  }
  const queues = await pages(async (query) => {
    const { queues: rows, total: count } = await api.ok('listQueues', { query });
    return { rows, total: count };
  });
  for (const { id: queue_id } of queues) {
    const cases = await pages(async (query) => {
      const { cases: rows, total: count } = await api.ok('listCases', { params: { queue_id }, query });
      return { rows, total: count };
    });
    let sum = 0;
    for (const status of ['pending', 'claimed', 'needs_input', 'postponed', 'completed', 'failed']) {
      const { cases: casePage, total: count } = await api.ok('listCases', { params: { queue_id }, query: { status, limit: 100 } });
      expect(casePage.length).toBe(Math.min(100, count));
      sum += count;
    }
    expect(sum).toBe(cases.length);
    const { labels } = await api.ok('listQueueLabels', { params: { queue_id } });
    for (const label of labels) expect(label.case_count).toBe(cases.filter((row) => row.labels.some(({ id }) => id === label.id)).length);
    for (const row of cases) {
      const { runs: caseRuns } = await api.ok('listCaseRuns', { params: { case_id: row.id } });
      // Never two at a time: the previous run of the case has ended, or lost it.
      const holding = caseRuns.filter(
        ({ id, status }) => id === row.claimed_by_run_id && ['pending', 'starting', 'running', 'waiting'].includes(status),
      );
      expect(holding.length).toBe(row.status === 'pending' && row.claimed_by_run_id !== null ? 1 : holding.length);
      expect(
        caseRuns.filter(({ id, status }) => id !== row.claimed_by_run_id && ['pending', 'starting', 'running'].includes(status)),
      ).toEqual([]);
    }
  }
  const deliveries = await pages(async (query) => {
    const { deliveries: rows, total: count } = await api.ok('listWebhookDeliveries', { query });
    return { rows, total: count };
  });
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(deliveries.length);
}

/** What no answer shows: rows and jobs of deleted objects. */
function checkFile(directory: string): void {
  const file = new Libsql(`${directory}/aops.db`);
  const rows = (text: string): unknown[] => file.prepare(text).all();
  expect(rows('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(rows('pragma foreign_key_check')).toEqual([]);
  const orphans: string[] = [];
  const kinds = {
    run: 'runs',
    evaluate: 'runs',
    builder_run: 'builder_runs',
    schedule: 'schedules',
    artifact: 'artifacts',
    refresh_artifact: 'artifacts',
    dispatch_cases: 'queues',
  };
  for (const [kind, table] of Object.entries(kinds)) {
    const remainingRows = rows(
      `select subject_id from jobs where kind = '${kind}' and status in ('queued', 'running') and subject_id not in (select id from ${table})`,
    );
    // A queue's job ends by itself when it finds no work, at any time.
    if (remainingRows.length > 0 && kind !== 'dispatch_cases') orphans.push(`${kind}: ${remainingRows.length}`);
  }
  for (const table of ['messages', 'journal', 'human_requests', 'evaluations', 'run_files', 'tool_executions'])
    if (rows(`select run_id from ${table} where run_id not in (select id from runs)`).length > 0) orphans.push(table);
  expect(orphans).toEqual([]);
  file.close();
}

describe.each([20_261_120, 7])('random sequences of operations, seed %i', (seed) => {
  it('never make the service fail, and leave everything consistent, even if it is killed in between', { timeout: 240_000 }, async () => {
    const clock = new ManualClock();
    const errors: LogEntry[] = [];
    const options = {
      clock,
      behaviours,
      runRetention: 2 * day,
      sandboxRetention: 60 * minute,
      rateLimit: { limit: 1e9, windowSeconds: 60 },
      httpLimits: { keepAliveMilliseconds: 300_000 },
      log: (entry: LogEntry): void => void (entry.level === 'error' && errors.push(entry)),
    };
    const player = new Player(seed);
    let api = await startApi(options);
    for (let round = 1; round <= rounds; round++) {
      await play(player, api, clock, errors);
      if (round % 2 === 0) {
        await settle(api, clock);
        await check(api);
      }
      // Killed in every second round, stopped in the others.
      const image = round % 2 === 0 ? api.dataDirectory : await crashImage(api);
      await api.service.close();
      // A copy, because a reader keeps the database open for a while.
      checkFile(await crashImage({ dataDirectory: image }));
      api = await startApi({ ...options, dataDirectory: image });
    }
    await settle(api, clock);
    await check(api);
  });
});
