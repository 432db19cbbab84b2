/** Calls a tool, and puts what comes of it into the form of the protocol. */
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

/** What a tool is described with in `tools/list`. */
export const listedTool = ({ name, title, description, input, readOnly, destructive, idempotent }: Tool) => ({
  name,
  title,
  description,
  // As JSON: the schema library's own marks are not for the wire.
  inputSchema: JSON.parse(JSON.stringify(input)) as { type: 'object' },
  annotations: {
    title,
    readOnlyHint: readOnly,
    destructiveHint: destructive === true,
    idempotentHint: readOnly || idempotent === true,
    // What the service holds, and nothing beyond it.
    openWorldHint: false,
  },
});

/**
 * The result of a call. A refusal is a result too (`isError`), with the word of the interface and what to do: the model
 * is to read it. Rejects with anything that is no ServiceError.
 */
export async function callTool(tool: Tool, call: ToolCall, given: Record<string, unknown>): Promise<CallResult> {
  try {
    check(tool.input, given, 'tool');
    const { structured, text } = await tool.run(call, given);
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

/** What a model can do about a failure, by its word. */
const advice: Record<string, string> = {
  agent_not_found: 'list_agents shows the agents there are.',
  queue_not_found: 'list_queues shows the queues there are.',
  case_not_found: 'list_cases shows the cases of a queue.',
  run_not_found: 'list_runs shows the runs there are.',
  human_request_not_found: 'get_run shows the request that is pending.',
  human_request_pending: 'get_run shows the request. Let a person decide, then call respond_to_human_request.',
  human_request_already_answered: 'Nothing is left to answer; get_run shows how the run goes on.',
  run_not_waiting: 'get_run shows how the run stands.',
  agent_has_no_live_revision: 'Choose another agent, or ask the operator to give this one a procedure.',
  file_not_found: 'list_files shows the files there are.',
  insufficient_scope: 'Ask the operator for a credential with this scope.',
  invalid_answer: 'get_run shows what is asked.',
};

const adviceOf = (error: string): string | undefined => (Object.hasOwn(advice, error) ? advice[error] : undefined);
