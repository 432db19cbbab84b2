import { ServiceAnswerError } from '../../client/errors.ts';
import type { Agent, MemoryFile, Rubric, Schedule } from '../../interface/types.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput, time } from '../output.ts';
import { agentId } from '../resolve.ts';
import { returns } from '../result.ts';
import { agentRecord } from './record.ts';
import { nextOf } from './schedules/record.ts';

/** An agent with what belongs to it; what the service does not have is left out. */
interface Shown extends Agent {
  pinned_at: string | null;
  schedules?: Schedule[];
  rubrics?: Rubric[];
  memory_files?: MemoryFile[];
}

export default defineCommand({
  summary: 'Show an agent, and what it has',
  arguments: { agent: argument('The agent, by id or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getAgent', 'listAgentSchedules', 'getEvalRubrics', 'listAgentMemoryFiles'],
  examples: [
    { command: 'aops agents get invoice-check', text: 'By name' },
    { command: "aops agents get invoice-check --jq '.schedules[].next_run_at'", text: 'When it runs by itself' },
  ],
  result: returns('getAgent.agent', {
    pinned_at: 'date-time|null',
    schedules: 'object[]?',
    rubrics: 'object[]?',
    memory_files: 'object[]?',
  }),
  output: recordOutput<Shown>((agent) => ({
    ...agentRecord(agent),
    Pinned: agent.pinned_at === null ? undefined : time(agent.pinned_at),
    Schedules: agent.schedules?.length || undefined,
    'Next run': nextRun(agent.schedules),
    Rubrics: agent.rubrics?.length || undefined,
    'Memory files': agent.memory_files?.length || undefined,
  })),
  async run(context, input) {
    const client = await context.client();
    const id = await agentId(context, input.agent);
    const [{ agent, user_context }, schedules, rubrics, memory] = await Promise.all([
      client.call('getAgent', { params: { agent_id: id } }),
      offered(client.call('listAgentSchedules', { params: { agent_id: id } })),
      offered(client.call('getEvalRubrics', { params: { agentId: id } })),
      offered(client.call('listAgentMemoryFiles', { params: { agent_id: id } })),
    ]);
    return {
      ...agent,
      pinned_at: user_context.pinned_at,
      ...(schedules === undefined ? {} : { schedules: schedules.schedules }),
      ...(rubrics === undefined ? {} : { rubrics: rubrics.rubrics }),
      ...(memory === undefined ? {} : { memory_files: memory.files }),
    };
  },
});

function nextRun(schedules: readonly Schedule[] = []): unknown {
  const next = nextOf(schedules);
  return next === undefined ? undefined : time(next);
}

/** Undefined where the service does not have the operation, does not allow it, or the agent is not there: `getAgent` says that. */
async function offered<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ServiceAnswerError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}
