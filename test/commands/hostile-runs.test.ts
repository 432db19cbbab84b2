/** Several runs of a service that sends hostile text: no sequence of it reaches the terminal, and the failure of one run is reported. */
import { beforeAll, describe, expect, it } from 'vitest';
import { answerWith, type ForeignRoutes, ForeignService } from '../support/foreign-service.ts';
import { expectHarmless, expectNoFakeHint, hostileText } from '../support/hostile-text.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const idOf = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
const [team, agent, first, second] = [idOf(1), idOf(2), idOf(3), idOf(4)];
const timestamp = '2026-07-18T09:30:00Z';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const cli = (service: ForeignService, argv: string[], stdin?: string): Promise<CliResult> =>
  runCli(argv, { ...service.optionsIn(folder, team as string), ...(stdin === undefined ? {} : { stdin }) });

const runOf = (id: string, status: string) => ({
  ...{ id, run_number: Number(id.at(-1)), agent_id: agent, status, title: hostileText, error: null, source: null },
  ...{ created_at: timestamp, started_at: timestamp, completed_at: null, updated_at: timestamp },
});
const request = { id: idOf(9), type: 'approval', title: hostileText, description: hostileText, created_at: timestamp };

/** Routes of a service with two runs. @param read the answer to a request for one of them */
const routesOf = (read: ForeignRoutes[string]): ForeignRoutes => ({
  'GET /v2/teams/:team/runs': () => ({
    data: [first, second].map((id) => ({ ...runOf(id as string, 'waiting'), agent_name: hostileText })),
    total: 2,
  }),
  'GET /v2/runs/:id': read,
  'GET /v2/runs/:id/messages': () => ({ messages: [], total: 0, limit: 50, offset: 0 }),
  'GET /v2/teams/:team/agents': () => ({ agents: [{ id: agent, name: hostileText }], total: 1 }),
});

describe.each([['watch'], ['wait']])('runs %s', (command) => {
  it('names runs and their failures in harmless text', async () => {
    const service = await ForeignService.start(
      routesOf((_, id) =>
        id === first ? answerWith(403, { error: 'forbidden', message: hostileText }) : { run: runOf(id as string, 'failed') },
      ),
    );
    const { code, stdout, stderr } = await cli(service, ['runs', command, first as string, second as string]);
    expect(code).toBe(5);
    expect(stderr).toContain('plain');
    expectHarmless(stdout + stderr);
    expectNoFakeHint(stdout + stderr);
  });
});

it('runs watch prefixes lines with harmless names of agents, from the list or not', async () => {
  const service = await ForeignService.start({
    ...routesOf((_, id) => ({ run: runOf(id as string, 'completed'), pending_human_request: null })),
    'GET /v2/runs/:id/messages': () => ({
      messages: [{ id: idOf(8), type: 'message', role: 'assistant', text_content: 'said', timestamp }],
      ...{ total: 1, limit: 50, offset: 0 },
    }),
  });
  for (const selection of [
    [first as string, second as string],
    ['--all', '--no-new'],
  ]) {
    const { stdout, stderr } = await cli(service, ['runs', 'watch', ...selection, '--on-request', 'fail']);
    expect(stdout).toMatch(/plain.*#3 +\| said/);
    expectHarmless(stdout + stderr);
  }
  service.routes['GET /v2/teams/:team/runs'] = () => ({ data: [], total: 0 });
  service.routes['GET /v2/teams/:team/agents'] = () => ({ agents: [], total: 0 });
  const { stdout } = await cli(service, ['runs', 'watch', first as string, second as string]);
  expect(stdout).toMatch(/^#3 \| said\n/m);
});

describe('runs respond to several runs', () => {
  it.each([
    ['a reason', 'approval', ['--deny', '--reason', hostileText]],
    ['an answer', 'question', ['--answer', `Which?=${hostileText}`]],
  ])('shows their requests and %s in harmless text', async (_, type, flags) => {
    const questions = [{ question: 'Which?' }];
    const asked = { ...request, type, ...(type === 'question' && { questions }) };
    const service = await ForeignService.start(
      routesOf((_, id) => ({ run: runOf(id as string, 'waiting'), pending_human_request: asked })),
    );
    const { code, stderr } = await cli(service, ['runs', 'respond', first as string, second as string, ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('2 requests:')]);
    expectHarmless(stderr);
    expectNoFakeHint(stderr);
  });

  it('returns the description of a request that could not be answered', async () => {
    const service = await ForeignService.start({
      ...routesOf((_, id) => ({ run: runOf(id as string, 'waiting'), pending_human_request: { ...request, description: 'Why' } })),
      'POST /v2/runs/:id/human-requests/:request/respond': () => answerWith(409, { error: 'conflict', message: 'No.' }),
    });
    const { code, json } = await cli(service, ['runs', 'respond', first as string, second as string, '--approve', '--yes', '--json']);
    expect([code, json<{ data: object[] }>().data]).toMatchObject([6, [{ description: 'Why' }, { description: 'Why' }]]);
  });
});

it('runs watch continues with the others if a run whose request was reported before cannot be read any more', async () => {
  let isGone = false;
  const service = await ForeignService.start(
    routesOf((_, id) => {
      if (isGone && id === first) return answerWith(404, { error: 'run_not_found', message: 'Gone.' });
      const status = isGone ? 'completed' : 'waiting';
      return { run: runOf(id as string, status), pending_human_request: isGone ? null : { ...request, title: 'Pay?' } };
    }),
  );
  service.routes['GET /v2/teams/:team/runs'] = () => ({
    data: isGone ? [{ ...runOf(second as string, 'completed'), agent_name: 'payer' }] : [],
    total: Number(isGone),
  });
  const argv = ['runs', 'watch', first as string, second as string, '-o', 'ndjson'];
  const { stdout } = await cli(service, argv);
  const { resume } = JSON.parse(stdout.trim().split('\n').at(-1) as string) as { resume: string };
  isGone = true;
  const { code, stdout: rest, stderr } = await cli(service, [...argv, '--resume', resume]);
  expect([code, rest]).toEqual([3, expect.stringContaining('run.finished')]);
  expect(stderr).toContain('cannot be watched');
});

it('runs watch ends if an answer from the answers file is refused', async () => {
  const service = await ForeignService.start({
    ...routesOf((_, id) => ({ run: runOf(id as string, 'waiting'), pending_human_request: { ...request, title: 'Pay?' } })),
    'POST /v2/runs/:id/human-requests/:request/respond': () => answerWith(403, { error: 'forbidden', message: 'Not you.' }),
  });
  const argv = ['runs', 'watch', first as string, second as string, '--answers', '-', '--json'];
  const { code, stderr } = await cli(service, argv, 'approvals: { "Pay?": true }\n');
  expect([code, stderr]).toEqual([5, expect.stringContaining('Not you.')]);
});
