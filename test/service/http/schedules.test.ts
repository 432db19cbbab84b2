/** Schedules: which fields they accept, that they fire once at each instant, and what a restart or a failure does to them. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Body, RunListItem, Schedule } from '../../../src/interface/types.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { testRuntime } from '../helpers/runtime.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';

const service = covers('schedules');
const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];
const minute = 60_000;

interface Setting {
  api: Api;
  clock: ManualClock;
  agentId: string;
}

/** A service at 2026-07-18T09:00Z, a Saturday, with an agent. */
async function setting(options: TestOptions = {}): Promise<Setting> {
  const clock = (options.clock as ManualClock | undefined) ?? new ManualClock();
  const api = await service({ clock, ...options });
  return { api, clock, agentId: await api.agent() };
}

const create = ({ api, agentId }: Setting, body: Partial<Body<'createSchedule'>> = {}): Promise<Schedule> =>
  api.ok('createSchedule', { params: { agent_id: agentId }, body: { enabled: true, frequency: 'daily', timezone: 'UTC', ...body } });

async function list({ api, agentId }: Setting): Promise<Schedule[]> {
  return (await api.ok('listAgentSchedules', { params: { agent_id: agentId } })).schedules;
}

/** The only schedule, once it meets a condition. */
async function untilSchedule(setting: Setting, predicate: (schedule: Schedule) => boolean): Promise<Schedule> {
  for (;;) {
    const [schedule] = await list(setting);
    if (schedule !== undefined && predicate(schedule)) return schedule;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const listScheduled = async ({ api }: Setting): Promise<RunListItem[]> =>
  (await api.ok('listRuns', { query: { source: 'schedule' } })).data;

/** Jumps to an instant. Returns the schedule once it has set the next instant. */
async function jump(setting: Setting, time: string): Promise<Schedule> {
  setting.clock.set(Date.parse(time));
  return untilSchedule(setting, ({ next_run_at }) => next_run_at === null || Date.parse(next_run_at ?? '') > setting.clock.now());
}

describe('a schedule', () => {
  it('is created with all of its fields, listed, changed, and deleted', async () => {
    const fixture = await setting();
    const schedule = await create(fixture, { frequency: 'weekly', timezone: 'Europe/Berlin', task: 'Check the shop' });
    const { agent } = await fixture.api.ok('getAgent', { params: { agent_id: fixture.agentId } });
    const { builds } = await fixture.api.ok('listAgentRevisions', { params: { agent_id: agent.id } });
    expect(schedule).toEqual({
      id: expect.any(String),
      build_id: builds[0]?.id,
      agent_id: fixture.agentId,
      user_id: expect.any(String),
      enabled: true,
      frequency: 'weekly',
      time: '09:00',
      timezone: 'Europe/Berlin',
      day: 'monday',
      day_of_month: null,
      cron: null,
      source: 'api',
      task: 'Check the shop',
      recurring: null,
      auto_disabled_at: null,
      auto_disabled_reason: null,
      consecutive_missing_connection_failures: 0,
      first_missing_connection_failure_at: null,
      last_missing_connection_failure_at: null,
      created_at: '2026-07-18T09:00:00.000Z',
      updated_at: '2026-07-18T09:00:00.000Z',
      user_name: 'Local',
      user_email: null,
      next_run_at: '2026-07-20T07:00:00.000Z',
      last_run_at: null,
      last_run_id: null,
      last_error: null,
      consecutive_failures: 0,
    });
    expect(await list(fixture)).toEqual([schedule]);

    const params = { agent_id: fixture.agentId, schedule_id: schedule.id };
    fixture.clock.advance(1_000);
    const laterSchedule = await fixture.api.ok('updateSchedule', { params, body: { time: '10:30' } });
    expect(laterSchedule).toEqual({
      ...schedule,
      time: '10:30',
      next_run_at: '2026-07-20T08:30:00.000Z',
      updated_at: '2026-07-18T09:00:01.000Z',
    });
    // Another frequency keeps no fields of the previous one.
    const monthly = await fixture.api.ok('updateSchedule', { params, body: { frequency: 'monthly', day_of_month: 31, task: null } });
    expect(monthly).toMatchObject({ day: null, time: '09:00', day_of_month: 31, task: null, next_run_at: '2026-07-31T07:00:00.000Z' });
    const changes = [{ recurring: false }, { recurring: true }, { task: '  ' }, {}];
    for (const body of changes) await fixture.api.ok('updateSchedule', { params, body });
    expect(await list(fixture)).toMatchObject([{ recurring: true, task: null }]);
    expect(await fixture.api.ok('updateSchedule', { params, body: { recurring: null } })).toMatchObject({ recurring: null });
    expect(await fixture.api.ok('updateSchedule', { params, body: { enabled: false } })).toMatchObject({
      enabled: false,
      next_run_at: null,
    });

    const { agents } = await fixture.api.ok('listAgents', { query: { include_schedules: 'true' } });
    expect(agents[0]?.latest_build?.schedules).toEqual(await list(fixture));
    expect((await fixture.api.ok('listAgents')).agents[0]?.latest_build).not.toHaveProperty('schedules');

    expect(await fixture.api.ok('deleteSchedule', { params })).toEqual({ success: true });
    expect(await list(fixture)).toEqual([]);
  });

  it('starts runs of the live revision, with its task as their message', async () => {
    const fixture = await setting({ behaviours: { other: async () => ({ status: 'completed' }) } });
    const schedule = await create(fixture, { frequency: 'every_5_minutes', task: 'Check the shop' });
    const after = await jump(fixture, '2026-07-18T09:05:00Z');
    expect(after).toMatchObject({ last_run_at: '2026-07-18T09:05:00.000Z', next_run_at: '2026-07-18T09:10:00.000Z' });
    const [first] = await listScheduled(fixture);
    expect(first).toMatchObject({ id: after.last_run_id, source: 'schedule', title: 'Check the shop', build_id: schedule.build_id });
    await fixture.api.until(first?.id as string, 'completed');
    expect(await fixture.api.texts(first?.id as string)).toEqual(['Check the shop']);

    const { build } = await fixture.api.ok('createRevision', {
      params: { agent_id: fixture.agentId },
      body: { name: 'second', config: config('other') },
    });
    await fixture.api.ok('promoteRevision', { params: { build_id: build.id } });
    expect(await jump(fixture, '2026-07-18T09:10:00Z')).toMatchObject({ build_id: build.id });
    expect((await listScheduled(fixture)).map(({ build_id }) => build_id)).toEqual([build.id, schedule.build_id]);
  });

  it('fires once at each instant, whatever wakes the worker', async () => {
    const fixture = await setting();
    await create(fixture, { frequency: 'every_5_minutes' });
    for (let minutes = 1; minutes <= 31; minutes++)
      await jump(fixture, new Date(Date.parse('2026-07-18T09:00Z') + minutes * minute).toISOString());
    expect((await listScheduled(fixture)).map(({ created_at }) => created_at?.slice(11, 16)).reverse()).toEqual([
      '09:05',
      '09:10',
      '09:15',
      '09:20',
      '09:25',
      '09:30',
    ]);
  });

  it('that is not recurring fires once, and can be enabled again for another time', async () => {
    const fixture = await setting();
    const schedule = await create(fixture, { recurring: false, time: '12:00' });
    const doneSchedule = await jump(fixture, '2026-07-18T12:00:00Z');
    expect(doneSchedule).toMatchObject({ enabled: false, recurring: false, next_run_at: null, auto_disabled_at: null });
    fixture.clock.set(Date.parse('2026-07-19T12:00:00Z'));
    const repeatedSchedule = await fixture.api.ok('updateSchedule', {
      params: { agent_id: fixture.agentId, schedule_id: schedule.id },
      body: { enabled: true },
    });
    expect(repeatedSchedule.next_run_at).toBe('2026-07-20T12:00:00.000Z');
    expect(await listScheduled(fixture)).toHaveLength(1);
  });

  it('does nothing while it is disabled, or after it was deleted', async () => {
    const fixture = await setting();
    const disabledSchedule = await create(fixture, { enabled: false, frequency: 'every_5_minutes' });
    const goneSchedule = await create(fixture, { frequency: 'every_5_minutes' });
    await fixture.api.ok('deleteSchedule', { params: { agent_id: fixture.agentId, schedule_id: goneSchedule.id } });
    // A schedule of another agent, which shows that the time has passed for all of them.
    const witness = { ...fixture, agentId: await fixture.api.agent('done', 'Witness') };
    await create(witness, { frequency: 'every_5_minutes' });
    await jump(witness, '2026-07-18T09:05:00Z');
    expect((await listScheduled(fixture)).map(({ agent_name }) => agent_name)).toEqual(['Witness']);
    expect(disabledSchedule.next_run_at).toBeNull();
  });

  it('is deleted with its agent', async () => {
    const fixture = await setting();
    await create(fixture, { frequency: 'every_5_minutes' });
    await fixture.api.ok('deleteAgent', { params: { agent_id: fixture.agentId } });
    const witness = { ...fixture, agentId: await fixture.api.agent('done', 'Witness') };
    await create(witness, { frequency: 'every_5_minutes' });
    await jump(witness, '2026-07-18T09:05:00Z');
    expect((await listScheduled(fixture)).map(({ agent_name }) => agent_name)).toEqual(['Witness']);
  });
});

describe('instants that passed while the service was down', () => {
  it('fire once, together', async () => {
    const dataDirectory = await temporaryDirectory();
    const before = await setting({ dataDirectory });
    await create(before, { frequency: 'every_5_minutes' });
    await before.api.service.close();
    const clock = new ManualClock(Date.parse('2026-07-18T11:02:00Z'));
    const after = { ...before, clock, api: await service({ dataDirectory, clock }) };
    const schedule = await untilSchedule(after, ({ last_run_id }) => last_run_id !== null);
    expect(schedule).toMatchObject({ last_run_at: '2026-07-18T11:02:00.000Z', next_run_at: '2026-07-18T11:05:00.000Z' });
    expect(await listScheduled(after)).toHaveLength(1);
    await jump(after, '2026-07-18T11:05:00Z');
    expect(await listScheduled(after)).toHaveLength(2);
  });
});

describe('a schedule whose runs cannot be started', () => {
  /** A schedule whose agent only has a draft. */
  async function draftOnly(): Promise<Setting & { buildId: string }> {
    const fixture = await setting();
    const { agent } = await fixture.api.ok('createAgent', { body: { name: 'Draft' } });
    const { build } = await fixture.api.ok('createRevision', {
      params: { agent_id: agent.id },
      body: { name: 'draft', config: config('done') },
    });
    return { ...fixture, agentId: agent.id, buildId: build.id };
  }

  it('is disabled after five failures in a row, and counts from zero when it is enabled', async () => {
    const setting = await draftOnly();
    const schedule = await create(setting, { frequency: 'every_5_minutes' });
    expect(schedule.build_id).toBe(setting.buildId);
    expect(await jump(setting, '2026-07-18T09:05:00Z')).toMatchObject({
      enabled: true,
      consecutive_failures: 1,
      last_error: 'The agent Draft has no live revision; create one and promote it.',
      auto_disabled_at: null,
    });
    for (const time of ['09:10', '09:15', '09:20']) await jump(setting, `2026-07-18T${time}:00Z`);
    const disabledSchedule = await jump(setting, '2026-07-18T09:25:00Z');
    expect(disabledSchedule).toMatchObject({
      enabled: false,
      next_run_at: null,
      consecutive_failures: 5,
      auto_disabled_at: '2026-07-18T09:25:00.000Z',
      auto_disabled_reason: expect.stringMatching(/^No run could be started 5 times in a row: The agent Draft has no live revision/),
    });
    await setting.api.ok('promoteRevision', { params: { build_id: setting.buildId } });
    const params = { agent_id: setting.agentId, schedule_id: schedule.id };
    expect(await setting.api.ok('updateSchedule', { params, body: { enabled: true } })).toMatchObject({
      enabled: true,
      consecutive_failures: 0,
      auto_disabled_at: null,
      auto_disabled_reason: null,
      last_error: null,
    });
    await jump(setting, '2026-07-18T09:30:00Z');
    expect(await listScheduled(setting)).toHaveLength(1);
  });

  it('counts only failures in a row', async () => {
    const setting = await draftOnly();
    await create(setting, { frequency: 'every_5_minutes' });
    for (const time of ['09:05', '09:10']) await jump(setting, `2026-07-18T${time}:00Z`);
    await setting.api.ok('promoteRevision', { params: { build_id: setting.buildId } });
    expect(await jump(setting, '2026-07-18T09:15:00Z')).toMatchObject({ consecutive_failures: 0, last_error: null });
  });

  it('reports the reason immediately if it was to fire once', async () => {
    const setting = await draftOnly();
    await create(setting, { time: '12:00', recurring: false });
    expect(await jump(setting, '2026-07-18T12:00:00Z')).toMatchObject({
      enabled: false,
      auto_disabled_reason: 'The agent Draft has no live revision; create one and promote it.',
    });
  });

  it('counts failures because of missing connections, and continues once they exist', async () => {
    const runtimes = [testRuntime({ done: async () => ({ status: 'completed' }) }), scriptRuntime];
    const fixture = await setting({ runtimes });
    const params = { agent_id: fixture.agentId };
    const procedure = `version: 1
steps:
  - tool: { connection: tickets, name: list }
  - tool: { connection: spare, name: list, on_error: continue }`;
    const body = { name: 'needs tickets', config: config(procedure, 'script') };
    const { build } = await fixture.api.ok('createRevision', { params, body });
    await fixture.api.ok('promoteRevision', { params: { build_id: build.id } });
    const schedule = await create(fixture, { frequency: 'every_5_minutes' });
    await jump(fixture, '2026-07-18T09:05:00Z');
    expect(await jump(fixture, '2026-07-18T09:10:00Z')).toMatchObject({
      enabled: true,
      consecutive_failures: 2,
      last_error: 'There is no connection tickets, which the agent needs; add it, or promote a revision without it.',
      consecutive_missing_connection_failures: 2,
      first_missing_connection_failure_at: '2026-07-18T09:05:00.000Z',
      last_missing_connection_failure_at: '2026-07-18T09:10:00.000Z',
    });
    expect(await listScheduled(fixture)).toEqual([]);
    const server = { provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/mcp' } as const;
    const connection = await fixture.api.ok('createConnection', { body: { name: 'tickets', ...server } });
    const clean = {
      consecutive_missing_connection_failures: 0,
      first_missing_connection_failure_at: null,
      last_missing_connection_failure_at: null,
      last_error: null,
    };
    expect(await jump(fixture, '2026-07-18T09:15:00Z')).toMatchObject({ consecutive_failures: 0, ...clean });
    expect(await listScheduled(fixture)).toHaveLength(1);
    const { agents } = await fixture.api.ok('listAgents');
    expect(agents.find(({ id }) => id === fixture.agentId)?.integration_configs).toEqual([
      {
        id: connection.id,
        integration_id: connection.id,
        integration_type: 'custom_mcp',
        integration_name: 'tickets',
        created_at: connection.created_at,
        is_connected: expect.any(Boolean),
      },
    ]);
    await fixture.api.ok('deleteConnection', { params: { connection_id: connection.id } });
    expect(await jump(fixture, '2026-07-18T09:20:00Z')).toMatchObject({ consecutive_missing_connection_failures: 1 });
    const enabled = { params: { ...params, schedule_id: schedule.id }, body: { enabled: true } };
    expect(await fixture.api.ok('updateSchedule', enabled)).toMatchObject(clean);
  });

  it('is not disabled by a limit of the plan, which is temporary', async () => {
    const plan = {
      name: 'small',
      limits: { agentRuns: 1, assignments: 'unlimited', clarityInterviews: 0 },
      maxConcurrentRuns: 1,
      runCountingMode: 'started',
    };
    const fixture = await setting({ plan: plan as never });
    await create(fixture, { frequency: 'every_5_minutes' });
    for (let minutes = 5; minutes <= 40; minutes += 5)
      await jump(fixture, new Date(Date.parse('2026-07-18T09:00Z') + minutes * minute).toISOString());
    const [schedule] = await list(fixture);
    expect(schedule).toMatchObject({
      enabled: true,
      consecutive_failures: 0,
      last_error: expect.stringContaining('The plan "small" allows 1 run'),
    });
    expect(await listScheduled(fixture)).toHaveLength(1);
  });
});

describe('refusals', () => {
  it('name every invalid field', async () => {
    const fixture = await setting();
    const invalidBody = { enabled: true, frequency: 'workday', timezone: 'Europe/Berln', day: 'monday', time: '9' };
    const answer = await fixture.api.call('createSchedule', { params: { agent_id: fixture.agentId }, body: invalidBody });
    expect(failure(answer)).toEqual([400, 'invalid_schedule']);
    const { details } = answer.body as unknown as { details: { path: string; message: string }[] };
    expect(details.map(({ path }) => path)).toEqual(['day', 'time', 'timezone']);
    for (const body of [{}, { ...invalidBody, frequency: 'yearly' }, { ...invalidBody, day_of_month: 32 }])
      expect(failure(await fixture.api.call('createSchedule', { params: { agent_id: fixture.agentId }, body }))).toEqual([
        400,
        'invalid_request',
      ]);
    expect(await list(fixture)).toEqual([]);
  });

  it('leave a schedule unchanged', async () => {
    const fixture = await setting();
    const schedule = await create(fixture);
    const params = { agent_id: fixture.agentId, schedule_id: schedule.id };
    for (const body of [{ timezone: 'Mars/Base' }, { frequency: 'custom' }, { cron: '* * * * *' }])
      expect(failure(await fixture.api.call('updateSchedule', { params, body }))).toEqual([400, 'invalid_schedule']);
    expect(await list(fixture)).toEqual([schedule]);
  });

  it('have the status 404 for an unknown ID, and 400 for an agent without a revision', async () => {
    const fixture = await setting();
    const schedule = await create(fixture);
    const otherAgent = await fixture.api.agent('done', 'Other');
    const [unknownId, body] = [randomUUID(), { enabled: true, frequency: 'daily', timezone: 'UTC' }];
    expect(failure(await fixture.api.call('listAgentSchedules', { params: { agent_id: unknownId } }))).toEqual([404, 'agent_not_found']);
    expect(failure(await fixture.api.call('createSchedule', { params: { agent_id: unknownId }, body }))).toEqual([404, 'agent_not_found']);
    for (const params of [
      { agent_id: fixture.agentId, schedule_id: unknownId },
      { agent_id: otherAgent, schedule_id: schedule.id },
    ]) {
      expect(failure(await fixture.api.call('updateSchedule', { params, body: {} }))).toEqual([404, 'schedule_not_found']);
      expect(failure(await fixture.api.call('deleteSchedule', { params }))).toEqual([404, 'schedule_not_found']);
    }
    const { agent } = await fixture.api.ok('createAgent', { body: { name: 'Empty' } });
    expect(failure(await fixture.api.call('createSchedule', { params: { agent_id: agent.id }, body }))).toEqual([
      400,
      'agent_has_no_revision',
    ]);
  });
});
