/** Calls a tool, and converts its result to the format of the protocol. */
import { ServiceError } from '../errors.ts';
import { errorBody } from '../http/answer.ts';
import { check } from '../http/validate.ts';
import type { Tool, ToolCall } from './tool.ts';

/** The result of `tools/call`. A type, not an interface: the protocol's own is open. */
export type CallResult = {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
};

/** The description of a tool in `tools/list`. */
export const listedTool = ({ name, title, description, input, readOnly, destructive, idempotent }: Tool) => ({
  name,
  title,
  description,
  // As JSON: without the internal properties of the schema library.
  inputSchema: JSON.parse(JSON.stringify(input)) as { type: 'object' },
  annotations: {
    title,
    readOnlyHint: readOnly,
    destructiveHint: destructive === true,
    idempotentHint: readOnly || idempotent === true,
    // Tools only reach the data of the service.
    openWorldHint: false,
  },
});

/**
 * The result of a call. A refusal is a result as well (`isError`), with the error code of the interface and advice, so that the
 * model reads it. Rejects with any error that is not a ServiceError.
 */
export async function callTool(tool: Tool, call: ToolCall, args: Record<string, unknown>): Promise<CallResult> {
  try {
    check(tool.input, args, 'tool');
    const { structured, text } = await tool.run(call, args);
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    return refusal(error);
  }
}

function refusal(failure: ServiceError): CallResult {
  const advice = adviceOf(failure.error);
  return {
    content: [{ type: 'text', text: `${failure.error}: ${failure.message}${advice === undefined ? '' : ` ${advice}`}` }],
    structuredContent: { status: failure.status, ...errorBody(failure), ...(advice === undefined ? {} : { advice }) },
    isError: true,
  };
}

/** What a model can do about a failure, by error code. */
const advice: Record<string, string> = {
  agent_not_found: 'list_agents returns the existing agents.',
  queue_not_found: 'list_queues returns the existing queues.',
  case_not_found: 'list_cases returns the cases of a queue.',
  run_not_found: 'list_runs returns the existing runs.',
  human_request_not_found: 'get_run returns the pending request.',
  human_request_pending: 'get_run returns the request. Let a person decide, then call respond_to_human_request.',
  human_request_already_answered: 'get_run returns the current state of the run.',
  run_not_waiting: 'get_run returns the current state of the run.',
  agent_has_no_live_revision: 'Choose another agent, or ask the operator to give this one a procedure.',
  file_not_found: 'list_files returns the existing files.',
  insufficient_scope: 'Ask the operator for a credential with this scope.',
  invalid_answer: 'get_run returns the questions.',
};

const adviceOf = (error: string): string | undefined => (Object.hasOwn(advice, error) ? advice[error] : undefined);
