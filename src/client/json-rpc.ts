/** JSON-RPC 2.0, as the Model Context Protocol uses it. */
import { isObject, jsonValue } from '../base/values.ts';
export interface RpcFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** The answer to a request. */
export interface RpcAnswer {
  jsonrpc: '2.0';
  id: string | number | null;
  result?: Record<string, unknown>;
  error?: RpcFailure;
}

export interface RpcMessage {
  jsonrpc: '2.0';
  /** Absent in a notification. */
  id?: string | number;
  method: string;
  params?: Record<string, unknown>;
}

export const isRpcFailure = (value: unknown): value is RpcFailure =>
  isObject(value) && typeof value.code === 'number' && typeof value.message === 'string';

/** Whether a message is an answer, and to this ID if one is passed. */
export const isRpcAnswer = (value: unknown, id?: string | number): value is RpcAnswer =>
  isObject(value) &&
  value.method === undefined &&
  (value.result !== undefined || isRpcFailure(value.error)) &&
  (id === undefined || value.id === id || value.id === null);

/** Whether a message of a stream is the answer that ends it. */
export const isAnswerText = (text: string): boolean => isRpcAnswer(jsonValue(text));

/** Codes of JSON-RPC and of the Model Context Protocol. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  serverError: -32_000,
  sessionNotFound: -32_001,
  notInitialized: -32_002,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

/** A stable name for a code, in snake_case. */
export function rpcWord(code: number): string {
  const [name] = Object.entries(rpcCodes).find(([, rpcCode]) => rpcCode === code) ?? ['rpcError'];
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
