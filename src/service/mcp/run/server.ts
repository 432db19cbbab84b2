/** The server for the agent of a run: its tools act on that run alone. None of them answers a human request. */
import type { Server } from '@modelcontextprotocol/server';
import type { Clock } from '../../../base/clock.ts';
import type { RunToken } from '../../runtimes/run-tokens.ts';
import type { Advice } from '../tool-call.ts';
import { toolServer } from '../tool-server.ts';
import { artifactTools } from './artifacts.ts';
import { caseTools } from './cases.ts';
import { memoryTools } from './memory.ts';
import type { RunTool, RunToolCall } from './tool.ts';

export const runTools: readonly RunTool[] = [...caseTools, ...memoryTools, ...artifactTools];

const instructions =
  'Tools of the run that you are executing: its case, if it has one, new cases, the memory that your runs share, and pages for the people of the team.';

/** What a model can do about a refusal, by error code. */
const advice: Advice = {
  case_lost: 'End your turn.',
  queue_not_found: 'Use a queue that your instructions name, or say that it is missing.',
  not_a_handover_target: 'Leave agent out, or say that the handover is not allowed.',
  memory_off: 'Continue without it.',
  memory_file_not_found: 'list_memory returns the existing files.',
  artifact_generating: 'get_artifact returns the outcome when the generation has ended.',
};

export const runServer = (token: RunToken, clock: Clock, onError: (error: unknown) => void): Server =>
  toolServer<RunToolCall, RunTool>({
    ...{ instructions, tools: runTools, advice, onError },
    isListed: ({ needsCase }) => needsCase !== true || token.hasCase,
    callWith: () => ({ token, clock }),
  });
