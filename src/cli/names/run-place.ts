/** The run whose sandbox is meant, by the run alone or by its agent as well. */
import type { RunPlace } from '../../client/transfers/run-files.ts';
import type { Context } from '../kit/context.ts';
import { text } from '../kit/flags.ts';
import { agentId } from './resolve.ts';
import { runId } from './resolve-run.ts';

export const agentFlag = {
  agent: text('ID|NAME', "Ask for the run of this agent: another agent's is not found", { complete: 'agents' }),
} as const;

/** What listing and reading files may call. */
export const readingOperations = [
  'listRunSandboxFiles',
  'getRunSandboxFileContent',
  'listAgentRunSandboxFiles',
  'getAgentRunSandboxFileContent',
  'listAgents',
] as const;

export const runPlace = async (context: Context, run: string, agent: string | undefined): Promise<RunPlace> => ({
  runId: await runId(context, run),
  agentId: agent === undefined ? undefined : await agentId(context, agent),
});
