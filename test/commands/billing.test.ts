import { beforeAll, describe, expect, it } from 'vitest';
import { defaultPlan } from '../../src/service/store/access/plan.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
beforeAll(async () => {
  const limits = { ...defaultPlan.limits, agentRuns: 4, assignments: 2 };
  service = await startTestService({ plan: { ...defaultPlan, name: 'trial', limits } });
  agent = await service.agent('- say: hello');
  for (let index = 0; index < 3; index++) await service.until(await service.start(agent), 'completed');
});

describe('billing usage', () => {
  it('prints the resource as JSON', async () => {
    const usage = await service.cli(['billing', 'usage', '--json']);
    expect(usage).toMatchObject({ code: 0, stderr: '' });
    expect(usage.json()).toEqual({
      teamId: service.service.teamId,
      period: { start: expect.stringMatching(/-01T00:00:00.000Z$/), end: expect.stringMatching(/-01T00:00:00.000Z$/) },
      agentRuns: { used: 3, limit: 4, remaining: 1 },
      clarityInterviews: { used: 0, limit: 'unlimited', remaining: 'unlimited' },
      assignments: { used: 1, limit: 2 },
      concurrency: { used: 0, limit: 8 },
    });
    expect(await service.cli(['billing', 'usage', '--jq', '.agentRuns.remaining'])).toMatchObject({ code: 0, stdout: '1\n' });
  });

  it('prints bars on a terminal and figures in a pipe', async () => {
    const result = await service.cli(['billing', 'usage'], { tty: true, env: { NO_COLOR: '1' } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^Period: \d{4}-\d\d-01 to \d{4}-\d\d-01\n\nAgent runs +\[#+\.+\] +3 of 4 +1 left\n/);
    const pipedResult = await service.cli(['billing', 'usage']);
    expect(pipedResult.stdout).toMatch(/^Period\t\S+T00:00:00.000Z\/\S+Z\nAgent runs\t3\t4\t1\nAssignments\t1\t2\t1\n/);
  });

  it('fails above the share and names the limits', async () => {
    const overLimitResult = await service.cli(['billing', 'usage', '--fail-over', '74']);
    expect(overLimitResult.code).toBe(6);
    expect(overLimitResult.stdout).toContain('Agent runs\t3\t4\t1\n');
    expect(overLimitResult.stderr).toContain('error: More than 74% is used: Agent runs 3 of 4.');
    const jsonResult = await service.cli(['billing', 'usage', '--fail-over', '40', '--json']);
    expect(jsonResult.code).toBe(6);
    expect(jsonResult.json()).toMatchObject({ agentRuns: { used: 3 } });
    expect((JSON.parse(jsonResult.stderr) as { error: object }).error).toMatchObject({
      code: 'usage_over',
      exit: 6,
      message: 'More than 40% is used: Agent runs 3 of 4, Assignments 1 of 2.',
    });
    // The exact share does not exceed it, and figures without a limit never do.
    expect((await service.cli(['billing', 'usage', '--fail-over', '75'])).code).toBe(0);
    const refusal = await service.cli(['billing', 'usage', '--fail-over', '80%']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('--fail-over must be a whole number, 0 to 100, not "80%".');
  });
});

it('shows the entitlements', async () => {
  const result = await service.cli(['billing', 'entitlements']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toMatch(/^Plan\ttrial\nProducts\tlocal-service\nFeatures\tteams, .*\nRuns at a time\t8\nRuns counted\tstarted\n$/);
  expect((await service.cli(['billing', 'entitlements', '--json'])).json()).toMatchObject({ plan: 'trial', maxConcurrentRuns: 8 });
});

it('lists the plugin catalogue', async () => {
  const listResult = await service.cli(['plugins', 'list']);
  expect(listResult).toMatchObject({ code: 0, stderr: '' });
  expect(listResult.stdout).toMatch(/^script\truntime\t/);
  expect(listResult.stdout).toContain('script.exec\tstep\tRuns a shell command');
  const runtimes = await service.cli(['plugins', 'list', '--jq', '.data[] | select(.type == "runtime") | .name']);
  expect(runtimes.stdout.split('\n')).toContain('script');
});

it('says what to do when the limit of the plan is reached', async () => {
  await service.start(agent);
  const refusal = await service.cli(['runs', 'start', '--agent', agent, '--json']);
  expect(refusal).toMatchObject({ code: 5, stdout: '' });
  const { error } = JSON.parse(refusal.stderr) as { error: { code: string; hint: string; message: string } };
  expect(error).toMatchObject({ code: 'plan_limit_reached', hint: 'See your usage with `aops billing usage`.' });
  expect(error.message).toMatch(/^The plan "trial" allows 4 runs a month, and that limit has been reached; more can be started from /);
});
