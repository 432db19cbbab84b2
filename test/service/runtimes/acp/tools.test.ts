/** What the agent of a run can do with the tools of its run, at the MCP endpoint of the service. */
import { describe, expect, it } from 'vitest';
import type { Case, Run } from '../../../../src/interface/types.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { type AgentFields, AgentMachine } from '../../helpers/agent-machine.ts';
import { config } from '../../helpers/service.ts';
import { type Element, promptOf, reports, resultsOf, type ToolResult, tool, toolAgent } from '../../helpers/tool-agent.ts';

const refusal = (error: string) => expect.objectContaining({ isError: true, structuredContent: expect.objectContaining({ error }) });

interface CaseDraft {
  title: string;
  data?: string;
}

/** Lets an agent work on a case of the queue "invoices". Returns when the run has ended or waits. */
async function runOnCase(machine: AgentMachine, fields: AgentFields, draft: CaseDraft): Promise<{ caseId: string; run: Run }> {
  const { api } = machine;
  const { queue } = await api.ok('createQueue', { body: { name: 'invoices' } });
  const definition = JSON.stringify({ version: 1, ...fields });
  const { agent } = await api.ok('createAgent', { body: { name: 'Clerk', build: { name: 'first', config: config(definition, 'acp') } } });
  await api.ok('createAgentCaseTrigger', { params: { agent_id: agent.id }, body: { case_queue_id: queue.id, enabled: true } });
  const body = { case: { ...draft, priority: 'high' as const, labels: [{ key: 'vendor', value: 'Acme' }] } };
  const { added_cases: added } = await api.ok('createCases', { params: { queue_id: queue.id }, body });
  const caseId = added[0]?.id as string;
  let runId: string | null = null;
  while (runId === null) runId = (await api.ok('getCase', { params: { case_id: caseId } })).case.claimed_by_run_id;
  return { caseId, run: await machine.until(runId, 'waiting', 'completed', 'failed') };
}

/** Lets an agent use tools while it works on a case, and returns what it reported. */
async function onCase(
  machine: AgentMachine,
  elements: Element[],
  draft: CaseDraft = { title: 'Check invoice 411' },
): Promise<{ case: Case; run: Run; results: ToolResult[] }> {
  // The case is what the agent is prompted with, so what it does is part of the instructions.
  const { caseId, run } = await runOnCase(machine, { ...toolAgent, instructions: promptOf(elements) }, draft);
  expect(run).toMatchObject({ status: 'completed', error: null });
  const { case: finishedCase } = await machine.api.ok('getCase', { params: { case_id: caseId } });
  return { case: finishedCase, run, results: await reports(machine, run) };
}

