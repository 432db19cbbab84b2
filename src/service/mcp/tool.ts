/** A tool of the MCP endpoint: data, and a function that calls operations on behalf of its caller. */
import type { Static, TObject } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { OperationId } from '../../interface/operations.ts';
import type { CallOperation } from '../http/context.ts';

/** What a tool can use: the operations, on behalf of the caller of the request. */
export interface ToolCall {
  readonly call: CallOperation;
  readonly clock: Clock;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
  /** Reports progress to a client that requested it. */
  readonly report: (message: string) => Promise<void>;
}

/** The object of the interface, and a summary for models that only read text. */
export interface ToolResult {
  readonly structured: Record<string, unknown>;
  readonly text: string;
}

/** A tool of any server. @typeParam Call what its implementation works with */
export interface AnyTool<Call, Input extends TObject = TObject> {
  readonly name: string;
  readonly title: string;
  /** What it does, when to use it, and what to do next; read by a model. */
  readonly description: string;
  /** Closed: a misspelt argument is an error. */
  readonly input: Input;
  /** Does not change anything. */
  readonly readOnly: boolean;
  /** Cannot be undone; clients ask a person first. */
  readonly destructive?: true;
  /** A second call with the same arguments has no further effect. */
  readonly idempotent?: true;
  run(call: Call, input: Static<Input>): Promise<ToolResult>;
}

export interface Tool<Input extends TObject = TObject> extends AnyTool<ToolCall, Input> {
  /** The operations that it calls. Callers without access to them do not see the tool. */
  readonly operation: OperationId;
}

/** Infers the type of a tool's arguments from its input schema. */
export const defineTool = <const Input extends TObject>(tool: Tool<Input>): Tool => tool as unknown as Tool;
