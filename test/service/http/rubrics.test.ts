/** Evaluation rubrics, and the evaluations of runs that have ended. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EvaluationSummary, Rubric } from '../../../src/interface/types.ts';
import type { RubricResult } from '../../../src/service/evaluation/evaluate.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { type Behaviour, Gate, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';
import { inStore } from '../helpers/stored.ts';

const startApi = covers('rubrics');
const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];
const service = ({ behaviours = {}, ...options }: TestOptions & { behaviours?: Record<string, Behaviour> } = {}): Promise<Api> =>
  startApi({
    clock: new ManualClock(),
    ...options,
    runtimes: [scriptRuntime, testRuntime({ done: async () => ({ status: 'completed' }), ...behaviours })],
  });

async function agent(api: Api, ...steps: string[]): Promise<string> {
  const input = `version: 1\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`;
  const { agent: createdAgent } = await api.ok('createAgent', {
    body: { name: `A ${randomUUID()}`, build: { name: 'b', config: config(input, 'script') } },
  });
  return createdAgent.id;
}

const rubric = async (api: Api, agentId: string, title: string, description: string, build?: string): Promise<Rubric> =>
  (
    await api.ok('createEvalRubric', {
      params: { agentId },
      body: { title, description, ...(build === undefined ? {} : { build_id: build }) },
    })
  ).rubric;

const start = async (api: Api, agentId: string): Promise<string> => (await api.ok('startRun', { body: { agent_id: agentId } })).run.id;

type Detail = EvaluationSummary & { results: RubricResult[] };

/** The evaluation of a run, once it exists. */
async function untilEvaluated(api: Api, runId: string): Promise<Detail> {
  for (;;) {
    const { run } = await api.ok('getRun', { params: { run_id: runId } });
    const { eval_summaries } = await api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId } });
    const detail = eval_summaries as unknown as Detail;
    if (detail.status !== undefined && detail.status !== 'in_progress') return detail;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const summaryOf = async (api: Api, runId: string) => (await api.ok('listRuns')).data.find(({ id }) => id === runId)?.eval_summaries;

const description = 'The final message contains "paid".';

