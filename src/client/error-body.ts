/** The error in a response: in the form of the interface, as a problem document (RFC 9457), or in the forms of other frameworks. */
import { isObject, type JsonObject, jsonValue } from '../base/values.ts';
import type { ErrorBody } from '../interface/types.ts';
import { isRpcFailure, type RpcFailure, rpcWord } from './json-rpc.ts';
import type { TransportResponse } from './transport.ts';

/** Error bodies are sentences; of anything longer, the beginning is enough. */
const errorBodyLimit = 65_536;

/** An error body; for the Model Context Protocol, with the failure in the protocol's own form. */
export interface AnsweredError extends ErrorBody {
  rpc?: RpcFailure;
}

/** The error body, however badly formed: the status is reported in any case. */
export function errorBody({ status, body }: Pick<TransportResponse, 'status' | 'body'>): AnsweredError {
  const unreadable = { error: `http_${status}`, message: `The service answered ${status} without a readable error.` };
  const value = jsonValue(body.subarray(0, errorBodyLimit).toString('utf8'));
  if (!isObject(value)) return unreadable;
  const { error, message } = value;
  if (isRpcFailure(error)) return { error: rpcWord(error.code), message: error.message, rpc: error };
  if (typeof error === 'string') {
    return {
      error: error || `http_${status}`,
      ...(isText(message) ? { message } : {}),
      ...(Array.isArray(value.details) ? { details: value.details as NonNullable<ErrorBody['details']> } : {}),
    };
  }
  const sentence = otherMessage(value);
  return sentence === undefined ? unreadable : { error: `http_${status}`, message: sentence };
}

/**
 * The messages of other services: `title` and `detail` of a problem document together with its individual problems, or a `message`,
 * which some services nest in `error`. Undefined when there is nothing for people to read.
 */
function otherMessage(value: JsonObject): string | undefined {
  const { title, detail, message } = value;
  const nestedMessage = isObject(value.error) ? value.error.message : undefined;
  const parts = [title, detail === title ? undefined : detail, message, nestedMessage].filter(isText);
  if (parts.length === 0) return undefined;
  return [...parts, ...particulars(value)].map(asSentence).join(' ');
}

/** The problems found by a validation, with their locations: `errors` (RFC 9457, 3), `invalid-params` (RFC 7807, 3), `validation` (Prism). */
function particulars(value: JsonObject): string[] {
  const problems = [value.errors, value['invalid-params'], value.validation].filter(Array.isArray).flat().filter(isObject);
  return problems.slice(0, 5).flatMap((problem) => {
    const text = [problem.detail, problem.message, problem.reason].find(isText);
    if (text === undefined) return [];
    const place = Array.isArray(problem.location) ? problem.location.join('.') : [problem.pointer, problem.name].find(isText);
    return [place === undefined ? text : `${place}: ${text}`];
  });
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
