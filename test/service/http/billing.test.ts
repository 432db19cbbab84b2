import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { operationGroups } from '../../../src/interface/operations.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { defaultPlan } from '../../../src/service/store/access/plan.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Answer, config, type TestOptions } from '../helpers/service.ts';

const service = covers('billing');
const failure = (answer: Answer) => [answer.status, (answer.body as { error?: string }).error];
const plan = (changes: Partial<typeof defaultPlan>): TestOptions['plan'] => ({ ...defaultPlan, ...changes });
const limits = (changes: Partial<(typeof defaultPlan)['limits']>) => ({ ...defaultPlan.limits, ...changes });

it('reports the limits and usage of a team without a plan of its own', async () => {
  const clock = new ManualClock(Date.parse('2026-07-18T09:00:00.000Z'));
  const api = await service({ clock });
  const { teamId } = api.service;
  expect(await api.ok('getTeamUsage', { params: { teamId } })).toEqual({
    teamId,
    period: { start: '2026-07-01T00:00:00.000Z', end: '2026-08-01T00:00:00.000Z' },
    agentRuns: { used: 0, limit: 'unlimited', remaining: 'unlimited' },
    clarityInterviews: { used: 0, limit: 'unlimited', remaining: 'unlimited' },
    assignments: { used: 0, limit: 'unlimited' },
    concurrency: { used: 0, limit: 8 },
  });
  expect(await api.ok('getTeamEntitlements', { params: { teamId } })).toEqual({
    plan: 'local',
    // Groups that consist of extensions are not part of the interface.
    features: Object.keys(operationGroups).filter((name) => !['local', 'events', 'secrets', 'acp'].includes(name)),
    products: ['local-service'],
    runCountingMode: 'started',
    maxConcurrentRuns: 8,
  });
  const run = await api.run('done');
  await api.until(run.id, 'completed');
  expect(await api.ok('getTeamUsage', { params: { teamId } })).toMatchObject({ agentRuns: { used: 1 }, assignments: { used: 1 } });
});

it('counts the builder runs that asked a question', async () => {
  const clock = new ManualClock();
  const api = await service({ clock, runtimes: [scriptRuntime] });
  const input = 'version: 1\nsteps:\n  - approve: { id: a, title: "A?" }\n  - approve: { id: b, title: "B?" }\n';
  const { build } = await api.ok('createAgent', { body: { name: 'a', build: { name: 'first', config: config(input, 'script') } } });
  const params = { build_id: build?.id as string };
  const until = async (status: string) => {
    for (;;) {
      const run = await api.ok('getLatestBuilderRun', { params });
      if (run.status === status) return run;
    }
  };
  const readUsage = async () => (await api.ok('getTeamUsage', { params: { teamId: api.service.teamId } })).clarityInterviews.used;
  await api.ok('generateRevision', { params, body: { prompt: 'say "Bye" at the end' } });
  await until('waiting_for_approve');
  expect(await readUsage()).toBe(0);
  await api.ok('discardRevision', { params });
  const { generation } = await api.ok('generateRevision', { params, body: { prompt: 'remove the approval' } });
  const result = (await until('waiting_for_input')).pending_user_questions as unknown as HumanRequest;
  expect(await readUsage()).toBe(1);
  const answers = { [result.questions?.[0]?.question as string]: 'Leave it out' };
  await api.ok('answerBuilderRun', { params: { builder_run_id: generation.builder_run_id }, body: { answers } });
  expect(await readUsage()).toBe(1);
  clock.advance(31 * 86_400_000);
  expect(await readUsage()).toBe(0);
});

it('gives other teams their own plans', async () => {
  const first = await service({ plan: plan({ name: 'own' }) });
  const { team } = await first.ok('createLocalTeam', { body: { name: 'finance' } });
  await first.service.close();
  const { dataDirectory } = first;
  await expect(service({ dataDirectory, teamPlans: new Map([['finanse', defaultPlan]]) })).rejects.toMatchObject({
    code: 'team_not_found',
    exit: 3,
  });
  const second = await service({
    dataDirectory,
    teamPlans: new Map([['finance', { ...defaultPlan, name: 'theirs', maxConcurrentRuns: 1 }]]),
  });
  const { secret: token } = await second.ok('createLocalToken', { body: { name: 'f', team_id: team.id } });
  const headers = { authorization: `Bearer ${token}` };
  const otherTeamAnswer = await second.call('getTeamEntitlements', { params: { teamId: team.id }, headers });
  expect(otherTeamAnswer.body).toMatchObject({ plan: 'theirs', maxConcurrentRuns: 1 });
  expect(await second.ok('getTeamEntitlements', { params: { teamId: second.service.teamId } })).toMatchObject({ plan: 'own' });
});

it('does not find other teams', async () => {
  const api = await service();
  for (const id of ['getTeamUsage', 'getTeamEntitlements'] as const)
    expect(failure(await api.call(id, { params: { teamId: randomUUID() } }))).toEqual([404, 'team_not_found']);
});