describe('rubrics', () => {
  it('are created, listed in order, changed, and deleted, and show how they are understood', async () => {
    const api = await service();
    const agentId = await api.agent();
    const first = await rubric(api, agentId, 'Says it was paid!', `Critical: the final message contains "paid" and the tone is kind.`);
    expect(first).toEqual({
      id: expect.any(String),
      slug: 'says-it-was-paid',
      title: 'Says it was paid!',
      description: 'Critical: the final message contains "paid" and the tone is kind.',
      sort_order: 1,
      deleted_at: null,
      severity: 'critical',
      checks: ['final message contains "paid"'],
      unclear: ['the tone is kind'],
    });
    const second = await rubric(api, agentId, 'No errors', 'No tool call failed at any time. No tool call failed.');
    const rubricList = await api.ok('getEvalRubrics', { params: { agentId } });
    expect(rubricList.rubrics).toEqual([first, second]);
    expect(rubricList.platform_rubrics.map(({ key, cause }) => [key, cause])).toEqual([
      ['run_failed', 'agent'],
      ['tool_error', 'tool'],
      ['run_stopped', 'person'],
      ['approval_denied', 'person'],
    ]);

    const params = { agentId, rubricId: first.id };
    const { rubric: changedRubric } = await api.ok('updateEvalRubric', {
      params,
      body: { title: 'Paid', description: `Low: ${description}` },
    });
    expect(changedRubric).toMatchObject({ id: first.id, slug: first.slug, title: 'Paid', severity: 'low', unclear: [] });
    expect(await api.ok('deleteEvalRubric', { params })).toEqual({ success: true });
    expect((await api.ok('getEvalRubrics', { params: { agentId } })).rubrics).toEqual([second]);
    expect(failure(await api.call('deleteEvalRubric', { params }))).toEqual([404, 'rubric_not_found']);
    // Its title can be used again.
    await rubric(api, agentId, 'Says it was paid', description);
  });

  it('are replaced as a whole, except that one with the same title is kept', async () => {
    const api = await service();
    const agentId = await api.agent();
    const retainedRubric = await rubric(api, agentId, 'Kept one', description);
    await rubric(api, agentId, 'Gone one', description);
    const drafts = [
      { title: 'New one', description },
      { title: 'kept ONE', description: `Low: ${description}` },
    ];
    const replacement = await api.ok('replaceEvalRubrics', { params: { agentId }, body: { rubrics: drafts } });
    expect(replacement.rubrics.map(({ slug, sort_order, severity }) => [slug, sort_order, severity])).toEqual([
      ['new-one', 1, 'medium'],
      ['kept-one', 2, 'low'],
    ]);
    expect(replacement.rubrics[1]?.id).toBe(retainedRubric.id);
    expect(replacement.platform_rubrics).toHaveLength(4);
    const duplicateBody = { rubrics: [drafts[0], { title: 'NEW one!', description }] };
    expect(failure(await api.call('replaceEvalRubrics', { params: { agentId }, body: duplicateBody }))).toEqual([400, 'rubric_repeated']);
    expect((await api.ok('getEvalRubrics', { params: { agentId } })).rubrics).toEqual(replacement.rubrics);
    expect((await api.ok('replaceEvalRubrics', { params: { agentId }, body: { rubrics: [] } })).rubrics).toEqual([]);
  });

  it('are distinguished by their titles, even after one was renamed', async () => {
    const api = await service();
    const agentId = await api.agent();
    const [first, second] = [await rubric(api, agentId, 'Says paid', description), await rubric(api, agentId, 'Other', description)];
    const rename = (title: string) => ({ params: { agentId, rubricId: second.id }, body: { title } });
    expect(failure(await api.call('updateEvalRubric', rename('says PAID!')))).toEqual([409, 'rubric_exists']);
    await api.ok('updateEvalRubric', rename('OTHER'));
    await api.ok('updateEvalRubric', rename('Renamed'));
    // The title can be used again, but not the slug, by which results refer to the renamed rubric.
    const third = await rubric(api, agentId, 'Other', description);
    expect([second.slug, third.slug]).toEqual(['other', 'other-2']);

    const ids = [first.id, second.id, third.id];
    const rubricList = (await api.ok('getEvalRubrics', { params: { agentId } })).rubrics;
    const drafts = rubricList.map(({ title }) => ({ title, description }));
    const sameReplacement = await api.ok('replaceEvalRubrics', { params: { agentId }, body: { rubrics: drafts } });
    expect(sameReplacement.rubrics.map(({ id }) => id)).toEqual(ids);
    const shorterBody = { rubrics: [{ title: 'Renamed', description }] };
    await api.ok('replaceEvalRubrics', { params: { agentId }, body: shorterBody });
    const longerBody = { rubrics: [{ title: 'Other', description }, ...shorterBody.rubrics] };
    const { rubrics } = await api.ok('replaceEvalRubrics', { params: { agentId }, body: longerBody });
    expect(rubrics.map(({ id, slug }) => [id === second.id, slug])).toEqual([
      [false, 'other-2'],
      [true, 'other'],
    ]);
  });

  it('can belong to one revision', async () => {
    const api = await service();
    const agentId = await api.agent();
    const { builds } = await api.ok('listAgentRevisions', { params: { agent_id: agentId } });
    const buildId = builds[0]?.id as string;
    const revisionRubric = await rubric(api, agentId, 'Same title', description, buildId);
    await rubric(api, agentId, 'Same title', description);
    expect((await api.ok('getEvalRubrics', { params: { agentId }, query: { build_id: buildId } })).rubrics).toEqual([revisionRubric]);
    expect((await api.ok('getEvalRubrics', { params: { agentId } })).rubrics.map(({ id }) => id)).not.toContain(revisionRubric.id);
    const otherAgent = await api.agent('done', 'Other');
    expect(failure(await api.call('getEvalRubrics', { params: { agentId: otherAgent }, query: { build_id: buildId } }))).toEqual([
      404,
      'revision_not_found',
    ]);
  });

  it('are rejected if they are invalid', async () => {
    const api = await service();
    const agentId = await api.agent();
    await rubric(api, agentId, 'Paid it', description);
    const call = (body: object) => api.call('createEvalRubric', { params: { agentId }, body });
    expect(failure(await call({ title: 'PAID it?', description }))).toEqual([409, 'rubric_exists']);
    for (const body of [
      { title: 'ab', description },
      { title: 'abc', description: 'too short' },
      { title: 'abc', description: 'x'.repeat(401) },
    ])
      expect(failure(await call(body))).toEqual([400, 'invalid_request']);
    const manyRubrics = Array.from({ length: 100 }, (_, index) => ({ title: `Rubric ${index}`, description }));
    const replace = (count: number) =>
      api.call('replaceEvalRubrics', { params: { agentId }, body: { rubrics: manyRubrics.slice(0, count) } });
    expect(await replace(6)).toMatchObject({ status: 400, body: { message: 'rubrics must have at most 5 items.' } });
    expect((await replace(5)).status).toBe(200);
    for (const draft of manyRubrics.slice(5)) await api.ok('createEvalRubric', { params: { agentId }, body: draft });
    expect(failure(await call({ title: 'One more', description }))).toEqual([400, 'too_many_rubrics']);
    const unknownId = randomUUID();
    expect(failure(await api.call('getEvalRubrics', { params: { agentId: unknownId } }))).toEqual([404, 'agent_not_found']);
    expect(failure(await api.call('updateEvalRubric', { params: { agentId, rubricId: unknownId }, body: {} }))).toEqual([
      404,
      'rubric_not_found',
    ]);
  });
});

