/** Reminders of human requests, with a clock that stands still, and across restarts. */
import { describe, expect, it } from 'vitest';
import { reminderPause, remindJob, setRemindAfter } from '../../../../src/service/engine/requests/reminders.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { type Api, startApi } from '../../helpers/service.ts';

const minute = 60_000;
const hour = 60 * minute;

const ask: Behaviour = async (host) =>
  host.answer('ask') ? { status: 'completed' } : { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Pay?' } };

const remindAfter = (api: Api, seconds: number | null) =>
  api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: seconds } });

const requestOf = async (api: Api, run_id: string) => (await api.ok('getRun', { params: { run_id } })).pending_human_request;

/** The data directory of a service that has ended, in which a run waits since the time of the clock; a webhook gets the reminders. */
async function waitingRun(clock: ManualClock, seconds: number | null) {
  const api = await startApi({ clock, behaviours: { ask } });
  await remindAfter(api, seconds);
  await api.ok('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/', events: ['human_request.reminder'] } });
  const run = await api.run('ask');
  await api.until(run.id, 'waiting');
  return { api, run, teamId: api.service.teamId };
}

/** The same with an engine whose jobs are executed by the test. */
async function remindedTeam(seconds: number | null = 3_600) {
  const clock = new ManualClock();
  const { api, run, teamId } = await waitingRun(clock, seconds);
  await api.service.close();
  const logEntries: unknown[][] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes: [] }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  return {
    ...{ engine, clock, store, run, teamId, logEntries },
    fire: () => execute(engine, remindJob, teamId),
    /** Changes the setting of the team; hours, or null for no reminders. */
    set: (hours: number | null) =>
      store.transaction().execute((trx) => setRemindAfter(trx, teamId, hours === null ? null : hours * hour, clock.now())),
    job: () => store.selectFrom('jobs').select(['status', 'due_at']).where('kind', '=', 'remind').executeTakeFirst(),
    request: () => store.selectFrom('human_requests').select(['status', 'reminders', 'reminded_at', 'remind_at']).executeTakeFirstOrThrow(),
    events: async () => (await store.selectFrom('events').select('payload').execute()).map(({ payload }) => JSON.parse(payload)),
    changes: async () =>
      (await store.selectFrom('request_events').select('change').orderBy('number').execute()).map(({ change }) => change),
  };
}

it('doubles the pause with each reminder, up to a day, but never to less than the first one', () => {
  const pauses = (first: number): number[] => [0, 1, 2, 5, 40].map((count) => reminderPause(first, count) / hour);
  expect(pauses(hour)).toEqual([1, 2, 4, 24, 24]);
  expect(pauses(48 * hour)).toEqual([48, 48, 48, 48, 48]);
});

describe('a request that waits too long', () => {
  it('is reported once for each instant, and decided by nobody', async () => {
    const { clock, fire, job, request, events, changes, run } = await remindedTeam();
    const start = clock.now();
    expect(await job()).toEqual({ status: 'queued', due_at: start + hour });
    clock.set(start + hour - 1);
    await fire();
    expect([await request(), await job(), await events()]).toEqual([
      { status: 'pending', reminders: 0, reminded_at: null, remind_at: start + hour },
      { status: 'queued', due_at: start + hour },
      [],
    ]);
    clock.set(start + hour);
    await fire();
    // Executed again at the same instant, it has nothing to report.
    await fire();
    const reminded_at = new Date(start + hour).toISOString();
    expect([await request(), await job()]).toEqual([
      { status: 'pending', reminders: 1, reminded_at, remind_at: start + 3 * hour },
      { status: 'queued', due_at: start + 3 * hour },
    ]);
    expect(await changes()).toEqual(['asked', 'reminded']);
    expect(await events()).toEqual([
      expect.objectContaining({
        type: 'human_request.reminder',
        data: expect.objectContaining({
          run_id: run.id,
          human_request: expect.objectContaining({ title: 'Pay?', reminders: 1, reminded_at }),
        }),
      }),
    ]);
  });

  it('wakes the worker, which delivers the reminder, and is reported in the log', async () => {
    const { engine, clock, fire, logEntries, teamId } = await remindedTeam();
    await fire();
    expect(logEntries).toEqual([]);
    clock.advance(hour);
    const woken = engine.worker.nextWake();
    await fire();
    await woken;
    expect(logEntries).toEqual([['info', 'reminded of human requests', { team: teamId, requests: 1 }]]);
  });

  it('is reported once for the instants that passed while the service was down', async () => {
    const { clock, fire, request, events } = await remindedTeam();
    clock.advance(100 * hour);
    await fire();
    expect(await request()).toMatchObject({ reminders: 1, remind_at: clock.now() + 2 * hour });
    expect(await events()).toHaveLength(1);
  });

  it('is not reported once it has been answered or withdrawn', async () => {
    const { clock, store, fire, job, events } = await remindedTeam();
    await store.updateTable('human_requests').set({ status: 'withdrawn' }).execute();
    clock.advance(hour);
    await fire();
    expect([(await job())?.status, await events()]).toEqual(['done', []]);
  });

  it('is not reported unless the team wants it', async () => {
    const { clock, fire, job, request } = await remindedTeam(null);
    expect(await job()).toBeUndefined();
    clock.advance(hour);
    await fire();
    expect(await request()).toMatchObject({ reminders: 0, remind_at: null });
  });
});

