/** How long runs are kept, with a clock that stands still. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { RunHost } from '../../../../src/service/runtimes/run-host.ts';
import { secretHash } from '../../../../src/service/secret-hash.ts';
import { runTables } from '../../../../src/service/store/runs/run-removal.ts';
import { png } from '../../../support/png.ts';
import { needsSqlite, usesPostgres } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { type Api, startApi } from '../../helpers/service.ts';
import { alterStored, inStore, storedRows } from '../../helpers/stored.ts';

const day = 24 * 60 * 60 * 1_000;

const picture = png(1, 1, [1, 2, 3]);

/** Sends a message, takes a picture, writes a file, and records a result. */
async function work(host: RunHost) {
  await host.sandbox.write('note.txt', Buffer.from('note'));
  const time = new Date(host.clock.now());
  await host.commit('step', 1, [
    { kind: 'text', id: 'said', text: 'Done.' },
    {
      kind: 'screenshot',
      id: 'shot',
      toolName: 'browse',
      startedAt: time,
      image: { name: 'a.png', mimeType: 'image/png', bytes: picture },
    },
  ]);
  return { status: 'completed' as const };
}

async function ask(host: RunHost) {
  await host.sandbox.write('invoice.txt', Buffer.from('12'));
  return host.answer('ask')
    ? { status: 'completed' as const }
    : { status: 'waiting' as const, step: 'ask', request: { type: 'approval' as const, title: 'Pay?' } };
}

const statusOf = async (api: Api, id: string) => (await api.call('getRun', { params: { run_id: id } })).status;

/** Lets the job, which is due, do its work until the run is gone. */
const untilGone = (api: Api, clock: ManualClock, id: string): Promise<void> =>
  within(10_000, clock, async () => (await statusOf(api, id)) === 404);

/** Rows that belong to a run, in a database that no service has open. */
const rowsOf = (directory: string, id: string): Promise<Record<string, number>> =>
  inStore(directory, async (store) => {
    const counts: Record<string, number> = {};
    for (const table of [...runTables, 'jobs']) {
      const column = sql.ref(table === 'jobs' ? 'subject_id' : 'run_id');
      const query = sql<{ count: number }>`select count(*) as count from ${sql.table(table)} where ${column} = ${id}`;
      counts[table] = (await query.execute(store)).rows[0]?.count ?? 0;
    }
    return counts;
  });

