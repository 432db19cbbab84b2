import { UsageError } from '../base/errors.ts';
import { queryString } from '../client/request.ts';
import { operationIds, operations } from '../interface/operations.ts';
import { bodyFlags, bodyFromFlags } from './body.ts';
import type { Context } from './context.ts';
import { type CommandInput, defineCommand, flag, optionalArgument, texts } from './define.ts';
import { wholeList } from './list.ts';
import { column, listOutput, rawOutput } from './output.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const options = {
  ...bodyFlags,
  header: texts('NAME: VALUE', 'Send this header', { short: 'H' }),
  include: flag('Print status and headers before the body', { short: 'i' }),
  list: flag('List the operations of the interface'),
} as const;

const listing = listOutput<{ id: string; method: string; path: string; summary: string }>({
  columns: [
    column('METHOD', (row) => row.method),
    column('PATH', (row) => row.path, { shrink: true }),
    column('OPERATION', (row) => row.id, { shrink: true }),
    column('SUMMARY', (row) => row.summary, { shrink: true }),
  ],
  empty: '',
});

export default defineCommand({
  summary: 'Send any request to the service, signed in',
  description:
    'PATH may leave out /v2 and name the team as {team}. The method is GET, and POST as soon as there is a body. With GET, fields become the query. A change carries an idempotency key like any other.',
  arguments: { methodOrPath: optionalArgument('The method, or the path'), path: optionalArgument('The path, after a method') },
  options,
  mutates: true,
  operations: operationIds,
  examples: [
    { command: 'aops api GET /v2/teams/{team}/runs -f status=waiting', text: 'A list with a filter' },
    { command: 'aops api POST runs/RUN/messages -f message=hello', text: 'A change' },
    { command: 'aops api --list', text: 'What there is' },
  ],
  output: rawOutput(listing),
  async run(context, input) {
    if (input.list)
      return wholeList(
        operationIds.map((id) => ({ id, method: operations[id].method, path: operations[id].path, summary: operations[id].summary })),
      );
    const body = await bodyFromFlags(context, input);
    const { method, path } = target(input, body !== undefined);
    const query = method === 'GET' && body !== undefined ? queryString(body as Record<string, string>) : '';
    const client = await context.client();
    const response = await client.send({
      method,
      path: withQuery(fullPath(context, path), query),
      headers: { ...headers(input.header), ...(body === undefined || method === 'GET' ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined || method === 'GET' ? {} : { body: JSON.stringify(body) }),
      mutates: method !== 'GET',
    });
    if (input.include) {
      await context.terminal.line(`HTTP ${response.status}`);
      for (const [name, value] of Object.entries(response.headers)) await context.terminal.line(`${name}: ${String(value)}`);
      await context.terminal.line('');
    }
    return response.body.length === 0 ? undefined : (JSON.parse(response.body.toString('utf8')) as unknown);
  },
});

type Input = CommandInput<{ methodOrPath: ReturnType<typeof optionalArgument>; path: ReturnType<typeof optionalArgument> }, typeof options>;

function target({ methodOrPath, path }: Pick<Input, 'methodOrPath' | 'path'>, hasBody: boolean): { method: string; path: string } {
  if (methodOrPath === undefined)
    throw new UsageError('Which path?', 'For example: aops api /v2/teams/{team}. `aops api --list` lists the operations.');
  if (path === undefined) return { method: hasBody ? 'POST' : 'GET', path: methodOrPath };
  const method = methodOrPath.toUpperCase();
  if (methods.includes(method)) return { method, path };
  throw new UsageError(`"${methodOrPath}" is not a method.`, `Methods: ${methods.join(', ')}.`);
}

function fullPath(context: Context, given: string): string {
  const named = given.replaceAll('{team}', () => encodeURIComponent(context.teamId()));
  if (/^https?:/i.test(named)) throw new UsageError('Give a path, not a whole URL: the credential belongs to the service of the profile.');
  if (/\s|[^\x21-\x7e]/.test(named)) throw new UsageError('The path holds characters that must be percent-encoded.');
  if (/(^|\/)\.\.?(\/|$|\?)/.test(named)) throw new UsageError('The path must not contain "." or ".." segments.');
  const rooted = named.startsWith('/') ? named : `/${named}`;
  return rooted.startsWith('/v2/') || rooted.startsWith('/v2?') ? rooted : `/v2${rooted}`;
}

const withQuery = (path: string, query: string): string =>
  query === '' ? path : path.includes('?') ? `${path}&${query.slice(1)}` : path + query;

/** Headers that are the core's own business. */
const reserved = new Set(['authorization', 'host', 'content-length', 'connection', 'transfer-encoding', 'idempotency-key', 'cookie']);

function headers(given: readonly string[]): Record<string, string> {
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