describe('a changed setting', () => {
  it('is measured from when the request was made, or from its last reminder', async () => {
    const { clock, fire, job, request, set } = await remindedTeam();
    const start = clock.now();
    clock.advance(hour / 2);
    await set(2);
    expect([await request(), await job()]).toMatchObject([{ remind_at: start + 2 * hour }, { status: 'queued', due_at: start + hour }]);
    clock.set(start + 2 * hour);
    await fire();
    clock.advance(hour / 2);
    await set(3);
    expect(await request()).toMatchObject({ reminders: 1, remind_at: start + 8 * hour });
  });

  it('makes a reminder due now if it would have been due earlier', async () => {
    const { clock, job, request, set } = await remindedTeam(8 * 3_600);
    clock.advance(5 * hour);
    await set(1);
    expect([await request(), await job()]).toEqual([
      { status: 'pending', reminders: 0, reminded_at: null, remind_at: clock.now() },
      { status: 'queued', due_at: clock.now() },
    ]);
  });

  it('withdraws the reminders that were planned', async () => {
    const { clock, fire, job, request, set, changes } = await remindedTeam();
    await set(null);
    expect(await request()).toMatchObject({ remind_at: null });
    clock.advance(100 * hour);
    await fire();
    expect([(await job())?.status, await changes()]).toEqual(['done', ['asked']]);
  });
});

describe('a service', () => {
  it('reminds after a restart, and shows it in the request', async () => {
    const clock = new ManualClock();
    const before = await waitingRun(clock, 60);
    expect(await requestOf(before.api, before.run.id)).not.toHaveProperty('reminders');
    await before.api.service.close();
    clock.advance(hour);
    const api = await startApi({ clock, behaviours: { ask }, dataDirectory: before.api.dataDirectory });
    await within(10_000, clock, async () => (await requestOf(api, before.run.id))?.reminders === 1);
    expect(Date.parse((await requestOf(api, before.run.id))?.reminded_at ?? '')).toBeGreaterThanOrEqual(clock.now() - 10_000);
    await api.service.close();
    // It is not repeated by another restart before its next time.
    clock.advance(minute);
    const again = await startApi({ clock, behaviours: { ask }, dataDirectory: api.dataDirectory });
    expect((await requestOf(again, before.run.id))?.reminders).toBe(1);
    const { list } = await again.ok('listRuns', { query: { status: 'waiting' } }).then(({ data }) => ({ list: data }));
    expect(list[0]?.pending_human_request?.reminders).toBe(1);
  });

  it('applies a change of the setting to what is pending', async () => {
    const clock = new ManualClock();
    const { api, run } = await waitingRun(clock, null);
    clock.advance(10 * minute);
    const { team } = await remindAfter(api, 300);
    expect(team.remind_after_seconds).toBe(300);
    await within(10_000, clock, async () => (await requestOf(api, run.id))?.reminders === 1);
    expect((await remindAfter(api, null)).team.remind_after_seconds).toBeNull();
    clock.advance(100 * hour);
    const request = await requestOf(api, run.id);
    await api.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: request?.id as string }, body: { approved: true } });
    await api.until(run.id, 'completed');
    expect(request?.reminders).toBe(1);
  });

  it('streams reminders to the readers of the team', async () => {
    const clock = new ManualClock();
    const { api } = await waitingRun(clock, null);
    clock.advance(10 * minute);
    const stream = await fetch(`${api.service.url}/v2/teams/${api.service.teamId}/events`, {
      headers: { authorization: `Bearer ${api.service.token}` },
    });
    const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    await remindAfter(api, 60);
    while (!text.includes('event: human_request.reminder')) text += (await reader.read()).value ?? '';
    expect(text).toMatch(/event: human_request\.pending\n[\s\S]*event: human_request\.reminder\n/);
    await reader.cancel();
  });

  it('rejects settings that make no sense', async () => {
    const api = await startApi();
    for (const body of [{}, { remind_after_seconds: 59 }, { remind_after_seconds: 2_592_001 }, { remind_after_seconds: 'soon' }])
      expect(await api.call('updateLocalTeam', { params: { team_id: api.service.teamId }, body })).toMatchObject({ status: 400 });
  });
});
