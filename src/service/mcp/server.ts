/** The server that answers a request: with the tools of a team, on behalf of the caller, or with those of a run, for its agent. */
import type { Server } from '@modelcontextprotocol/server';
import { isPermitted } from '../http/access.ts';
import type { RawRequest, RequestContext } from '../http/context.ts';
import { runServer } from './run/server.ts';
import type { Tool, ToolCall } from './tool.ts';
import type { Advice } from './tool-call.ts';
import { toolServer } from './tool-server.ts';
import { tools } from './tools/index.ts';

const instructions =
  'Operates AI agents and their runs. list_agents finds an agent, start_run starts a run of it, and wait_for_run follows the run. A run can wait for a person: only the user can answer it, with respond_to_human_request if the client can show forms, otherwise on the page of the team or with `aops inbox`.';

/**
 * @param onError called with failures of the service itself, whose response must not look like a result of a tool
 */
export function serverFor(context: RequestContext, request: RawRequest, onError: (error: unknown) => void): Server {
  if (context.run !== undefined) return runServer(context.run, context.engine.clock, onError);
  return toolServer<ToolCall, Tool>({
    ...{ instructions, tools, advice, onError },
    isListed: (tool) => isPermitted(context, tool.operation),
    callWith: (notify) => ({
      call: request.call,
      clock: context.engine.clock,
      signal: request.signal,
      // A single response is stored under a key, so a client that sends a key does not get a stream.
      report: async (message) => (request.hasKey ? undefined : await notify(message)),
    }),
  });
}

/** What a model can do about a failure, by error code. */
const advice: Advice = {
  agent_not_found: 'list_agents returns the existing agents.',
  queue_not_found: 'list_queues returns the existing queues.',
  case_not_found: 'list_cases returns the cases of a queue.',
  run_not_found: 'list_runs returns the existing runs.',
  human_request_not_found: 'get_run returns the pending request.',
  human_request_pending:
    'get_run returns the request. Only the user can answer it: call respond_to_human_request, or ask the user to answer.',
  human_request_already_answered: 'get_run returns the current state of the run.',
  person_required:
    'Ask the user to answer on the page of the team, with `aops inbox`, or with `aops runs respond RUN`. Then call wait_for_run.',
  run_not_waiting: 'get_run returns the current state of the run.',
  agent_has_no_live_revision: 'Choose another agent, or ask the operator to give this one a procedure.',
  file_not_found: 'list_files returns the existing files.',
  insufficient_scope: 'Ask the operator for a credential with this scope.',
  invalid_answer: 'get_run returns the questions.',
};
