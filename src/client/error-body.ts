/** The error in an answer: as the interface has it, as a problem document (RFC 9457), or as other frameworks write theirs. */
import { isObject, type JsonObject } from '../base/values.ts';
import type { ErrorBody } from '../interface/types.ts';
import { isRpcFailure, type RpcFailure, rpcWord } from './json-rpc.ts';
import type { TransportResponse } from './transport.ts';

/** Error bodies are sentences; of anything longer the start will do. */
const errorBodyLimit = 65_536;

/** An error body; one of the Model Context Protocol with the failure in the protocol's own words. */
export interface AnsweredError extends ErrorBody {
  rpc?: RpcFailure;
}

/** The error body, however badly formed: the status is reported in any case. */
export function errorBody({ status, body }: Pick<TransportResponse, 'status' | 'body'>): AnsweredError {
  const unreadable = { error: `http_${status}`, message: `The service answered ${status} without a readable error.` };
  let value: unknown;
  try {
    value = JSON.parse(body.subarray(0, errorBodyLimit).toString('utf8'));
  } catch {
    return unreadable;
  }
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
 * What other services say: `title` and `detail` of a problem document with what is wrong in particular, or a `message`, which some put into `error`.
 * Undefined when there is nothing for people to read.
 */
function otherMessage(value: JsonObject): string | undefined {
  const { title, detail, message } = value;
  const nested = isObject(value.error) ? value.error.message : undefined;
  const parts = [title, detail === title ? undefined : detail, message, nested].filter(isText);
  if (parts.length === 0) return undefined;
  return [...parts, ...particulars(value)].map(asSentence).join(' ');
}

/** The findings of a validation: `errors` (RFC 9457, 3), `invalid-params` (RFC 7807, 3), `validation` (Prism), with where each of them is. */
function particulars(value: JsonObject): string[] {
  const found = [value.errors, value['invalid-params'], value.validation].filter(Array.isArray).flat().filter(isObject);
  return found.slice(0, 5).flatMap((one) => {
    const text = [one.detail, one.message, one.reason].find(isText);
    if (text === undefined) return [];
    const place = Array.isArray(one.location) ? one.location.join('.') : [one.pointer, one.name].find(isText);
    return [place === undefined ? text : `${place}: ${text}`];
  });
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