describe('an evaluation', () => {
  it('has the result of each rubric in the detail, and a summary in the list', async () => {
    const api = await service({ exec: 'host' });
    const agentId = await agent(
      api,
      'write: { path: out/report.md, content: "Total 3" }',
      'exec: { run: "exit 3", on_error: continue }',
      'approve: { id: pay, title: "Pay?", on_deny: continue }',
      'say: "Invoice paid."',
    );
    await rubric(api, agentId, 'Paid', 'Critical: the final message contains "refused".');
    await rubric(api, agentId, 'Report', 'The file /workspace/out/report.md exists. The file out/report.md contains "total 3".');
    await rubric(api, agentId, 'Approved', 'A person approved "Pay" and it took less than 5m (low).');
    await rubric(api, agentId, 'Tone', 'The tone of the answer is kind.');
    const runId = await start(api, agentId);
    await api.until(runId, 'waiting');
    expect(await summaryOf(api, runId)).toBeNull();
    const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: runId } });
    await api.ok('respondToHumanRequest', { params: { run_id: runId, request_id: request?.id as string }, body: { approved: true } });
    const { results, ...summary } = await untilEvaluated(api, runId);
    expect(results.map(({ kind, key, severity, status }) => [kind, key, severity, status])).toEqual([
      ['rubric', 'paid', 'critical', 'failed'],
      ['rubric', 'report', 'medium', 'passed'],
      ['rubric', 'approved', 'low', 'passed'],
      ['rubric', 'tone', 'medium', 'undecided'],
      ['platform', 'run_failed', 'critical', 'passed'],
      ['platform', 'tool_error', 'medium', 'failed'],
      ['platform', 'run_stopped', 'low', 'passed'],
      ['platform', 'approval_denied', 'low', 'passed'],
    ]);
    expect(summary).toEqual({
      status: 'ready',
      passed: 5,
      total: 7,
      severityCounts: { critical: 1, medium: 1, low: 0 },
      final_comment: [
        'Failed: Paid (final message contains "refused": the final message is "Invoice paid.").',
        'Failed: No tool call failed (1 call failed: exec: the command failed with exit code 3.).',
        'Not decided: Tone ("The tone of the answer is kind" is not a sentence that can be checked).',
      ].join('\n'),
    });
    expect(await summaryOf(api, runId)).toEqual(summary);
  });

  it('is unavailable if no rubric can be decided, and counts none of them', async () => {
    const api = await service();
    const agentId = await api.agent();
    await rubric(api, agentId, 'Tone', 'The tone of the answer is kind.');
    expect(await untilEvaluated(api, await start(api, agentId))).toMatchObject({
      status: 'unavailable',
      passed: 4,
      total: 4,
      final_comment: expect.stringMatching(/^Not decided: Tone/),
    });
  });

  it('uses the rubrics of the agent and of the executed revision', async () => {
    const api = await service();
    const agentId = await api.agent();
    const { builds } = await api.ok('listAgentRevisions', { params: { agent_id: agentId } });
    await rubric(api, agentId, 'Of the revision', 'The run completed without delay. The run completed.', builds[0]?.id);
    const before = await start(api, agentId);
    await untilEvaluated(api, before);
    const { build } = await api.ok('createRevision', { params: { agent_id: agentId }, body: { name: 'second', config: config('done') } });
    await api.ok('promoteRevision', { params: { build_id: build.id } });
    const ownResults = async (run: string) => (await untilEvaluated(api, run)).results.filter(({ kind }) => kind === 'rubric').length;
    expect([await ownResults(before), await ownResults(await start(api, agentId))]).toEqual([1, 0]);
  });

  it('finds the issues that the platform checks for', async () => {
    const gate = new Gate();
    const api = await service({
      behaviours: {
        fails: async () => ({ status: 'failed', error: 'No.' }),
        asks: async (host) =>
          host.answer('q') ? { status: 'completed' } : { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay?' } },
        hangs: async () => {
          await gate.opened;
          return { status: 'completed' };
        },
      },
    });
    const failedResults = async (run: string) =>
      (await untilEvaluated(api, run)).results.flatMap(({ key, status }) => (status === 'failed' ? [key] : []));
    expect(await failedResults(await start(api, await api.agent('fails')))).toEqual(['run_failed']);
    const askingRun = await start(api, await api.agent('asks'));
    await api.until(askingRun, 'waiting');
    const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: askingRun } });
    await api.ok('respondToHumanRequest', { params: { run_id: askingRun, request_id: request?.id as string }, body: { approved: false } });
    expect(await failedResults(askingRun)).toEqual(['approval_denied']);
    const stoppedRun = await start(api, await api.agent('hangs'));
    await api.until(stoppedRun, 'running');
    await api.ok('stopRun', { params: { run_id: stoppedRun } });
    expect(await failedResults(stoppedRun)).toEqual(['run_stopped']);
    gate.open();
  });

  it('is repeated when an ended run continues, and is in progress until then', async () => {
    let gate = new Gate();
    gate.open();
    const api = await service({
      behaviours: {
        replies: async (host) => {
          await gate.opened;
          await host.commit('say', null, [{ kind: 'text', id: 's', text: host.userMessages.at(-1) ?? '' }]);
          return { status: 'completed' };
        },
      },
    });
    const agentId = await api.agent('replies');
    await rubric(api, agentId, 'Paid', description);
    const { run } = await api.ok('startRun', { body: { agent_id: agentId, message: 'not yet' } });
    expect(await untilEvaluated(api, run.id)).toMatchObject({ passed: 4, severityCounts: { medium: 1 } });
    gate = new Gate();
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'now it is paid' } });
    expect(await summaryOf(api, run.id)).toEqual({
      status: 'in_progress',
      passed: 0,
      total: 0,
      severityCounts: { critical: 0, medium: 0, low: 0 },
    });
    gate.open();
    expect(await untilEvaluated(api, run.id)).toMatchObject({ status: 'ready', passed: 5, total: 5 });
  });

  // Other nodes take over the jobs of a service with Postgres.
  itNeeding(needsSqlite, 'is repeated after a restart if the service ended in the middle of it', async () => {
    const dataDirectory = await temporaryDirectory();
    const api = await service({ dataDirectory });
    const agentId = await api.agent();
    // Without one, the run is evaluated in the transaction in which it ends.
    await rubric(api, agentId, 'Said', 'The final message contains "done".');
    const run = await start(api, agentId);
    await untilEvaluated(api, run);
    await api.service.close();
    // The state that a process leaves when it is killed before the result is written.
    await inStore(dataDirectory, async (db) => {
      await db.updateTable('evaluations').set({ status: 'in_progress', passed: 0, total: 0 }).execute();
      await db.updateTable('jobs').set({ status: 'running', owner: 'dead' }).where('kind', '=', 'evaluate').execute();
    });
    expect(await untilEvaluated(await service({ dataDirectory }), run)).toMatchObject({ status: 'ready', passed: 4 });
  });

  itNeeding(needsSqlite, 'does not guess about files that are gone', async () => {
    const api = await service({
      behaviours: {
        gone: async (host) => {
          await rm(dirname(host.sandbox.directory), { recursive: true });
          return { status: 'completed' };
        },
      },
    });
    const agentId = await api.agent('gone');
    await rubric(api, agentId, 'File', 'The file /workspace/a.md exists.');
    expect(await untilEvaluated(api, await start(api, agentId))).toMatchObject({
      status: 'unavailable',
      final_comment: 'Not decided: File (the files of the run have been removed).',
    });
  });
});

describe('the run list', () => {
  it('can be filtered by issues and their severity', async () => {
    const api = await service({ behaviours: { fails: async () => ({ status: 'failed', error: 'No.' }) } });
    const goodRun = await start(api, await api.agent());
    const badRun = await start(api, await api.agent('fails'));
    const low = await api.agent('done', 'Low');
    await rubric(api, low, 'Paid', `Low: ${description}`);
    const minor = await start(api, low);
    for (const run of [goodRun, badRun, minor]) await untilEvaluated(api, run);
    const ids = async (query: object) => (await api.ok('listRuns', { query })).data.map(({ id }) => id);
    expect(await ids({ has_issues: 'true' })).toEqual([minor, badRun]);
    expect(await ids({ has_issues: 'false' })).toEqual([goodRun]);
    expect(await ids({ issue_severity: 'critical' })).toEqual([badRun]);
    expect(await ids({ issue_severity: 'low' })).toEqual([minor]);
    expect(await ids({ issue_severity: 'medium' })).toEqual([]);
    expect(await ids({ has_issues: 'false', issue_severity: 'low' })).toEqual([]);
    expect(await api.ok('listRuns', { query: { has_issues: 'true', count_only: 'true' } })).toEqual({ data: [], total: 2 });
  });
});
