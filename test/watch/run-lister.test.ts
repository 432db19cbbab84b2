/** Reading the state of many runs: which pages of the list are read, and which runs are read one by one. */
import { describe, expect, it } from 'vitest';
import { AopsError, type ExitCode, exitCodes } from '../../src/base/errors.ts';
import type { RunListItem } from '../../src/interface/types.ts';
import { RunLister } from '../../src/watch/many/run-lister.ts';
import { WatchedRun } from '../../src/watch/many/watched-run.ts';
import type { Call } from '../../src/watch/polling.ts';
import { ManualClock } from '../service/helpers/clock.ts';

interface Row {
  id: string;
  status: string;
  created_at: string | null;
}

const timeOf = (minute: number): string => new Date(Date.parse('2026-07-18T09:00:00.000Z') + minute * 60_000).toISOString();
/** Runs r0, r1, and so on, each a minute newer than the previous one. */
const rowsOf = (count: number, status = 'running'): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: `r${index}`, status, created_at: timeOf(index) }));

/** A service with these runs, newest first; `failures` are those of reading single runs. */
function serviceWith(rows: readonly Row[], failures: Record<string, Error> = {}) {
  const calls: string[] = [];
  const call = (async (id: string, input: { params: { teamId?: string; run_id?: string }; query: Record<string, string | number> }) => {
    if (id === 'getRun') {
      const runId = input.params.run_id as string;
      calls.push(`run ${runId}`);
      if (failures[runId] !== undefined) throw failures[runId];
      return { run: rows.find((row) => row.id === runId), pending_human_request: null };
    }
    const { limit, offset, status, since, until, ...filter } = input.query as Record<string, string> & { limit: number; offset: number };
    calls.push(`list ${JSON.stringify({ limit, offset, ...(status && { status }), ...(since && { since, until }), ...filter })}`);
    expect([id, input.params]).toEqual(['listRuns', { teamId: 't1' }]);
    const matching = rows
      .filter((row) => status === undefined || row.status === status)
      .filter(({ created_at }) => created_at === null || since === undefined || created_at >= since)
      .filter(({ created_at }) => created_at === null || until === undefined || created_at < until)
      .toReversed();
    return { data: matching.slice(offset, offset + limit).map((row) => ({ ...row, pending_human_request: null })), total: matching.length };
  }) as unknown as Call;
  return { call, calls };
}

/** Watched runs; their times are known if their rows are passed. */
const watched = (rows: readonly Row[]): WatchedRun[] =>
  rows.map((row) => new WatchedRun(row.id, new ManualClock(), row as unknown as RunListItem));
const unknown = (ids: readonly string[]): WatchedRun[] => ids.map((id) => new WatchedRun(id, new ManualClock()));

async function idsOf(items: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of items) ids.push(id);
  return ids;
}

/** The IDs of the runs that were found, from the list or by themselves, and of those that were lost. */
async function currentOf(lister: RunLister, call: Call, runs: readonly WatchedRun[], maxReads = 7) {
  const found: Record<'listed' | 'read' | 'lost', string[]> = { listed: [], read: [], lost: [] };
  for await (const result of lister.current(call, runs, maxReads)) {
    if ('error' in result) found.lost.push(result.run.id);
    else {
      found[result.reading.isListed ? 'listed' : 'read'].push(result.run.id);
      expect(result.reading.run.id).toBe(result.run.id);
    }
  }
  return found;
}

