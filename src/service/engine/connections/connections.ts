/** Creates, changes, and deletes connections. Each change is one transaction, and an event for webhooks. */

import { changedHeaders, type HeaderInput, type StoredHeaders } from '../../connections/headers.ts';
import { readableHeaders, sealedHeaders } from '../../connections/secrets.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { checkOutboundUrl, hasSameOrigin } from '../../outbound/check-url.ts';
import { wordFor } from '../../outbound/host-rules.ts';
import { lockTeam } from '../../store/access/teams.ts';
import { findConnection, insertConnection, listConnectionRows, updateConnectionRow } from '../../store/connections/connections.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ConnectionAuth, ConnectionRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import type { HasClock, HasConnections, HasStore, HasWorker } from '../engine.ts';
import { recordEvents } from '../webhooks/events.ts';
import { updatedEvent } from './events.ts';

/** Maximum number of connections that a team can have. */
export const maxConnections = 200;

export interface ConnectionFields {
  name?: string | undefined;
  server_url?: string | undefined;
  auth_method?: ConnectionAuth | undefined;
  headers?: HeaderInput | null | undefined;
  shared?: boolean | undefined;
}

export interface NewConnection extends ConnectionFields {
  name: string;
  auth_method: ConnectionAuth;
  type?: string | undefined;
  custom_integration_id?: string | undefined;
}

/** The type of a connection that is created without one. */
export const defaultType = 'custom_mcp';

/** Creates a connection. Throws 400 for an unusable address or header, 404 for a custom integration, 409 `too_many_connections`. */
export async function createConnection(
  engine: HasStore & HasClock & HasWorker & HasConnections,
  teamId: string,
  fields: NewConnection,
): Promise<ConnectionRow> {
  if (fields.custom_integration_id !== undefined) throw notFound('custom integration', fields.custom_integration_id);
  if (fields.server_url === undefined) {
    const message = 'is required, because this service has no integrations that define it';
    throw new ServiceError(400, 'invalid_request', `server_url ${message}.`, { details: [{ path: 'server_url', message }] });
  }
  const server_url = await checkServerUrl(engine, fields.server_url);
  const id = newId();
  const headers = sealedHeaders(engine.connections.box, id, changedHeaders({ plain: {}, secret: {} }, fields.headers));
  const { name, type = defaultType, auth_method } = fields;
  return changeConnection(engine, async (trx) =>
    insertNewConnection(trx, engine, { id, teamId, name, type, server_url, auth_method, ...headers }),
  );
}

/** Inserts a complete connection. Throws 409 `too_many_connections`. */
export async function insertNewConnection(
  trx: Queries,
  engine: HasClock,
  {
    teamId,
    ...fields
  }: { teamId: string } & Pick<ConnectionRow, 'id' | 'name' | 'type' | 'server_url' | 'auth_method'> &
    Partial<Pick<ConnectionRow, 'headers' | 'secret_headers' | 'oauth' | 'oauth_scopes'>>,
): Promise<ConnectionRow> {
  await lockTeam(trx, teamId);
  const { total } = await listConnectionRows(trx, { teamId }, { limit: 1, offset: 0 });
  if (total >= maxConnections)
    throw new ServiceError(409, 'too_many_connections', `A team can have at most ${maxConnections} connections; delete one first.`);
  const now = isoTime(engine.clock.now());
  return insertConnection(trx, {
    team_id: teamId,
    provider: 'user',
    shared: 1,
    headers: '{}',
    secret_headers: null,
    oauth: null,
    oauth_scopes: null,
    revision: 1,
    broken_at: null,
    broken_reason: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    ...fields,
  });
}

/**
 * Changes a connection. If its address or credentials change, its recorded health is reset. Secrets are only sent to the origin
 * that they were entered for: if that changes, they have to be entered again, and an authorization is dropped. Throws 404, and 400 as above.
 */
