import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { connectionOperations } from '../operations/connections.ts';
import { DateTime, FreeForm, Named, Nullable, paging, Uuid, Words } from './common.ts';

/** `url`: only the address is needed. `apikey` and `headers`: headers are sent with each request. `oauth`: a person has authorized it. */
const AuthMethod = Words(['url', 'apikey', 'headers', 'oauth']);
const HeaderMap = Type.Record(Type.String(), Type.String());
/** Values of `secret` are write-only: an empty text keeps the value that is stored. */
const Headers = Named('ConnectionHeaders', { plaintext: Type.Optional(HeaderMap), secret: Type.Optional(HeaderMap) });
const Name = Type.String({ minLength: 1, maxLength: 100 });
const ServerUrl = Type.String({ minLength: 1, maxLength: 2_048, format: 'uri' });

/** A connection. While it is broken, `broken_reason` contains the reason. */
export const Connection = Named('Connection', {
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  provider: Type.String(),
  user_id: Nullable(Type.String()),
  team_id: Type.String(),
  server_url: Type.Optional(Type.String()),
  transport_type: Type.Optional(Words(['stdio', 'sse', 'http'])),
  auth_method: Type.Optional(Nullable(Type.String())),
  custom_integration_id: Type.Optional(Nullable(Type.String())),
  icon_url: Type.Optional(Nullable(Type.String())),
  oauth_provider: Type.Optional(Nullable(Type.String())),
  oauth_provider_key: Type.Optional(Nullable(Type.String())),
  oauth_scopes: Type.Optional(Nullable(Type.Array(Type.String()))),
  has_headers: Type.Optional(Type.Boolean()),
  /** The headers, with empty values for secrets. An extension of the local service. */
  headers: Type.Optional(Headers),
  has_oauth_tokens: Type.Optional(Type.Boolean()),
  integration_id: Type.Optional(Nullable(Type.String())),
  shared: Type.Optional(Type.Boolean()),
  created_by: Type.Optional(Nullable(Type.String())),
  broken_at: Type.Optional(Nullable(DateTime)),
  broken_reason: Type.Optional(Nullable(Type.String())),
  created_at: DateTime,
  updated_at: DateTime,
});
export type Connection = Static<typeof Connection>;

export const ConnectionTool = Named('ConnectionTool', {
  name: Type.String(),
  description: Type.Optional(Type.String()),
  input_schema: Type.Optional(FreeForm),
});
export type ConnectionTool = Static<typeof ConnectionTool>;

/** `success` says whether the server answered; `error` why it did not. */
const ProbeResult = Named('ProbedServer', {
  success: Type.Boolean(),
  tools: Type.Optional(Type.Array(ConnectionTool)),
  error: Type.Optional(Type.String()),
});
export type ProbedServer = Static<typeof ProbeResult>;

/** The URL for a person to open. */
const AuthorizationUrl = Named('AuthorizationUrl', { authorization_url: Type.String() });

export const connectionSchemas = {
  listConnections: {
    query: Type.Object({ ...paging(100, 100), type: Type.Optional(Type.String()) }),
    response: Type.Object({
      integrations: Type.Array(Connection),
      total: Type.Integer({ minimum: 0 }),
      limit: Type.Integer({ minimum: 1 }),
      offset: Type.Integer({ minimum: 0 }),
    }),
  },
  createConnection: {
    body: Type.Object({
      name: Name,
      server_url: Type.Optional(ServerUrl),
      type: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: 'custom_mcp' })),
      provider: Words(['user']),
      auth_method: AuthMethod,
      custom_integration_id: Type.Optional(Uuid),
      headers: Type.Optional(Headers),
    }),
    response: Connection,
  },
  getConnection: { response: Connection },
  updateConnection: {
    body: Type.Object({
      name: Type.Optional(Name),
      server_url: Type.Optional(ServerUrl),
      auth_method: Type.Optional(AuthMethod),
      headers: Type.Optional(Nullable(Headers)),
      shared: Type.Optional(Type.Boolean()),
    }),
    response: Connection,
  },
  deleteConnection: { response: Type.Object({ success: Type.Boolean(), message: Type.String() }) },
  listConnectionTools: { response: ProbeResult },
  probeMcpServer: {
    body: Type.Object({
      server_url: Type.Optional(ServerUrl),
      integration_slug: Type.Optional(Type.String()),
      headers: Type.Optional(HeaderMap),
    }),
    response: ProbeResult,
  },
  checkMcpOAuth: {
    body: Type.Object({ mcp_server_url: ServerUrl }),
    response: Type.Object({
      supports_dcr: Type.Boolean(),
      authorization_endpoint: Type.Optional(Type.String()),
      scopes: Type.Optional(Type.Array(Type.String())),
    }),
  },
  authorizeMcpOAuth: {
    body: Type.Object({
      mcp_server_url: ServerUrl,
      name: Name,
      custom_integration_id: Type.Optional(Uuid),
      return_url: Type.Optional(Type.String({ maxLength: 2_048 })),
      integration_type: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      reconnect_instance_id: Type.Optional(Uuid),
    }),
    response: AuthorizationUrl,
  },
  startNativeOAuth: {
    body: Type.Object({ return_url: Type.Optional(Type.String()), reconnect_instance_id: Type.Optional(Uuid) }),
    response: AuthorizationUrl,
  },
} as const satisfies Record<keyof typeof connectionOperations, OperationSchemas>;
