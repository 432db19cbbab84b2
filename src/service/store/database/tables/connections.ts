/** Connections, and authorizations under way. */
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
  /** JSON: what goes with each request and is no secret, by name. */
  headers: string;
  /** The same for secret ones, sealed. */
  secret_headers: string | null;
  /** Client, tokens and where they came from, as JSON, sealed. */
  oauth: string | null;
  /** JSON. */
  oauth_scopes: string | null;
  /** Counts the changes to what it is reached with: what was found out about an earlier one says nothing of this one. */
  revision: number;
  broken_at: string | null;
  broken_reason: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** An authorization that a person was sent to give. */
export interface OAuthFlowsTable {
  /** SHA-256 of the `state`. */
  state_hash: Fixed<string>;
  team_id: Fixed<string>;
  /** The connection that is authorized again; null when it is to be made. */
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
  /** What it was called then. */
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