export async function updateConnection(
  engine: HasStore & HasClock & HasWorker & HasConnections,
  teamId: string,
  id: string,
  fields: ConnectionFields,
): Promise<ConnectionRow> {
  const server_url = fields.server_url === undefined ? undefined : await checkServerUrl(engine, fields.server_url);
  return changeConnection(engine, async (trx) => {
    const row = await requireConnection(trx, teamId, id);
    const moves = server_url !== undefined && !hasSameOrigin(server_url, row.server_url);
    const before = readableHeaders(engine.connections.box, row);
    if (moves && keepsSecrets(before, fields.headers)) {
      const message = 'is on another host; enter the secret headers again, because they were stored for the previous one';
      throw new ServiceError(400, 'invalid_request', `server_url ${message}.`, { details: [{ path: 'server_url', message }] });
    }
    const headers = fields.headers === undefined ? {} : sealedHeaders(engine.connections.box, id, changedHeaders(before, fields.headers));
    const changesAccess = server_url !== undefined || fields.auth_method !== undefined || fields.headers !== undefined;
    const changedRow = await updateConnectionRow(trx, id, {
      ...(fields.name === undefined ? {} : { name: fields.name }),
      ...(server_url === undefined ? {} : { server_url }),
      ...(fields.auth_method === undefined ? {} : { auth_method: fields.auth_method }),
      ...(fields.shared === undefined ? {} : { shared: fields.shared ? (1 as const) : (0 as const) }),
      ...headers,
      ...(moves ? { oauth: null, oauth_scopes: null } : {}),
      ...(changesAccess ? { revision: row.revision + 1, broken_at: null, broken_reason: null } : {}),
      updated_at: isoTime(engine.clock.now()),
    });
    return changedRow ?? row;
  });
}

/** Deletes a connection with its secrets; the record of the runs that used it is retained. Throws 404. */
export async function deleteConnection(engine: HasStore & HasClock, teamId: string, id: string): Promise<ConnectionRow> {
  return engine.store.transaction().execute(async (trx) => {
    const row = await requireConnection(trx, teamId, id);
    const now = isoTime(engine.clock.now());
    const noSecrets = { headers: '{}', secret_headers: null, oauth: null };
    await updateConnectionRow(trx, id, { ...noSecrets, deleted_at: now, updated_at: now, revision: row.revision + 1 });
    return row;
  });
}

/** The connection. Throws 404 `connection_not_found`. */
export async function requireConnection(db: Queries, teamId: string, id: string): Promise<ConnectionRow> {
  const row = await findConnection(db, teamId, id);
  if (row === undefined) throw notFound('connection', id);
  return row;
}

/** The URL in the form in which it is requested. Throws 400 `invalid_request` or `connection_host_not_allowed`. */
export const checkServerUrl = (engine: HasConnections, text: string, field = 'server_url'): Promise<string> =>
  checkOutboundUrl(engine.connections.agent, text, {
    field,
    code: 'connection_host_not_allowed',
    refusalMessage: (host) =>
      `names ${host}, to which this service may not connect; to allow that, start it with --allow-connection-host ${wordFor(host)}`,
  });

/** Whether a change would keep stored secrets. */
function keepsSecrets(before: StoredHeaders, input: HeaderInput | null | undefined): boolean {
  if (Object.keys(before.secret).length === 0 || input === null) return false;
  return input?.secret === undefined || Object.values(input.secret).includes('');
}

/** Makes a change in a transaction, and records an event for webhooks. */
export async function changeConnection(
  engine: HasStore & HasClock & HasWorker & HasConnections,
  change: (trx: Queries) => Promise<ConnectionRow>,
): Promise<ConnectionRow> {
  let shouldWake = false;
  const row = await engine.store.transaction().execute(async (trx) => {
    const changedRow = await change(trx);
    shouldWake = await recordEvents(engine.clock, trx, { teamId: changedRow.team_id }, [updatedEvent(engine, changedRow)]);
    return changedRow;
  });
  if (shouldWake) engine.worker.wake();
  return row;
}