describe('the tools of a run', () => {
  it('are listed without those for a case if the run has none', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.run(toolAgent, promptOf([{ method: 'tools/list' }]));
    const [list] = await reports<{ tools: { name: string }[] }>(machine, run);
    expect(list?.tools.map(({ name }) => name)).toEqual([
      ...['create_case', 'list_memory', 'read_memory', 'remember'],
      ...['create_artifact', 'change_artifact', 'get_artifact'],
    ]);
  });

  it('refuse what they cannot do, and say what to do instead', async () => {
    const machine = await AgentMachine.start();
    const { results } = await resultsOf(
      machine,
      ...[tool('complete_case'), tool('get_case'), tool('create_case', { queue: 'nowhere', title: 'Lost' })],
      ...[tool('create_case', { queue: 'nowhere' }), tool('postpone_case', { for: '1h', until: '2999-01-01' })],
      ...[
        tool('postpone_case', { until: '2001-01-01' }),
        tool('postpone_case', { for: 'soon' }),
        tool('remember', { path: '../x', content: '' }),
      ],
      ...[tool('read_memory', { path: 'none.md' }), tool('get_artifact', { artifact_id: '00000000-0000-4000-8000-000000000001' })],
    );
    expect(results).toEqual(
      [
        ...['run_has_no_case', 'run_has_no_case', 'queue_not_found', 'invalid_request', 'invalid_time', 'invalid_time', 'invalid_time'],
        ...['invalid_memory_path', 'memory_file_not_found', 'artifact_not_found'],
      ].map(refusal),
    );
    expect(results[2]?.content[0]?.text).toBe(
      'queue_not_found: There is no queue "nowhere". Use a queue that your instructions name, or say that it is missing.',
    );
  });

  it('read the case of the run, and complete it', async () => {
    const machine = await AgentMachine.start();
    const outcome = await onCase(machine, [{ method: 'tools/list' }, tool('get_case'), tool('complete_case', { reason: 'Paid.' })], {
      title: 'Check invoice 411',
      data: '{"amount":120}',
    });
    const [list, read, completed] = outcome.results as [unknown, ToolResult, ToolResult];
    expect((list as { tools: { name: string }[] }).tools.map(({ name }) => name).slice(0, 4)).toEqual([
      ...['get_case', 'complete_case', 'fail_case', 'postpone_case'],
    ]);
    expect(read.structuredContent).toEqual({
      case: {
        ...{ id: outcome.case.id, title: 'Check invoice 411', data: '{"amount":120}', priority: 'high', queue: 'invoices' },
        ...{ labels: [{ key: 'vendor', value: 'Acme' }], createdAt: expect.any(String) },
      },
    });
    expect(read.content[0]?.text).toBe(
      `Case ${outcome.case.id} in the queue invoices: Check invoice 411\nPriority: high\nLabels: vendor: Acme\nData:\n{"amount":120}`,
    );
    expect(completed.structuredContent).toEqual({ case_id: outcome.case.id, status: 'completed' });
    expect(outcome.case).toMatchObject({ display_status: 'completed', claimed_by_run_id: outcome.run.id });
    expect(await machine.texts(outcome.run, 'notice')).toEqual(['The agent completed the case: "Paid."']);
  });

  it('fail the case of the run once', async () => {
    const machine = await AgentMachine.start();
    const outcome = await onCase(machine, [tool('fail_case', { reason: 'No such vendor.' }), tool('complete_case')]);
    expect(outcome.case).toMatchObject({ display_status: 'failed' });
    expect(outcome.results[1]).toEqual(refusal('case_is_done'));
  });

  it('postpone the case of the run, which then belongs to its queue', async () => {
    const machine = await AgentMachine.start();
    const outcome = await onCase(machine, [tool('postpone_case', { until: '2999-07-18', reason: 'Too early.' }), tool('complete_case')]);
    expect(outcome.case).toMatchObject({ display_status: 'postponed', postponed_to: '2999-07-18T00:00:00.000Z' });
    expect(outcome.results[1]).toEqual(refusal('case_lost'));
  });

  it('create cases that name the run which created them', async () => {
    const machine = await AgentMachine.start();
    const { queue } = await machine.api.ok('createQueue', { body: { name: 'payments' } });
    const draft = { title: 'Pay invoice 411', data: '120 EUR', priority: 'medium', labels: [{ key: 'vendor', value: 'Acme' }] };
    const { run, results } = await resultsOf(machine, tool('create_case', { queue: 'payments', ...draft }));
    const { cases } = await machine.api.ok('searchCases', { params: { queue_id: queue.id }, body: {} });
    expect(cases).toMatchObject([{ id: results[0]?.structuredContent.id, title: 'Pay invoice 411', data: '120 EUR', priority: 'medium' }]);
    const { events } = await machine.api.ok('getCase', { params: { case_id: cases[0]?.id as string } });
    expect(JSON.stringify(events)).toContain(run.id);
    expect(await machine.texts(run, 'notice')).toEqual(['The agent created the case "Pay invoice 411" in the queue "payments".']);
  });

  it('remember what later runs can read', async () => {
    const machine = await AgentMachine.start();
    const { run, results } = await resultsOf(
      machine,
      tool('list_memory'),
      tool('remember', { path: 'notes.md', content: 'Acme pays late.' }),
      tool('remember', { path: 'notes.md', content: 'Ask Ada.', append: true }),
    );
    expect(results.map((result) => result.structuredContent)).toEqual([
      ...[{ files: [] }, { path: 'notes.md', bytes: 15 }, { path: 'notes.md', bytes: 24 }],
    ]);
    const body = { agent_id: run.agent_id as string, message: promptOf([tool('list_memory'), tool('read_memory', { path: 'notes.md' })]) };
    const { run: later } = await machine.api.ok('startRun', { body });
    await machine.until(later.id, 'completed');
    const [list, content] = await reports(machine, later);
    expect(list?.structuredContent).toEqual({ files: [{ path: 'notes.md', bytes: 24 }] });
    expect(content?.content[0]?.text).toBe('Acme pays late.\nAsk Ada.');
  });

  it('do not write to a memory that is turned off', async () => {
    const machine = await AgentMachine.start();
    const { run } = await resultsOf(machine);
    await machine.api.ok('updateAgent', { params: { agent_id: run.agent_id as string }, body: { agentic_memory_enabled: false } });
    await machine.api.ok('postRunMessage', {
      params: { run_id: run.id },
      body: { message: promptOf([tool('remember', { path: 'a.md', content: 'x' })]) },
    });
    await machine.until(run.id, 'completed');
    expect(await reports(machine, run)).toEqual([refusal('memory_off')]);
  });

  it('create and change pages for the team, without showing their figures to the agent', async () => {
    const machine = await AgentMachine.start();
    const { run, results } = await resultsOf(machine, tool('create_artifact', { message: 'title "The week"; runs by status' }));
    const { id } = (results[0] as ToolResult).structuredContent.artifact as { id: string };
    const params = { artifactId: id };
    const readArtifact = async () => (await machine.api.ok('getArtifact', { params })).artifact;
    let artifact = await readArtifact();
    while (artifact.status !== 'completed') artifact = await readArtifact();
    expect(await machine.texts(run, 'notice')).toEqual(['The agent created an artifact: title "The week"; runs by status']);
    expect(artifact).toMatchObject({ created_by_user_id: run.id, title: 'The week', visibility: 'team', publish_permission: 'edit' });
    const more = [tool('get_artifact', { artifact_id: id }), tool('change_artifact', { artifact_id: id, message: 'chart of runs' })];
    await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: promptOf(more) } });
    await machine.until(run.id, 'completed');
    const [state, changed] = await reports(machine, run);
    expect(state?.structuredContent.artifact).toEqual({
      ...{ id, title: 'The week', status: 'completed', questions: [] },
      reply: 'The title is "The week".\nAdded "Runs by status" as a bar chart.',
    });
    expect(changed?.content[0]?.text).toBe(`Changing artifact ${id}. Check the outcome with get_artifact.`);

    // The description was ambiguous. The agent describes again what it wants.
    while ((await readArtifact()).status !== 'running') await new Promise((resolve) => setImmediate(resolve));
    const last = [tool('get_artifact', { artifact_id: id }), tool('change_artifact', { artifact_id: id, message: 'add usage' })];
    await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: promptOf(last) } });
    await machine.until(run.id, 'completed');
    const [questionResult, finalResult] = await reports(machine, run);
    expect(questionResult?.content[0]?.text).toContain('is ambiguous');
    expect(finalResult?.isError).toBeUndefined();
  });

  it('do not reach an artifact that a person has created', async () => {
    const machine = await AgentMachine.start();
    const { artifact_id } = await machine.api.ok('createArtifact', { body: { message: 'runs' } });
    const artifactId = artifact_id;
    await machine.api.ok('publishArtifact', { params: { artifactId }, body: { visibility: 'team', permission: 'edit' } });
    const { results } = await resultsOf(
      machine,
      ...[tool('get_artifact', { artifact_id }), tool('change_artifact', { artifact_id, message: 'start over' })],
    );
    expect(results).toEqual([refusal('artifact_not_found'), refusal('artifact_not_found')]);
  });

  it('repeat no change that an earlier process of the turn has made', async () => {
    const machine = await AgentMachine.start();
    const { queue } = await machine.api.ok('createQueue', { body: { name: 'payments' } });
    const create = tool('create_case', { queue: 'payments', title: 'Pay' });
    const append = tool('remember', { path: 'log.md', content: 'once', append: true });
    const run = await machine.run(toolAgent, promptOf([create, append, create, { ask: 'Hello' }, create]));
    expect(run).toMatchObject({ status: 'waiting' });
    const titles = async () =>
      (await machine.api.ok('searchCases', { params: { queue_id: queue.id }, body: {} })).cases.map(({ id }) => id);
    const before = await titles();
    // A call that the same process repeats is meant.
    expect(before).toHaveLength(2);
    await machine.restart();
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    const results = await reports(machine, run);
    expect([results[0], results[2]].map((result) => result?.structuredContent.id).sort()).toEqual(before.toSorted());
    // Each result of the earlier process is returned once, so the last call created a third case.
    expect(await titles()).toHaveLength(3);
    const memory = await machine.api.ok('getAgentMemoryFile', { params: { agent_id: run.agent_id as string, path: 'log.md' } });
    expect(memory.content).toBe('once');
  });

  it('are missing for an agent that cannot reach them, which a notice says if it works on a case', async () => {
    const machine = await AgentMachine.start();
    const { run } = await runOnCase(machine, { command: misbehaving('no-http') }, { title: 'Check invoice 411' });
    expect(await machine.texts(run, 'notice')).toEqual([
      'Misbehaving agent 1.2.3 has no tools for its case, for its memory, and for artifacts: it does not support MCP servers over HTTP.',
    ]);
    const otherRun = await machine.run({ command: misbehaving('no-http') }, 'Hello');
    expect(await machine.texts(otherRun, 'notice')).toEqual([]);
  });
});
