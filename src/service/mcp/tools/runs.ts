/** Tools for runs: starting, following, and stopping them. */
import Type from 'typebox';
import { runStatusFilters } from '../../../interface/run-status.ts';
import { Closed, Uuid, Words } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';
import { describeList, describeMessage, describeRun } from '../words.ts';
import { page, runId } from './arguments.ts';
import { waitForRun } from './wait.ts';

export const runTools = [
  defineTool({
    name: 'start_run',
    title: 'Start a run',
    description:
      'Starts a run of an agent and returns immediately, without waiting for the run. Follow it with wait_for_run. Each call starts another run.',
    operation: 'startRun',
    input: Closed({
      agent_id: Type.String({ ...Uuid, description: 'ID of the agent, from list_agents' }),
      message: Type.Optional(Type.String({ description: 'What the agent should do' })),
      sandbox_id: Type.Optional(Type.String({ minLength: 1, description: 'A sandbox with files for the run' })),
    }),
    readOnly: false,
    async run({ call }, body) {
      const answer = await call('startRun', { body });
      return { structured: answer, text: `Started run ${answer.run.id}. Follow it with wait_for_run.` };
    },
  }),
  defineTool({
    name: 'get_run',
    title: 'Get a run',
    description: 'Returns a run with its status and the human request it waits for, if any.',
    operation: 'getRun',
    input: Closed({ run_id: runId }),
    readOnly: true,
    async run({ call }, params) {
      const answer = await call('getRun', { params });
      return { structured: answer, text: describeRun(answer.run, answer.pending_human_request) };
    },
  }),
  waitForRun,
  defineTool({
    name: 'list_runs',
    title: 'List runs',
    description: 'Lists the runs of the team, newest first.',
    operation: 'listRuns',
    input: Closed({
      status: Type.Optional(Words([...runStatusFilters])),
      agent_id: Type.Optional(Type.String({ ...Uuid, description: 'Only runs of this agent' })),
      search: Type.Optional(Type.String({ description: 'Only runs whose title contains this text' })),
      ...page(100),
    }),
    readOnly: true,
    async run({ call }, query) {
      const answer = await call('listRuns', { query });
      const rows = answer.data.map((run) => `${run.id} ${run.status} ${run.agent_name}: ${run.title}`);
      return { structured: answer, text: describeList('runs', rows, answer.total) };
    },
  }),
  defineTool({
    name: 'list_messages',
    title: 'Read the transcript of a run',
    description: 'Lists the messages of a run, oldest first. Use offset to read more.',
    operation: 'listRunMessages',
    input: Closed({ run_id: runId, ...page(50) }),
    readOnly: true,
    async run({ call }, { run_id, ...query }) {
      const answer = await call('listRunMessages', { params: { run_id }, query });
      return { structured: answer, text: describeList('messages', answer.messages.map(describeMessage), answer.total) };
    },
  }),
  defineTool({
    name: 'send_message',
    title: 'Send a message to a run',
    description:
      'Sends a message to a run. A run that has completed or was interrupted continues with it. A message never answers a human request: a run that waits for a person refuses it; use respond_to_human_request.',
    operation: 'postRunMessage',
    input: Closed({ run_id: runId, message: Type.String({ minLength: 1, description: 'The message' }) }),
    readOnly: false,
    async run({ call }, { run_id, message }) {
      // The run might have just created a human request, and the message must not answer it.
      const body = { message, expected_human_request_id: null };
      const answer = await call('postRunMessage', { params: { run_id }, body });
      return { structured: answer, text: `Sent. Follow run ${run_id} with wait_for_run.` };
    },
  }),
  defineTool({
    name: 'stop_run',
    title: 'Stop a run',
    description: 'Stops a run, which then has the status interrupted. A run that has ended is not changed.',
    operation: 'stopRun',
    input: Closed({ run_id: runId }),
    readOnly: false,
    destructive: true,
    idempotent: true,
    async run({ call }, params) {
      const answer = await call('stopRun', { params });
      return { structured: answer, text: answer.message ?? 'The run was stopped.' };
    },
  }),
];
