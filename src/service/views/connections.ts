/** Connections, as the interface returns them, without their secrets. */
import type { Connection } from '../../interface/types.ts';
import { readableHeaders } from '../connections/secrets.ts';
import type { SecretBox } from '../secret-box.ts';
import { fromJson } from '../store/database/json-column.ts';
import type { ConnectionRow } from '../store/database/schema.ts';

export const connectionView = (box: SecretBox, row: ConnectionRow): Connection => {
  const { plain, secret } = readableHeaders(box, row);
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    provider: row.provider,
    // This service has no users.
    user_id: null,
    team_id: row.team_id,
    server_url: row.server_url,
    transport_type: 'http',
    auth_method: row.auth_method,
    custom_integration_id: null,
    icon_url: null,
    oauth_provider: null,
    oauth_provider_key: null,
    oauth_scopes: fromJson<string[]>(row.oauth_scopes),
    has_headers: Object.keys(plain).length > 0 || row.secret_headers !== null,
    // Instead of each secret, there is the value that keeps it when it is sent back.
    headers: { plaintext: plain, secret: Object.fromEntries(Object.keys(secret).map((name) => [name, ''])) },
    has_oauth_tokens: row.oauth !== null,
    integration_id: null,
    shared: row.shared === 1,
    created_by: null,
    broken_at: row.broken_at,
    broken_reason: row.broken_reason,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
};
