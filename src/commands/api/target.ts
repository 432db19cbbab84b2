/** What `aops api` sends: method and path from words, flags, placeholders and operation ids; headers from the command line. */
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type OperationId, operation, operationIds } from '../../interface/operations.ts';
import type { MediaOperationId } from '../../interface/types.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export interface TargetInput {
  methodOrPath: string | undefined;
  path: string | undefined;
  method: string | undefined;
}

export interface Target {
  method: string;
  /** Begins with a slash; placeholders are still open. */
  path: string;
}

/**
 * The method and path that the words mean: `[METHOD] PATH`, or the id of an operation with its own method.
 * @param hasBody whether there are fields or a body: the method is POST then, unless one is given
 */
export function targetOf({ methodOrPath, path, method: flag }: TargetInput, hasBody: boolean): Target {
  if (methodOrPath === undefined)
    throw new UsageError('Which path?', 'For example: aops api /v2/teams/{team}. `aops api --list` lists the operations.');
  const named = path === undefined ? undefined : methodOrPath;
  if (named !== undefined && flag !== undefined) throw new UsageError('The method is given twice.', `Leave out ${named} or --method.`);
  const method = checkedMethod(named ?? flag);
  const given = path ?? methodOrPath;
  if (methods.includes(given.toUpperCase()))
    throw new UsageError(`Which path is ${given.toUpperCase()} for?`, 'For example: aops api GET /v2/teams/{team}.');
  // Ids are of several words, in camel case; the paths of the interface are not.
  if (!/^[a-z]+[A-Z][A-Za-z]*$/.test(given)) return { method: method ?? (hasBody ? 'POST' : 'GET'), path: given };
  if (!operationIds.includes(given as OperationId)) throw unknownOperation(given);
  const row = operation(given as OperationId);
  if (method !== undefined && method !== row.method)
    throw new UsageError(`${given} is a ${row.method}, not a ${method}.`, 'Leave the method out.');
  return { method: row.method, path: row.path };
}

/** The operation at a path, if it answers with something else than JSON. */
export function mediaAt({ method, path }: { method: string; path: string }): MediaOperationId | undefined {
  const segments = path.replace(/\?.*$/, '').split('/');
  return operationIds.find((id): id is MediaOperationId => {
    const row = operation(id);
    if (row.produces === undefined || row.method !== method) return false;
    const template = row.path.split('/');
    return template.length === segments.length && template.every((part, at) => part.startsWith('{') || part === segments[at]);
  });
}

function checkedMethod(word: string | undefined): string | undefined {
  if (word === undefined || methods.includes(word.toUpperCase())) return word?.toUpperCase();
  throw new UsageError(`"${word}" is not a method.`, `Methods: ${methods.join(', ')}.`);
}

function unknownOperation(given: string): UsageError {
  const meant = nearest(given, operationIds);
  return new UsageError(
    `"${given}" is neither a path nor the id of an operation.`,
    meant === undefined ? 'Paths have a slash; `aops api --list` lists the operations.' : `Did you mean ${meant}?`,
  );
}

/**
 * The path as it is sent, below the base URL. `{team}`, `{teamId}` and `{team_id}` are the team; another placeholder is filled
 * by the field of its name, which is then taken out of `fields`.
 * @throws UsageError for a placeholder without a field, a whole URL, or a path that would be read as another one
 */
export function fullPath(context: Context, path: string, fields: Record<string, unknown>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
    if (/^team(_?id)?$/i.test(name) && fields[name] === undefined) return encodeURIComponent(context.teamId());
    const value = fields[name];
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new UsageError(`The path contains ${placeholder}, and there is no value for it.`, `Pass it as a field: -f ${name}=VALUE.`);
    if (/^\.{0,2}$/.test(String(value))) throw new UsageError(`"${value}" cannot stand for ${placeholder}.`);
    delete fields[name];
    return encodeURIComponent(value);
  });
  if (/^https?:/i.test(filled)) throw new UsageError('Give a path, not a whole URL: the credential belongs to the service of the profile.');
  if (/\s|[^\x21-\x7e]/.test(filled)) throw new UsageError('The path holds characters that must be percent-encoded.');
  if (/(^|\/)\.\.?(\/|$|\?)/.test(filled)) throw new UsageError('The path must not contain "." or ".." segments.');
  const rooted = filled.startsWith('/') ? filled : `/${filled}`;
  return rooted.startsWith('/v2/') || rooted.startsWith('/v2?') ? rooted : `/v2${rooted}`;
}

export const withQuery = (path: string, query: string): string =>
  query === '' ? path : path.includes('?') ? `${path}&${query.slice(1)}` : path + query;

/** Headers that are the core's own business. */
const reserved = new Set(['authorization', 'host', 'content-length', 'connection', 'transfer-encoding', 'idempotency-key', 'cookie']);

/** The headers of `-H`, names in lower case. @throws UsageError */
export function headersOf(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const [, name = '', value = ''] = /^([\w-]+):\s*([\x20-\x7e]*)$/.exec(text) ?? [];
      if (name === '') throw new UsageError('--header takes "NAME: VALUE" in plain ASCII.');
      if (reserved.has(name.toLowerCase()))
        throw new UsageError(
          `--header cannot set ${name}.`,
          name.toLowerCase() === 'idempotency-key' ? 'Use --idempotency-key.' : 'aops sets it itself.',
        );
      return [name.toLowerCase(), value];
    }),
  );
}
