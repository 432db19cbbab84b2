/** The target of `aops api`: method and path from arguments, flags, placeholders and operation IDs, and the headers from the command line. */
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
  /** Begins with a slash; its placeholders are not replaced yet. */
  path: string;
}

/**
 * The method and path from the arguments: `[METHOD] PATH`, or the ID of an operation.
 * @param hasBody whether there are fields or a body, which makes POST the default method
 */
export function targetOf({ methodOrPath, path, method: flag }: TargetInput, hasBody: boolean): Target {
  if (methodOrPath === undefined)
    throw new UsageError('No path was specified.', 'For example: aops api /v2/teams/{team}. `aops api --list` lists the operations.');
  const namedMethod = path === undefined ? undefined : methodOrPath;
  if (namedMethod !== undefined && flag !== undefined)
    throw new UsageError('The method is specified twice.', `Omit ${namedMethod} or --method.`);
  const method = checkedMethod(namedMethod ?? flag);
  const word = path ?? methodOrPath;
  if (methods.includes(word.toUpperCase()))
    throw new UsageError(`No path was specified after ${word.toUpperCase()}.`, 'For example: aops api GET /v2/teams/{team}.');
  // IDs of operations consist of several words in camel case, unlike the paths of the interface.
  if (!/^[a-z]+[A-Z][A-Za-z]*$/.test(word)) return { method: method ?? (hasBody ? 'POST' : 'GET'), path: word };
  if (!operationIds.includes(word as OperationId)) throw unknownOperation(word);
  const row = operation(word as OperationId);
  if (method !== undefined && method !== row.method)
    throw new UsageError(`${word} is a ${row.method} operation, not ${method}.`, 'Omit the method.');
  return { method: row.method, path: row.path };
}

/** The operation with this path, if its response is not JSON. */
export function mediaAt({ method, path }: { method: string; path: string }): MediaOperationId | undefined {
  const segments = path.replace(/\?.*$/, '').split('/');
  return operationIds.find((id): id is MediaOperationId => {
    const row = operation(id);
    if (row.produces === undefined || row.method !== method) return false;
    const template = row.path.split('/');
    return template.length === segments.length && template.every((part, index) => part.startsWith('{') || part === segments[index]);
  });
}

function checkedMethod(word: string | undefined): string | undefined {
  if (word === undefined || methods.includes(word.toUpperCase())) return word?.toUpperCase();
  throw new UsageError(`"${word}" is not a supported method.`, `Supported methods: ${methods.join(', ')}.`);
}

function unknownOperation(word: string): UsageError {
  const suggestion = nearest(word, operationIds);
  return new UsageError(
    `"${word}" is neither a path nor the ID of an operation.`,
    suggestion === undefined ? 'Paths contain a slash; `aops api --list` lists the operations.' : `Did you mean ${suggestion}?`,
  );
}

/**
 * The path below the base URL. `{team}`, `{teamId}` and `{team_id}` are replaced with the team, and any other placeholder with the
 * field of the same name, which is removed from `fields`.
 * @throws UsageError for a placeholder without a field, an absolute URL, or a path that a server could interpret differently
 */
export function fullPath(context: Context, path: string, fields: Record<string, unknown>): string {
  const filledPath = path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
    if (/^team(_?id)?$/i.test(name) && fields[name] === undefined) return encodeURIComponent(context.teamId());
    const value = fields[name];
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new UsageError(`The path contains ${placeholder}, but there is no value for it.`, `Pass it as a field: -f ${name}=VALUE.`);
    if (/^\.{0,2}$/.test(String(value))) throw new UsageError(`"${value}" is not a valid value for ${placeholder}.`);
    delete fields[name];
    return encodeURIComponent(value);
  });
  if (/^https?:/i.test(filledPath))
    throw new UsageError('Specify a path instead of a URL: the credential is only sent to the service of the profile.');
  if (/\s|[^\x21-\x7e]/.test(filledPath)) throw new UsageError('The path contains characters that must be percent-encoded.');
  if (/(^|\/)\.\.?(\/|$|\?)/.test(filledPath)) throw new UsageError('The path must not contain "." or ".." segments.');
  const absolutePath = filledPath.startsWith('/') ? filledPath : `/${filledPath}`;
  return absolutePath.startsWith('/v2/') || absolutePath.startsWith('/v2?') ? absolutePath : `/v2${absolutePath}`;
}

export const withQuery = (path: string, query: string): string =>
  query === '' ? path : path.includes('?') ? `${path}&${query.slice(1)}` : path + query;

/** Headers that aops sets itself. */
const reservedHeaders = new Set([
  'authorization',
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'idempotency-key',
  'cookie',
]);

/** The headers of `-H`, names in lower case. @throws UsageError */
export function headersOf(word: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    word.map((text) => {
      const [, name = '', value = ''] = /^([\w-]+):\s*([\x20-\x7e]*)$/.exec(text) ?? [];
      if (name === '') throw new UsageError('--header must have the form "NAME: VALUE" in ASCII.');
      if (reservedHeaders.has(name.toLowerCase()))
        throw new UsageError(
          `--header cannot set ${name}.`,
          name.toLowerCase() === 'idempotency-key' ? 'Use --idempotency-key.' : 'aops sets it itself.',
        );
      return [name.toLowerCase(), value];
    }),
  );
}