it('counts a run while it is being executed, but not while it waits for a person or sleeps', async () => {
  const clock = new ManualClock();
  const [startGate, resumeGate] = [new Gate(), new Gate()];
  const api = await service({
    clock,
    behaviours: {
      work: async () => {
        startGate.open();
        await resumeGate.opened;
        return { status: 'completed' };
      },
      ask: async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Go?' } }),
      nap: async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 }),
    },
  });
  const readUsage = async () => (await api.ok('getTeamUsage', { params: { teamId: api.service.teamId } })).concurrency.used;
  const askingRun = await api.run('ask');
  await api.until(askingRun.id, 'waiting');
  const napping = await api.run('nap');
  await api.until(napping.id, 'running');
  const working = await api.run('work');
  await startGate.opened;
  // The two free their slots a moment after their statuses change.
  while ((await readUsage()) > 1) await new Promise((resolve) => setImmediate(resolve));
  expect(await readUsage()).toBe(1);
  resumeGate.open();
  await api.until(working.id, 'completed');
  expect(await readUsage()).toBe(0);
});

it('refuses a run above the monthly limit, and accepts it in the next month', async () => {
  const clock = new ManualClock(Date.parse('2026-12-31T23:59:59.000Z'));
  const api = await service({ clock, plan: plan({ name: 'trial', limits: limits({ agentRuns: 2 }) }) });
  const { teamId } = api.service;
  const agent = await api.agent();
  const start = () => api.call('startRun', { body: { agent_id: agent } });
  // The last two of the month, requested at the same time as two more than allowed.
  const answers = await Promise.all([start(), start(), start(), start()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403]);
  const refusal = answers.find(({ status }) => status === 403) as Answer;
  expect(refusal.body).toEqual({
    error: 'plan_limit_reached',
    message: 'The plan "trial" allows 2 runs a month, and that limit has been reached; more can be started from 2027-01-01T00:00:00.000Z.',
  });
  const usage = () => api.ok('getTeamUsage', { params: { teamId } });
  expect((await usage()).agentRuns).toEqual({ used: 2, limit: 2, remaining: 0 });
  expect((await api.ok('listRuns', { params: { teamId } })).total).toBe(2);

  clock.advance(1_000);
  expect(await usage()).toMatchObject({ period: { start: '2027-01-01T00:00:00.000Z' }, agentRuns: { used: 0, remaining: 2 } });
  expect((await start()).status).toBe(201);
  expect((await usage()).agentRuns).toEqual({ used: 1, limit: 2, remaining: 1 });
});

it('counts only runs that did not fail if the plan says so, even when one is resumed', async () => {
  const api = await service({
    plan: plan({ limits: limits({ agentRuns: 1 }), runCountingMode: 'succeeded' }),
    behaviours: {
      broken: () => Promise.reject(new Error('no')),
      ask: async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Go?' } }),
    },
  });
  const failedRun = await api.run('broken');
  await api.until(failedRun.id, 'failed');
  const stoppedRun = await api.run('ask');
  await api.until(stoppedRun.id, 'waiting');
  expect(failure(await api.call('startRun', { body: { agent_id: stoppedRun.agent_id } }))).toEqual([403, 'plan_limit_reached']);
  await api.ok('stopRun', { params: { run_id: stoppedRun.id } });
  const second = await api.run('done');
  await api.until(second.id, 'completed');
  const resume = () => api.call('postRunMessage', { params: { run_id: stoppedRun.id }, body: { message: 'go on' } });
  expect(failure(await resume())).toEqual([403, 'plan_limit_reached']);
  // A run that already counts can always continue.
  expect((await api.call('postRunMessage', { params: { run_id: second.id }, body: { message: 'more' } })).status).toBe(201);
});

it('refuses an agent above the limit until one is deleted', async () => {
  const api = await service({ plan: plan({ name: 'solo', limits: limits({ assignments: 1 }) }) });
  const agent = await api.agent('done', 'first');
  const create = () => api.call('createAgent', { body: { name: 'second' } });
  const refusal = await create();
  expect(failure(refusal)).toEqual([403, 'plan_limit_reached']);
  expect((refusal.body as unknown as { message: string }).message).toBe(
    'The plan "solo" allows 1 agent, and the team already has as many; delete one first.',
  );
  await api.ok('deleteAgent', { params: { agent_id: agent } });
  expect((await create()).status).toBe(201);
});

it('keeps its plan until it gets another one', async () => {
  const first = await service({ plan: plan({ name: 'team', maxConcurrentRuns: 3, features: ['runs'], products: ['aops'] }) });
  const params = { teamId: first.service.teamId };
  const entitlements = await first.ok('getTeamEntitlements', { params });
  expect(entitlements).toEqual({
    plan: 'team',
    features: ['runs'],
    products: ['aops'],
    runCountingMode: 'started',
    maxConcurrentRuns: 3,
  });
  await first.service.close();
  const second = await service({ dataDirectory: first.dataDirectory });
  expect(await second.ok('getTeamEntitlements', { params })).toEqual(entitlements);
  await second.service.close();
  const third = await service({ dataDirectory: first.dataDirectory, plan: defaultPlan });
  expect(await third.ok('getTeamEntitlements', { params })).toMatchObject({ plan: 'local', maxConcurrentRuns: 8 });
});
