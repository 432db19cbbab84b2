/** Calls a tool, and converts its result to the format of the protocol. */
import { ServiceError } from '../errors.ts';
import { errorBody } from '../http/answer.ts';
import { check } from '../http/validate.ts';
import type { AnyTool } from './tool.ts';

/** The result of `tools/call`. A type, not an interface: the protocol's own is open. */
export type CallResult = {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
};

/** The description of a tool in `tools/list`. */
export const listedTool = ({ name, title, description, input, readOnly, destructive, idempotent }: AnyTool<never>) => ({
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

/** What a model can do about a refusal, by error code. */
export type Advice = Readonly<Record<string, string>>;

/**
 * The result of a call. A refusal is a result as well (`isError`), with the error code of the interface and advice, so that the
 * model reads it. Rejects with any error that is not a ServiceError.
 */
export async function callTool<Call>(tool: AnyTool<Call>, call: Call, args: Record<string, unknown>, advice: Advice): Promise<CallResult> {
  try {
    check(tool.input, args, 'tool');
    const { structured, text } = await tool.run(call, args);
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    return refusal(error, advice);
  }
}

function refusal(failure: ServiceError, all: Advice): CallResult {
  const advice = Object.hasOwn(all, failure.error) ? all[failure.error] : undefined;
  return {
    content: [{ type: 'text', text: `${failure.error}: ${failure.message}${advice === undefined ? '' : ` ${advice}`}` }],
    structuredContent: { status: failure.status, ...errorBody(failure), ...(advice === undefined ? {} : { advice }) },
    isError: true,
  };
}
