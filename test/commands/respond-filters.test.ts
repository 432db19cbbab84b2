/** `runs respond` with filters: which requests get the answer, and which are skipped. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../src/cli/kit/context.ts';
import type { Client } from '../../src/client/client.ts';
import { checkUnchanged, shapeOf } from '../../src/commands/runs/respond-many.ts';
import { failureOf } from '../client/harness.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const approval = '- approve: { id: pay, title: "Pay {{ message }}?", on_deny: continue }';

async function waitingRuns(agent: string, ...messages: string[]): Promise<string[]> {
  const runs: string[] = [];
  for (const message of messages) runs.push(await service.start(agent, message));
  for (const run of runs) await service.until(run, 'waiting');
  return runs;
}
const statusOf = async (run: string) => (await service.get(run)).run.status;

it('an approval and a question never have the same shape', () => {
  const request = { id: 'q', title: 'Pay?', description: null, created_at: '2026-01-01T00:00:00Z' };
  expect(shapeOf({ ...request, type: 'approval' })).not.toBe(shapeOf({ ...request, type: 'question' }));
});

it('a question that accepts several options has another shape, whether the service says so for all questions or not', () => {
  const shape = (multi_select?: boolean) => {
    const questions = [{ question: 'Which?', ...(multi_select === undefined ? {} : { multi_select }) }];
    return shapeOf({ id: 'q', title: 'Q', description: null, created_at: '2026-01-01T00:00:00Z', type: 'question', questions });
  };
  expect(shape()).toBe(shape(false));
  expect(shape()).not.toBe(shape(true));
});

describe('runs respond with filters', () => {
  it('shows the matching requests, and answers them when that was confirmed', async () => {
    const [agent, other] = [await service.agent(approval), await service.agent(approval)];
    const runs = await waitingRuns(agent, 'one', 'two');
    const [otherRun] = (await waitingRuns(other, 'three')) as [string];
    const argv = ['runs', 'respond', '--agent', agent, '--approve'];
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`2 requests:\n  ${runs[0]}  Pay one?\n  ${runs[1]}  Pay two?\n`);
    expect(refusal.stderr).toContain('Pass --yes to confirm.');
    expect(await Promise.all(runs.map(statusOf))).toEqual(['waiting', 'waiting']);
    const result = await service.cli([...argv, '--yes', '--jq', '.data[].run_id']);
    expect(result.code).toBe(0);
    expect(result.stdout).toBe(`${runs.join('\n')}\n`);
    for (const run of runs) await service.until(run, 'completed');
    expect(await statusOf(otherRun)).toBe('waiting');
    expect((await service.cli([...argv, '--yes', '--json'])).json()).toMatchObject({ data: [], total: 0 });
    // An approval that is not old enough, or a question, does not match.
    expect((await service.cli(['runs', 'respond', '--older-than', '1h', '--approve', '--yes', '--json'])).json()).toMatchObject({
      data: [],
    });
    expect((await service.cli(['runs', 'respond', '--agent', other, '--answer', 'x', '--yes', '--json'])).json()).toMatchObject({
      data: [],
    });
    expect(await statusOf(otherRun)).toBe('waiting');
  });

  it('answers only the runs of the cases of a queue', async () => {
    await service.cli(['queues', 'create', 'invoices']);
    const agent = await service.agent('- approve: { id: pay, title: "Pay the case?" }\n- complete_case: yes', 'case-payer');
    await service.cli(['agents', 'triggers', 'create', 'case-payer', '--queue', 'invoices']);
    await service.cli(['cases', 'create', 'invoices', 'March']);
    const [other] = (await waitingRuns(agent, 'April')) as [string];
    await eventually('the run of the case', async () => {
      const { data } = (await service.cli(['inbox', '--queue', 'invoices', '--json'])).json<{ data: object[] }>();
      return data.length === 1;
    });
    const result = await service.cli(['runs', 'respond', '--queue', 'invoices', '--approve', '--yes', '--jq', '.data | length']);
    expect(result).toMatchObject({ code: 0, stdout: '1\n' });
    expect(await statusOf(other)).toBe('waiting');
  });

  it('skips a request that was replaced after it was shown', async () => {
    const agent = await service.agent(`${approval}\n- approve: { id: again, title: "Really pay {{ message }}?" }`);
    const [run] = (await waitingRuns(agent, 'four')) as [string];
    const { run: shownRun, request } = await service.get(run);
    if (request === null) throw new Error('the run has no request');
    const client = {
      call: () => service.api('GET', `/runs/${run}`),
    } as unknown as Pick<Client, 'call'>;
    const context = {} as Context;
    await checkUnchanged(context, client, { run: shownRun, request });
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
    await eventually('the next request', async () => (await service.get(run)).request?.title.startsWith('Really'));
    expect(await failureOf(checkUnchanged(context, client, { run: shownRun, request }))).toMatchObject({
      code: 'request_changed',
      exit: 6,
    });
    const changed = { ...request, ...(await service.get(run)).request, description: 'another amount' };
    expect(await failureOf(checkUnchanged(context, client, { run: shownRun, request: changed }))).toMatchObject({
      code: 'request_changed',
    });
  });

  it.each([
    [['1', '--agent', 'x', '--approve'], 'Filters cannot be combined with runs or --request.'],
    [['--agent', 'x'], 'No answer was specified.'],
    [['--approve'], 'No runs were specified.'],
  ])('rejects %j', async (flags, problem) => {
    const result = await service.cli(['runs', 'respond', ...flags]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(problem);
  });
});
