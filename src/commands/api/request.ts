/** Builds the request from the arguments and flags of `aops api`. */
import { UsageError } from '../../base/errors.ts';
import { type BodyInput, bodyFromFlags, parseJson, readBytes, readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { ServiceRequest } from '../../client/request.ts';
import { fullPath, headersOf, type TargetInput, targetOf, withQuery } from './target.ts';

/** @throws UsageError for a request that cannot be sent */
export async function buildRequest(context: Context, input: TargetInput & BodyInput & { header: string[] }): Promise<ServiceRequest> {
  const fields = (await bodyFromFlags(context, { ...input, input: undefined })) as Record<string, unknown> | undefined;
  // Fields that fill a placeholder are not part of the body.
  const words = `${input.methodOrPath ?? ''} ${input.path ?? ''}`;
  const inBody = Object.keys(fields ?? {}).some((name) => !words.includes(`{${name}}`));
  const target = targetOf(input, inBody || input.input !== undefined);
  const rest = { ...fields };
  const path = fullPath(context, target.path, rest);
  const headers = headersOf(input.header);
  const request: ServiceRequest = { method: target.method, path, headers, mutates: target.method !== 'GET' };
  if (target.method === 'GET' && input.input !== undefined)
    throw new UsageError('A GET request has no body.', 'Omit --input, or specify another method.');
  if (target.method === 'GET' || input.input !== undefined) request.path = withQuery(path, queryOf(rest));
  const body = await bodyOf(context, input, headers, rest);
  if (target.method === 'GET' || body === undefined) return request;
  return { ...request, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** The unchanged file, which must be JSON unless a header specifies another content type. Parsing and serialising it would change large numbers. */
async function bodyOf(
  context: Context,
  { input }: BodyInput,
  headers: Record<string, string>,
  fields: Record<string, unknown>,
): Promise<string | Uint8Array | undefined> {
  if (input === undefined) return Object.keys(fields).length === 0 ? undefined : JSON.stringify(fields);
  const type = headers['content-type'];
  if (type !== undefined && !/\bjson\b/i.test(type)) return readBytes(context, input);
  const text = await readText(context, input);
  parseJson(text, input);
  return text;
}

/** Fields as a query: a list repeats its name. @throws UsageError for an object */
function queryOf(fields: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === 'object' && item !== null) throw new UsageError(`"${name}" cannot be part of a query: it is an object.`);
      search.append(name, String(item));
    }
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
