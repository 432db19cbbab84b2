/** What a tool of the MCP endpoint is: data, and a function that calls operations as its caller. */
import type { Static, TObject } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import type { OperationId } from '../../interface/operations.ts';
import type { CallOperation } from '../http/context.ts';

/** What a tool may reach: the operations, as the caller of the request. */
export interface ToolCall {
  readonly call: CallOperation;
  readonly clock: Clock;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Tells a client that asked for it how far things are. */
  readonly report: (message: string) => Promise<void>;
}

/** The object of the interface, and what it says in a few words for models that read text alone. */
export interface ToolResult {
  readonly structured: Record<string, unknown>;
  readonly text: string;
}

export interface Tool<Input extends TObject = TObject> {
  readonly name: string;
  readonly title: string;
  /** What it does, when to use it, and what to do next: read by a model. */
  readonly description: string;
  /** What it calls. Callers who may not use it do not see the tool. */
  readonly operation: OperationId;
  /** Closed: a misspelt argument is an error. */
  readonly input: Input;
  /** Changes nothing. */
  readonly readOnly: boolean;
  /** What it does cannot be undone; clients ask a person first. */
  readonly destructive?: true;
  /** Calling it twice with the same arguments does no more than once. */
  readonly idempotent?: true;
  run(call: ToolCall, input: Static<Input>): Promise<ToolResult>;
}

/** Fixes the type of a tool's arguments. */
export const defineTool = <const Input extends TObject>(tool: Tool<Input>): Tool => tool as unknown as Tool;
