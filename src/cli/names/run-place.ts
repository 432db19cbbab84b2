/** The run whose sandbox is meant, optionally limited to an agent. */
import type { RunPlace } from '../../client/transfers/run-files.ts';
import type { Context } from '../kit/context.ts';
import { text } from '../kit/flags.ts';
import { agentId } from './resolve.ts';
import { runId } from './resolve-run.ts';

export const agentFlag = {
  agent: text('ID|NAME', "Only accept a run of this agent; other agents' runs are not found", { complete: 'agents' }),
} as const;

/** The operations for listing and reading files. */
export const readingOperations = [
  'listRunSandboxFiles',
  'getRunSandboxFileContent',
  'listAgentRunSandboxFiles',
  'getAgentRunSandboxFileContent',
  'listAgents',
] as const;

/** The operations for downloading files. */
export const pullingOperations = ['getRunSandboxArchive', 'getAgentRunSandboxArchive', ...readingOperations] as const;

export const runPlace = async (context: Context, run: string, agent: string | undefined): Promise<RunPlace> => ({
  runId: await runId(context, run),
  agentId: agent === undefined ? undefined : await agentId(context, agent),
});
