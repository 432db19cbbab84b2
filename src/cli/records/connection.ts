/** Shows and finds connections. */
import { type FetchPage, pagedRows } from '../../client/paging.ts';
import type { Connection } from '../../interface/types.ts';
import { isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { argument } from '../kit/flags.ts';
import { column, idColumn, status, statusColumn, time } from '../kit/output.ts';
import { findByName } from '../names/resolve.ts';

export const connectionArgument = argument('The connection, by ID or name', { complete: 'connections' });

/** The status of a connection in one word. */
const statusOf = ({ broken_at, auth_method, has_oauth_tokens }: Connection): string =>
  auth_method === 'oauth' && has_oauth_tokens === false ? 'unauthorized' : broken_at ? 'broken' : 'ready';

export const connectionColumns = [
  idColumn((connection: Connection) => connection.id),
  statusColumn(statusOf),
  column('NAME', (connection: Connection) => connection.name, { shrink: true }),
  column('AUTH', (connection: Connection) => connection.auth_method),
  column('URL', (connection: Connection) => connection.server_url, { shrink: true, min: 16 }),
];

export const connectionRecord = (connection: Connection) => ({
  ID: connection.id,
  Name: connection.name,
  URL: connection.server_url,
  Status: status(statusOf(connection)),
  'Broken because': connection.broken_reason ?? undefined,
  'Broken since': connection.broken_at ? time(connection.broken_at) : undefined,
  Auth: connection.auth_method,
  Scopes: connection.oauth_scopes?.join(' ') || undefined,
  Headers: headersInWords(connection),
  Type: connection.type,
  Shared: connection.shared === false ? 'no' : undefined,
  Created: time(connection.created_at),
  Changed: time(connection.updated_at),
});

/** Names and plain values; of a secret header only the name. */
function headersInWords({ headers, has_headers }: Connection): string | undefined {
  const plainHeaders = Object.entries(headers?.plaintext ?? {}).map(([name, value]) => `${name}: ${value}`);
  const secret = Object.keys(headers?.secret ?? {}).map((name) => `${name}: (secret)`);
  const headerLines = [...plainHeaders, ...secret];
  return headerLines.length > 0 ? headerLines.join(', ') : has_headers ? 'yes' : undefined;
}

/**
 * A connection, by ID or name.
 * @throws AopsError `connection_not_found` (exit 3), UsageError when several connections have the name
 */
export async function findConnection(context: Context, idOrName: string): Promise<Connection> {
  const client = await context.client();
  if (isUuid(idOrName)) return client.call('getConnection', { params: { connection_id: idOrName.toLowerCase() } });
  const source = async () => ({ word: 'connection', pageSize, fetchPage: await connectionPages(context) });
  return findByName(idOrName, source, ({ name }) => name);
}

/** Rows to request at a time. */
const pageSize = 100;

async function connectionPages(context: Context): Promise<FetchPage<Connection>> {
  const client = await context.client();
  const params = { teamId: context.teamId() };
  return async (limit, offset) => {
    const page = await client.call('listConnections', { params, query: { limit, offset } });
    return { items: page.integrations, total: page.total };
  };
}

/** All connections of the team, page by page. */
export async function* allConnections(context: Context): AsyncGenerator<Connection, void, undefined> {
  yield* pagedRows(await connectionPages(context), pageSize);
}
