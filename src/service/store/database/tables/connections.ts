/** Connections, and authorizations in progress. */
import type { Selectable } from 'kysely';
import type { Fixed, Flag } from './columns.ts';

/** A remote MCP server that runs may use. */
export interface ConnectionsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  name: string;
  type: Fixed<string>;
  provider: Fixed<string>;
  server_url: string;
  auth_method: ConnectionAuth;
  shared: Flag;
  /** JSON: headers and parameters of each request that are not secret, by name. */
  headers: string;
  /** The same for secret values, sealed. */
  secret_headers: string | null;
  /** Client, tokens and their origin, as JSON, sealed. */
  oauth: string | null;
  /** JSON. */
  oauth_scopes: string | null;
  /** Incremented when the address or the credentials change: results for earlier values are not valid for these. */
  revision: number;
  broken_at: string | null;
  broken_reason: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** An authorization that a person was asked to give. */
export interface OAuthFlowsTable {
  /** SHA-256 of the `state`. */
  state_hash: Fixed<string>;
  team_id: Fixed<string>;
  /** The connection that is authorized again; null for a new one. */
  connection_id: Fixed<string | null>;
  name: Fixed<string>;
  type: Fixed<string>;
  server_url: Fixed<string>;
  return_url: Fixed<string | null>;
  /** Client, verifier and the server's metadata, as JSON, sealed. */
  details: Fixed<string>;
  /** Milliseconds. */
  expires_at: Fixed<number>;
}

/** A connection that a run has used. */
export interface RunConnectionsTable {
  run_id: Fixed<string>;
  connection_id: Fixed<string>;
  /** Its name at that time. */
  name: Fixed<string>;
  first_used_at: Fixed<string>;
}

export type ConnectionAuth = 'url' | 'apikey' | 'headers' | 'oauth';

export interface ConnectionsTables {
  connections: ConnectionsTable;
  oauth_flows: OAuthFlowsTable;
  run_connections: RunConnectionsTable;
}

export type ConnectionRow = Selectable<ConnectionsTable>;
export type OAuthFlowRow = Selectable<OAuthFlowsTable>;