describe('runs that have ended', () => {
  it('are removed after the retention time, with everything that belongs to them; those that have not ended stay', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, runRetention: 90 * day, behaviours: { work, ask } });
    const waitingRun = await api.run('ask');
    await api.until(waitingRun.id, 'waiting');
    const first = await api.run('work', 'Begin');
    await api.until(first.id, 'completed');
    clock.advance(day);
    const { run: second } = await api.ok('startRun', { body: { agent_id: first.agent_id as string } });
    await api.until(second.id, 'completed');
    clock.advance(89 * day - 1);
    expect(await statusOf(api, first.id)).toBe(200);
    clock.advance(1);
    await untilGone(api, clock, first.id);
    expect([await statusOf(api, second.id), await statusOf(api, waitingRun.id)]).toEqual([200, 200]);
    const list = await api.ok('listRuns');
    expect([list.total, list.data.map((run) => run.id)]).toEqual([2, [second.id, waitingRun.id]]);
    await api.service.close();
    // Files of a node are in the database.
    if (!usesPostgres) {
      expect(await readdir(join(api.dataDirectory, 'files'))).toEqual([second.id]);
      expect((await readdir(join(api.dataDirectory, 'sandboxes'))).sort()).toEqual([second.sandbox_id, waitingRun.sandbox_id].sort());
    }
    const emptyCounts = Object.fromEntries([...runTables, 'jobs'].map((table) => [table, 0]));
    expect(await rowsOf(api.dataDirectory, first.id)).toEqual(emptyCounts);
    expect(await rowsOf(api.dataDirectory, second.id)).toMatchObject({ messages: 1, run_files: 1, tool_executions: 1, journal: 1 });
  });

  it('are kept for the whole time again after they continued, and leave a sandbox that another run uses', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, runRetention: 10 * day, behaviours: { work } });
    const first = await api.run('work');
    await api.until(first.id, 'completed');
    const { run: sharedRun } = await api.ok('startRun', {
      body: { agent_id: first.agent_id as string, sandbox_id: first.sandbox_id as string },
    });
    await api.until(sharedRun.id, 'completed');
    clock.advance(9 * day);
    await api.ok('postRunMessage', { params: { run_id: first.id }, body: { message: 'Once more' } });
    await api.until(first.id, 'completed');
    clock.advance(day);
    await untilGone(api, clock, sharedRun.id);
    expect(await statusOf(api, first.id)).toBe(200);
    expect((await api.ok('listRunSandboxFiles', { params: { run_id: first.id } })).data.entries).toMatchObject([{ name: 'note.txt' }]);
    clock.advance(9 * day);
    await untilGone(api, clock, first.id);
    while ((await readdir(join(api.dataDirectory, 'sandboxes'))).length > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('still count in their month, and their numbers are not reused', async () => {
    const clock = new ManualClock(Date.parse('2026-07-01T00:00:00Z'));
    const api = await startApi({ clock, runRetention: day, behaviours: { work } });
    const run = await api.run('work');
    await api.until(run.id, 'completed');
    clock.advance(2 * day);
    await untilGone(api, clock, run.id);
    expect((await api.ok('getTeamUsage', { params: { teamId: api.service.teamId } } as never)).agentRuns.used).toBe(1);
    const { run: next } = await api.ok('startRun', { body: { agent_id: run.agent_id as string } });
    expect((await api.ok('listRuns')).data).toMatchObject([{ id: next.id, run_number: 2 }]);
    await api.until(next.id, 'completed');
    clock.set(Date.parse('2026-08-02T00:00:00Z'));
    await untilGone(api, clock, next.id);
    expect((await api.ok('getTeamUsage', { params: { teamId: api.service.teamId } } as never)).agentRuns.used).toBe(0);
  });

  it('stay for ever without a retention time, even if there was one before', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, runRetention: 90 * day, behaviours: { work } });
    const run = await api.run('work');
    await api.until(run.id, 'completed');
    await api.service.close();
    const secondApi = await startApi({ clock, dataDirectory: api.dataDirectory, behaviours: { work } });
    clock.advance(10_000 * day);
    expect((await secondApi.ok('listRuns')).total).toBe(1);
    await secondApi.service.close();
    const restartedApi = await startApi({ clock, dataDirectory: api.dataDirectory, runRetention: 90 * day, behaviours: { work } });
    await untilGone(restartedApi, clock, run.id);
  });

  it('are removed in batches, however many there are', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, runRetention: day, behaviours: { done: async () => ({ status: 'failed', error: 'no' }) } });
    const agent_id = await api.agent('done');
    const runs = await Promise.all(Array.from({ length: 60 }, () => api.ok('startRun', { body: { agent_id } })));
    for (const { run } of runs) await api.until(run.id, 'failed');
    clock.advance(2 * day);
    for (const { run } of runs) await untilGone(api, clock, run.id);
    expect((await api.ok('listRuns')).total).toBe(0);
  });

  itNeeding(needsSqlite, 'are removed together with the leftovers of a crash and expired tokens', async () => {
    const clock = new ManualClock();
    const first = await startApi({ clock, runRetention: day });
    const { client, secret } = await first.ok('createLocalClient', { body: { name: 'ci' } });
    const answer = await first.send('POST', '/oauth/token', {
      anonymous: true,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${client.id}&client_secret=${secret}`,
    });
    const hash = secretHash((answer.body as { access_token: string }).access_token);
    await first.service.close();
    const sandboxes = join(first.dataDirectory, 'sandboxes');
    const leftovers = [
      join(sandboxes, '00000000-0000-4000-8000-000000000000.removed'),
      join(sandboxes, '00000000-0000-4000-8000-000000000001.unnamed'),
      join(first.dataDirectory, 'files', 'run', 'screenshot'),
      join(first.dataDirectory, 'files', 'run', 'unfinished.partial'),
    ] as const;
    await mkdir(leftovers[0], { recursive: true });
    await writeFile(leftovers[1], 'of a form');
    await mkdir(dirname(leftovers[2]), { recursive: true });
    await writeFile(leftovers[2], 'whose run was removed');
    await writeFile(leftovers[3], 'by a step');
    for (const key of ['run/screenshot', 'run/unfinished'])
      await alterStored(first.dataDirectory, `insert into unreferenced_files values ('${key}', 0, ${clock.now() + day})`);
    clock.advance(day);
    const second = await startApi({ clock, dataDirectory: first.dataDirectory, runRetention: day });
    while (leftovers.some((folder) => existsSync(folder))) await new Promise((resolve) => setImmediate(resolve));
    await second.service.close();
    expect(await storedRows(first.dataDirectory, `select * from tokens where hash = '${hash}'`)).toEqual([]);
  });
});

describe('after runs have been removed, the next removal is due', () => {
  const hour = 60 * 60 * 1_000;

  /** When the next removal is due: after a first run was removed, while a second one ended `age` milliseconds before the retention time passes. */
  async function nextRemoval(age: number, ofSecond = ''): Promise<number> {
    const clock = new ManualClock();
    const api = await startApi({ clock, runRetention: day, behaviours: { work } });
    const [first, second] = [await api.run('work'), await api.run('work')];
    for (const { id } of [first, second]) await api.until(id, 'completed');
    await api.service.close();
    const now = clock.now() + 2 * day;
    const end = (id: string, time: number) => `update runs set completed_at = '${new Date(time).toISOString()}' where id = '${id}';`;
    const more = ofSecond.replaceAll('TEAM', api.service.teamId).replaceAll('RUN', second.id);
    await alterStored(api.dataDirectory, `${end(first.id, now - day)}${end(second.id, now - day + age)}${more}`);
    clock.set(now);
    const restartedApi = await startApi({ clock, dataDirectory: api.dataDirectory, runRetention: day, behaviours: { work } });
    while ((await statusOf(restartedApi, first.id)) !== 404);
    expect(await statusOf(restartedApi, second.id)).toBe(200);
    await restartedApi.service.close();
    const [job] = await storedRows<{ due_at: number }>(api.dataDirectory, `select due_at from jobs where kind = 'forget_runs'`);
    return (job?.due_at ?? 0) - now;
  }

  it.each([
    ['when the next run expires, if that is soon', hour / 2, hour / 2],
    ['after an hour, if the next run expires later', 3 * hour, hour],
  ])('%s', async (_, age, expected) => {
    expect(await nextRemoval(age)).toBe(expected);
  });

  it('after an hour, if the only expired run is still assigned to a case', async () => {
    const insertStatements = `
      insert into queues (id, team_id, name, created_at, updated_at) values ('q', 'TEAM', 'Queue', '', '');
      insert into cases (id, queue_id, number, title, data, search_text, status, priority, claimed_by_run_id, created_at, updated_at)
        values ('c', 'q', 1, '', '{}', '', 'pending', 0, 'RUN', '', '');`;
    expect(await nextRemoval(-hour, insertStatements)).toBe(hour);
  });
});

itNeeding(needsSqlite, 'knows every table that refers to runs', async () => {
  const api = await startApi();
  await api.service.close();
  const file = new Libsql(join(api.dataDirectory, 'aops.db'));
  const tables = file.prepare("select name from sqlite_master where type = 'table'").all([]) as { name: string }[];
  const referring = tables.filter(({ name }) =>
    (file.prepare(`pragma foreign_key_list(${name})`).all([]) as { table: string }[]).some(({ table }) => table === 'runs'),
  );
  file.close();
  // Cases are not removed, and neither is a run that belongs to one.
  expect(referring.map(({ name }) => name).sort()).toEqual([...runTables, 'cases'].sort());
});