describe('the matching runs', () => {
  it('are those that have not ended, one status at a time, with the other filters', async () => {
    const rows = ['completed', 'running', 'failed', 'waiting', 'interrupted', 'pending'].map((status, index) => ({
      ...{ id: `r${index}`, status, created_at: timeOf(index) },
    }));
    const { call, calls } = serviceWith(rows);
    expect(await idsOf(new RunLister(new ManualClock(), 't1', { agent_id: 'a1' }).matching(call))).toEqual(['r5', 'r1', 'r3']);
    expect(calls).toEqual(
      ['not_started', 'pending', 'starting', 'running', 'waiting'].map(
        (status) => `list ${JSON.stringify({ limit: 100, offset: 0, status, agent_id: 'a1' })}`,
      ),
    );
  });

  it.each([
    ['running', 10],
    ['completed', 1],
    ['failed', 1],
    ['stopped', 1],
    ['needs_attention', 1],
  ] as const)('with the status %s are read from %i pages at most', async (status, pages) => {
    const { call, calls } = serviceWith(rowsOf(1_050, status));
    const ids = await idsOf(new RunLister(new ManualClock(), 't1', { status }).matching(call));
    expect([ids.length, new Set(ids).size, calls.length]).toEqual([pages * 100, pages * 100, pages]);
  });

  it('are read once each, up to the last page', async () => {
    const rows = rowsOf(200);
    const { call, calls } = serviceWith(rows);
    const listed = new RunLister(new ManualClock(), 't1', { status: 'running' }).matching(call);
    const ids = [(await listed.next()).value?.id];
    // A new run moves another one to the second page.
    rows.push({ id: 'new', status: 'running', created_at: timeOf(200) });
    ids.push(...(await idsOf(listed)));
    expect(ids).toEqual(
      rowsOf(200)
        .toReversed()
        .map(({ id }) => id),
    );
    expect(calls).toHaveLength(3);
  });

  it('end with a page without runs, whatever the service counts', async () => {
    const { call } = serviceWith(rowsOf(3));
    let pages = 0;
    const miscounting = (async (...input: Parameters<Call>) => {
      pages += 1;
      return { ...(await (call as (...input: unknown[]) => Promise<object>)(...input)), total: 1_000 };
    }) as unknown as Call;
    expect(await idsOf(new RunLister(new ManualClock(), 't1', { status: 'running' }).matching(miscounting))).toEqual(['r2', 'r1', 'r0']);
    expect(pages).toBe(2);
  });
});

describe('new runs', () => {
  it('are those after the newest one, also if they have ended', async () => {
    const rows = rowsOf(3);
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', { agent_id: 'a1' });
    expect(await lister.newest(call)).toEqual({ id: 'r2', createdAt: timeOf(2) });
    expect(calls).toEqual(['list {"limit":1,"offset":0}']);
    rows.push({ id: 'r3', status: 'completed', created_at: timeOf(3) });
    expect(await idsOf(lister.recent(call, []))).toEqual(['r3', 'r2']);
    expect(calls.at(-1)).toBe(`list ${JSON.stringify({ limit: 100, offset: 0, since: timeOf(2), agent_id: 'a1' })}`);
    // The next reading begins with them.
    expect(await idsOf(lister.recent(call, []))).toEqual(['r3']);
  });

  it('are read together with known ones', async () => {
    const rows = rowsOf(150);
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    await lister.newest(call);
    calls.length = 0;
    const ids = await idsOf(lister.recent(call, watched([rows[120], rows[10], rows[140]] as Row[])));
    expect([ids.length, ids.at(-1), calls.length]).toEqual([140, 'r10', 2]);
  });

  it('are read with only the newest of the known ones if these are far apart', async () => {
    const rows = rowsOf(1_000);
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    await lister.newest(call);
    calls.length = 0;
    const runs = watched([rows[10], rows[950], rows[990]] as Row[]);
    expect((await idsOf(lister.recent(call, runs))).at(-1)).toBe('r900');
    expect((await idsOf(lister.recent(call, runs))).at(-1)).toBe('r950');
    expect(calls).toHaveLength(2);
  });

  it('are read completely, however many there are', async () => {
    const rows = rowsOf(50);
    const { call } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    await lister.newest(call);
    rows.push(...rowsOf(350).slice(50));
    const ids = await idsOf(lister.recent(call, watched([rows[0] as Row])));
    expect(ids).toEqual(
      expect.arrayContaining(
        rowsOf(350)
          .slice(50)
          .map(({ id }) => id),
      ),
    );
  });

  it('are all runs of a team that had none', async () => {
    const { call } = serviceWith([]);
    expect(await new RunLister(new ManualClock(), 't1', {}).newest(call)).toEqual({ id: '', createdAt: '1970-01-01T00:00:00.000Z' });
    expect(
      await new RunLister(new ManualClock(), 't1', {}).newest(serviceWith([{ id: 'r0', status: 'running', created_at: null }]).call),
    ).toEqual({
      id: 'r0',
      createdAt: '1970-01-01T00:00:00.000Z',
    });
  });
});

