import { it } from 'vitest';
import type { HumanQuestion, HumanRequest } from '../../../src/interface/types.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { Recording, steps } from './recording.ts';

it('agents, with their revisions, rubrics, schedules, secrets, and memory', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  const { call } = recording;
  const { agent, build } = await call('createAgent', {
    body: {
      name: 'Invoices',
      build: { name: 'first', config: steps('say: Hello', 'remember: { path: notes.md, content: Paid., append: true }') },
    },
  });
  const agents = { agent_id: agent.id };
  const builds = { build_id: build?.id as string };
  const { agent: second } = await call('createAgent', { body: { name: 'Reports', source_build_id: builds.build_id } });
  await call('createAgent', { body: { name: 'invoices' } });
  await call('createAgent', { body: { name: 'Drafts' } });
  await call('updateAgent', { params: agents, body: { name: 'Payables', pinned: true, slack_enabled: true } });
  await call('updateAgent', { params: { agent_id: second.id }, body: { agentic_memory_enabled: false, thread_id: null } });
  await call('getAgent', { params: agents });

  // Revisions.
  const draft = await call('createRevision', {
    params: agents,
    body: { name: 'draft', config: steps('approve: { id: pay, title: "Pay?" }', 'approve: { id: book, title: "Book?" }') },
  });
  const drafts = { build_id: draft.build.id };
  await call('updateRevision', { params: drafts, body: { revision_name: 'asks first', revision_description: 'Asks before it pays.' } });
  await call('updateRevision', { params: drafts, body: { config: steps('nothing: 1') } });
  await call('generateRevision', { params: drafts, body: { prompt: 'say "Bye" at the end' } });
  await call('getLatestBuilderRun', { params: drafts });
  await call('acceptRevision', { params: drafts, body: {} });
  const { generation } = await call('generateRevision', { params: drafts, body: { prompt: 'say "Paid" at the end' } });
  await call('getBuilderRunStatus', { params: { builder_run_id: generation.builder_run_id } });
  await call('declineRevision', { params: drafts, body: { builder_run_id: generation.builder_run_id } });
  const vague = await call('generateRevision', { params: drafts, body: { prompt: 'remove the approval' } });
  const { pending_user_questions: questions } = await call('getLatestBuilderRun', { params: drafts });
  const [question] = (questions as unknown as HumanRequest).questions as HumanQuestion[];
  await call('answerBuilderRun', {
    params: { builder_run_id: vague.generation.builder_run_id },
    body: { answers: { [question?.question as string]: 'Step 2 (approve): Book?' } },
  });
  await call('discardRevision', { params: drafts });
  await call('getLatestBuilderRun', { params: drafts });
  await call('promoteRevision', { params: drafts, body: { revision_description: 'Live now.' } });
  await call('getRevision', { params: { ...agents, ...drafts } });
  await call('listAgentRevisions', { params: agents });
  await call('checkAgent', { body: { agent_id: agent.id } });
  await call('checkAgent', { body: { config: steps('say: "{{ secrets.KEY }}"', 'tool: { connection: crm, name: find }') } });

  // Secrets.
  await call('setAgentSecret', { params: agents, body: { name: 'API_KEY', value: 'hidden' } });
  await call('setAgentSecret', { params: agents, body: { name: 'API_KEY', value: 'changed' } });
  await call('setAgentSecret', { params: agents, body: { name: 'not a name', value: 'x' } });
  await call('listAgentSecrets', { params: agents });
  await call('deleteAgentSecret', { params: { ...agents, secret_name: 'API_KEY' } });
  await call('deleteAgentSecret', { params: { ...agents, secret_name: 'API_KEY' } });

  // Memory, which a run writes.
  await call('promoteRevision', { params: builds, body: {} });
  await call('startRun', { body: { agent_id: agent.id } });
  await call('startRun', { body: { agent_id: agent.id } });
  await call('listAgentMemoryFiles', { params: agents });
  await call('getAgentMemoryFile', { params: { ...agents, path: 'notes.md' } });
  await call('getAgentMemoryFile', { params: { ...agents, path: 'none.md' } });

  // Rubrics, and what they say about a run.
  const { rubric } = await call('createEvalRubric', {
    params: { agentId: agent.id },
    body: { title: 'Greets', description: 'Critical: the final message contains "Hello" and the tone is kind.' },
  });
  await call('createEvalRubric', {
    params: { agentId: agent.id },
    body: { title: 'No errors', description: 'No tool call failed.', ...builds },
  });
  await call('updateEvalRubric', { params: { agentId: agent.id, rubricId: rubric.id }, body: { title: 'Says hello' } });
  await call('getEvalRubrics', { params: { agentId: agent.id }, query: builds });
  const { run } = await call('startRun', { body: { agent_id: agent.id } });
  await call('getRunDetail', { params: { agentId: agent.id, runId: run.id } });
  await call('replaceEvalRubrics', {
    params: { agentId: agent.id },
    body: { rubrics: [{ title: 'Says bye', description: 'Medium: the final message contains "Bye".' }] },
  });
  const { run: failing } = await call('startRun', { body: { agent_id: agent.id } });
  await call('getRunDetail', { params: { agentId: agent.id, runId: failing.id } });
  await call('listRuns', { query: { has_issues: 'true' } });
  await call('listRuns', { query: { has_issues: 'false', sort_order: 'asc' } });
  await call('deleteEvalRubric', { params: { agentId: agent.id, rubricId: rubric.id } });

  // Schedules, and what they start.
  const timezone = 'Europe/Berlin';
  const schedule = await call('createSchedule', {
    params: agents,
    body: { enabled: true, frequency: 'workday', timezone, time: '11:30', task: 'Check the inbox.' },
  });
  const schedules = { ...agents, schedule_id: schedule.id };
  await call('createSchedule', { params: agents, body: { enabled: false, frequency: 'custom', timezone, cron: '0 8 1 * *' } });
  await call('createSchedule', { params: agents, body: { enabled: true, frequency: 'custom', timezone, cron: '61 * * * *' } });
  for (const body of [
    { frequency: 'every_5_minutes' },
    { frequency: 'every_15_minutes' },
    { frequency: 'hourly' },
    { frequency: 'daily', time: '00:00' },
    { frequency: 'weekly', time: '11:00', day: 'sunday' },
    { frequency: 'monthly', time: '11:00', day_of_month: 31 },
  ])
    await call('createSchedule', { params: agents, body: { enabled: false, timezone, ...body } });
  await recording.pass(10 * 60 * 1_000);
  await recording.pass(3 * 24 * 60 * 60 * 1_000);
  await call('listAgentSchedules', { params: agents });
  await call('updateSchedule', { params: schedules, body: { enabled: false, task: null } });
  await call('listAgents', { query: { include_schedules: 'true' } });
  await call('deleteSchedule', { params: schedules });
  await call('listRuns', { query: { source: 'schedule' } });

  await call('listAcpAgents');
  await call('deleteAgent', { params: agents });
  await call('getAgent', { params: agents });
  await call('startRun', { body: { agent_id: agent.id } });
  await call('listAgents', { query: { limit: 1, offset: 1 } });
  await recording.expectToBe('agents');
});