describe('the state of runs', () => {
  it('is read one by one for one run, and for up to three whose times are unknown', async () => {
    const rows = rowsOf(10);
    const { call, calls } = serviceWith(rows);
    expect(await currentOf(new RunLister(new ManualClock(), 't1', {}), call, watched(rows.slice(0, 1)))).toEqual({
      listed: [],
      read: ['r0'],
      lost: [],
    });
    expect(await currentOf(new RunLister(new ManualClock(), 't1', {}), call, unknown(['r4', 'r5', 'r6']))).toMatchObject({
      read: ['r4', 'r5', 'r6'],
    });
    expect(calls.filter((name) => name.startsWith('list'))).toEqual([]);
  });

  it('is read by status where that takes fewer pages, and one by one for runs that have another status now', async () => {
    const rows = rowsOf(1_000, 'completed');
    const indexes = [999, 800, 600, 400, 200, 0];
    for (const index of indexes) (rows[index] as Row).status = 'waiting';
    const runs = watched(indexes.map((index) => rows[index] as Row));
    for (const run of runs) run.state.status = 'waiting';
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    // At first, the size of the list between them is unknown.
    await currentOf(lister, call, runs);
    calls.length = 0;
    (rows[400] as Row).status = 'running';
    expect(await currentOf(lister, call, runs)).toEqual({ listed: ['r999', 'r800', 'r600', 'r200', 'r0'], read: ['r400'], lost: [] });
    expect(calls).toHaveLength(2);
    expect(calls[0]).toContain('"status":"waiting"');
  });

  it('is read from the whole part of the list as long as the status of a run is unknown', async () => {
    const rows = rowsOf(500);
    const { call } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    const indexes = [499, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    const runs = watched(indexes.map((index) => rows[index] as Row));
    // At first, the size of the list between them is unknown.
    for (let reading = 0; reading < 2; reading += 1)
      expect((await currentOf(lister, call, runs, 0)).listed).toEqual(indexes.map((index) => `r${index}`));
  });

  it('is read from the whole part of the list if many runs have another status now', async () => {
    const rows = [...rowsOf(150, 'completed'), ...rowsOf(190).slice(150)];
    const runs = watched([rows[0] as Row, ...rows.slice(150)]);
    for (const run of runs) run.state.status = 'running';
    (rows[0] as Row).status = 'running';
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', {});
    await currentOf(lister, call, runs);
    calls.length = 0;
    for (const row of rows.slice(160)) row.status = 'waiting';
    expect((await currentOf(lister, call, runs)).listed).toHaveLength(41);
    expect(calls.map((text) => text.includes('"status"'))).toEqual([true, false]);
  });

  it('is read from the part of the list between the first and the last of more runs', async () => {
    const rows = rowsOf(300);
    const { call, calls } = serviceWith(rows);
    const lister = new RunLister(new ManualClock(), 't1', { status: 'running', agent_id: 'a1' });
    const found = await currentOf(lister, call, watched([rows[60], rows[20], rows[40], rows[50]] as Row[]));
    expect(found).toEqual({ listed: ['r60', 'r50', 'r40', 'r20'], read: [], lost: [] });
    const until = new Date(Date.parse(timeOf(60)) + 1).toISOString();
    expect(calls).toEqual([`list ${JSON.stringify({ limit: 100, offset: 0, since: timeOf(20), until, agent_id: 'a1' })}`]);
  });

  it.each([
    // The last run is on the third page. Reading it alone takes as many requests as the next page.
    { indexes: [299, 298, 297, 0], pages: 1, read: ['r0'] },
    { indexes: [299, 298, 1, 0], pages: 1, read: ['r1', 'r0'] },
    { indexes: [299, 2, 1, 0], pages: 3, read: [] },
  ])('is read from further pages only while that takes fewer requests: $indexes', async ({ indexes, pages, read }) => {
    const rows = rowsOf(300);
    const { call, calls } = serviceWith(rows);
    const found = await currentOf(new RunLister(new ManualClock(), 't1', {}), call, watched(indexes.map((index) => rows[index] as Row)));
    expect(found.read).toEqual(read);
    expect(calls.filter((name) => name.startsWith('list'))).toHaveLength(pages);
  });

  it('of named runs is searched once among the newest runs, and then read one by one', async () => {
    const gone = new AopsError('Gone.', { code: 'run_not_found', exit: exitCodes.notFound });
    const { call, calls } = serviceWith(rowsOf(50), { gone });
    const lister = new RunLister(new ManualClock(), 't1', { agent_id: 'a1' });
    const runs = unknown(['r1', 'r2', 'r3', 'gone']);
    expect(await currentOf(lister, call, runs)).toEqual({ listed: ['r3', 'r2', 'r1'], read: [], lost: ['gone'] });
    expect(calls).toEqual(['list {"limit":100,"offset":0,"agent_id":"a1"}', 'run gone']);
    calls.length = 0;
    expect(await currentOf(lister, call, runs)).toMatchObject({ listed: [], read: ['r1', 'r2', 'r3'] });
    expect(calls.filter((name) => name.startsWith('list'))).toEqual([]);
  });

  it('of named runs is searched in 10 pages at most', async () => {
    const { call, calls } = serviceWith(rowsOf(1_400));
    const found = await currentOf(new RunLister(new ManualClock(), 't1', {}), call, unknown(rowsOf(350).map(({ id }) => id)), 2);
    expect([found.listed, calls.filter((name) => name.startsWith('list')).length]).toEqual([[], 10]);
    expect(found.read).toEqual(['r0', 'r1']);
  });

  it('ends with a page without runs, whatever the service counts', async () => {
    const { call, calls } = serviceWith(rowsOf(5));
    const miscounting = (async (...input: Parameters<Call>) => ({
      ...(await (call as (...input: unknown[]) => Promise<object>)(...input)),
      total: 250,
    })) as unknown as Call;
    const runs = unknown(rowsOf(9).map(({ id }) => id));
    expect((await currentOf(new RunLister(new ManualClock(), 't1', {}), miscounting, runs, 0)).listed).toHaveLength(5);
    expect(calls).toHaveLength(2);
  });

  it('is read for those first that were read longest ago', async () => {
    const { call } = serviceWith(rowsOf(3));
    const lister = new RunLister(new ManualClock(), 't1', {});
    const runs = unknown(['r0', 'r1', 'r2']);
    expect((await currentOf(lister, call, runs, 2)).read).toEqual(['r0', 'r1']);
    expect((await currentOf(lister, call, runs, 2)).read).toEqual(['r2', 'r0']);
    expect((await currentOf(lister, call, runs, 2)).read).toEqual(['r1', 'r2']);
    expect((await currentOf(lister, call, runs, 0)).read).toEqual([]);
  });
});

describe('a run that cannot be read', () => {
  const failure = (code: string, exit: ExitCode): AopsError => new AopsError('No.', { code, exit });

  it.each([
    ['is not found', failure('run_not_found', exitCodes.notFound)],
    ['may not be read', failure('forbidden', exitCodes.forbidden)],
    ['is not shown', failure('run_not_shown', exitCodes.failure)],
    ['has an unusable answer', failure('unusable_answer', exitCodes.failure)],
  ])('because it %s is lost, and the others are read', async (_, error) => {
    const { call } = serviceWith(rowsOf(3), { r1: error });
    expect(await currentOf(new RunLister(new ManualClock(), 't1', {}), call, unknown(['r0', 'r1', 'r2']))).toEqual({
      ...{ listed: [], read: ['r0', 'r2'], lost: ['r1'] },
    });
  });

  it.each([
    ['another error of the service', failure('internal_error', exitCodes.failure)],
    ['an error of another kind', Object.assign(new Error('No.'), { code: 'unusable_answer', exit: exitCodes.notFound })],
  ])('because of %s ends the reading', async (_, error) => {
    const { call } = serviceWith(rowsOf(3), { r1: error });
    await expect(currentOf(new RunLister(new ManualClock(), 't1', {}), call, unknown(['r0', 'r1', 'r2']))).rejects.toBe(error);
  });
});
