/**
 * The authorization of an MCP server by a person: a client is registered (RFC 7591), the person is sent to the authorization
 * server with a code challenge (RFC 7636) and comes back to this service, and the code is exchanged for tokens.
 */
import { randomBytes } from 'node:crypto';
import type { AuthorizationServerMetadata, OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/client';
import { firstLine } from '../../../base/values.ts';
import { firstProblem } from '../../connections/problems.ts';
import { openOAuth, type StoredOAuth, sealedOAuth } from '../../connections/secrets.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { hasSameOrigin } from '../../outbound/check-url.ts';
import { OutboundError } from '../../outbound/guarded-fetch.ts';
import { UnreadableSecretError } from '../../secret-box.ts';
import { secretHash } from '../../secret-hash.ts';
import { findConnection, updateConnectionRow } from '../../store/connections/connections.ts';
import { forgetExpiredFlows, insertFlow, takeFlow } from '../../store/connections/oauth-flows.ts';
import type { ConnectionRow, OAuthFlowRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import type { HasClock, HasConnections, HasLog, HasStore, HasWorker } from '../engine.ts';
import { changeConnection, checkServerUrl, defaultType, insertNewConnection, requireConnection } from './connections.ts';
import { discoverOAuth, type OAuthDiscovery } from './discovery.ts';
import { notingOutages, type OAuthLibrary, withOAuthLibrary } from './oauth-library.ts';
import { withTokens } from './tokens.ts';

/** Milliseconds that a person has to authorize a connection. */
const flowLife = 15 * 60_000;

export interface AuthorizationStart {
  mcp_server_url: string;
  name: string;
  custom_integration_id?: string | undefined;
  return_url?: string | undefined;
  integration_type?: string | undefined;
  reconnect_instance_id?: string | undefined;
}

/** What is stored, encrypted, until the person comes back. */
interface Details {
  server: string;
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformationMixed;
  resource?: string;
  scopes: string[];
  verifier: string;
  callback: string;
}

/**
 * The URL for a person to open. Throws 400 if the server cannot be authorized in this way, 404 for an unknown connection or any
 * custom integration.
 * @param callback the URL to which the person comes back
 */
export async function startAuthorization(
  engine: HasStore & HasClock & HasConnections,
  teamId: string,
  fields: AuthorizationStart,
  callback: string,
): Promise<string> {
  if (fields.custom_integration_id !== undefined) throw notFound('custom integration', fields.custom_integration_id);
  const returnUrl = fields.return_url === undefined ? null : checkReturnUrl(fields.return_url);
  const url = await checkServerUrl(engine, fields.mcp_server_url, 'mcp_server_url');
  const reconnectId = fields.reconnect_instance_id;
  const connection = reconnectId === undefined ? undefined : await requireConnection(engine.store, teamId, reconnectId);
  if (connection !== undefined && !hasSameOrigin(connection.server_url, url))
    throw invalid('mcp_server_url', `must be on the same host as the connection ${connection.name}`);
  const discovery = await discoverOAuth(engine, url);
  if (discovery === undefined)
    throw unsupported('oauth_not_supported', `${url} does not say how to authorize it; it might need a header instead.`);
  const state = randomBytes(32).toString('base64url');
  const flow = await begin(engine, { url, state, callback, discovery, before: connection && storedOAuth(engine, connection) });
  const hash = secretHash(state);
  const now = engine.clock.now();
  await engine.store.transaction().execute(async (trx) => {
    await forgetExpiredFlows(trx, now);
    await insertFlow(trx, {
      state_hash: hash,
      team_id: teamId,
      connection_id: connection?.id ?? null,
      name: fields.name,
      type: fields.integration_type ?? defaultType,
      server_url: url,
      return_url: returnUrl,
      details: engine.connections.box.seal(JSON.stringify(flow.details), hash),
      expires_at: now + flowLife,
    });
  });
  return flow.url;
}

interface FlowStart {
  url: string;
  state: string;
  callback: string;
  discovery: OAuthDiscovery;
  before: StoredOAuth | undefined;
}

async function begin(
  engine: HasClock & HasConnections,
  { url, state, callback, discovery, before }: FlowStart,
): Promise<{ url: string; details: Details }> {
  const { server, metadata } = discovery;
  return withOAuthLibrary(engine, async (sdk, fetchFn) => {
    const resource = resourceOf(sdk, url, discovery);
    const scopes = scopesOf(discovery);
    const scope = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
    const registeredClient = before?.server === server && redirects(before.client).includes(callback) ? before.client : undefined;
    if (registeredClient === undefined && metadata.registration_endpoint === undefined)
      throw unsupported(
        'oauth_registration_not_supported',
        `${server} does not support client registration; pass a token as a header instead.`,
      );
    const client =
      registeredClient ??
      (await sdk.registerClient(server, { metadata, clientMetadata: clientMetadata(metadata, callback), ...scope, fetchFn }));
    const parameters = { metadata, clientInformation: client, redirectUrl: callback, state, ...scope };
    const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(server, {
      ...parameters,
      ...(resource === undefined ? {} : { resource: new URL(resource) }),
    });
    const details = { server, metadata, client, ...(resource === undefined ? {} : { resource }), scopes, verifier: codeVerifier, callback };
    return { url: authorizationUrl.href, details };
  }).catch((error: unknown) => {
    if (error instanceof ServiceError) throw error;
    const reason = error instanceof Error ? firstLine(firstProblem(error.message)).slice(0, 300) : 'it failed';
    throw unsupported('oauth_failed', `The authorization at ${server} could not be started: ${reason.replace(/\.$/, '')}.`);
  });
}

/** The name of the server in token requests. It must not name another server (RFC 9728, section 3.3). */
function resourceOf(sdk: OAuthLibrary, url: string, { resource }: OAuthDiscovery): string | undefined {
  if (resource === undefined) return undefined;
  if (sdk.checkResourceAllowed({ requestedResource: url, configuredResource: resource.resource })) return resource.resource;
  throw unsupported('oauth_failed', `${url} identifies itself as ${resource.resource}, which is another server.`);
}

/** The scopes that the server requires or, failing that, those that it supports, plus the one for renewing tokens if there is one. */
function scopesOf({ scope, resource, metadata }: OAuthDiscovery): string[] {
  const required = scope?.split(' ').filter((word) => word !== '') ?? resource?.scopes_supported ?? [];
  const offline = metadata.scopes_supported?.includes('offline_access') ? ['offline_access'] : [];
  return [...new Set([...required, ...offline])];
}

/** A client without a secret, if the server allows one: it is protected by PKCE. */
function clientMetadata({ token_endpoint_auth_methods_supported: methods }: AuthorizationServerMetadata, callback: string) {
  const authMethod =
    methods === undefined || methods.includes('none') ? 'none' : methods.find((method) => /^client_secret_(basic|post)$/.test(method));
  return {
    client_name: 'aops',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(authMethod === undefined ? {} : { token_endpoint_auth_method: authMethod }),
  };
}

const redirects = (client: OAuthClientInformationMixed): string[] => ('redirect_uris' in client ? client.redirect_uris : []);

function storedOAuth({ connections: { box } }: HasConnections, row: ConnectionRow): StoredOAuth | undefined {
  try {
    return openOAuth(box, row);
  } catch (error) {
    if (error instanceof UnreadableSecretError) return undefined;
    throw error;
  }
}

/** The query of the callback URL. */
export interface CallbackQuery {
  state: string;
  code?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
}

/** Why an authorization failed, as a sentence for the person. */
export class AuthorizationFailure extends Error {
  readonly returnUrl: string | null;

  constructor(message: string, returnUrl: string | null = null) {
    super(message);
    this.name = 'AuthorizationFailure';
    this.returnUrl = returnUrl;
  }
}

/** Completes an authorization, which works only once. Throws AuthorizationFailure. */
export async function finishAuthorization(
  engine: HasStore & HasClock & HasLog & HasWorker & HasConnections,
  query: CallbackQuery,
): Promise<{ row: ConnectionRow; returnUrl: string | null }> {
  const flow = await takeFlow(engine.store, secretHash(query.state), engine.clock.now());
  if (flow === undefined)
    throw new AuthorizationFailure('This authorization is unknown, has already been used, or has expired. Start it again.');
  const { return_url: returnUrl } = flow;
  if (query.code === undefined)
    throw new AuthorizationFailure(`The authorization failed: ${query.error ?? 'there is no code'}.`, returnUrl);
  const details = JSON.parse(engine.connections.box.open(flow.details, flow.state_hash)) as Details;
  const tokens = await exchange(engine, details, { code: query.code, iss: query.iss }).catch((error: unknown) => {
    engine.log('warn', 'a code could not be exchanged for tokens', { server: details.server, reason: (error as Error).message });
    const reason = error instanceof OutboundError ? error.message : 'the authorization server refused it';
    throw new AuthorizationFailure(`The authorization could not be completed: ${reason}.`, returnUrl);
  });
  return { row: await keep(engine, flow, details, tokens), returnUrl };
}

const exchange = (
  engine: HasClock & HasConnections,
  { server, metadata, client, resource, verifier, callback }: Details,
  { code, iss }: { code: string; iss: string | undefined },
): Promise<OAuthTokens> =>
  withOAuthLibrary(engine, (sdk, fetch) => {
    const requests = notingOutages(fetch);
    const parameters = {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      ...(iss === undefined ? {} : { iss }),
      codeVerifier: verifier,
      redirectUri: callback,
      ...(resource === undefined ? {} : { resource: new URL(resource) }),
    };
    return sdk.exchangeAuthorization(server, { ...parameters, fetchFn: requests.fetchFn }).catch((error: unknown) => {
      if (requests.outage === undefined) throw error;
      throw new OutboundError(`the authorization server responded with ${requests.outage}. Start it again later`, { cause: error });
    });
  });

async function keep(
  engine: HasStore & HasClock & HasWorker & HasConnections,
  flow: OAuthFlowRow,
  details: Details,
  tokens: OAuthTokens,
): Promise<ConnectionRow> {
  const { server, metadata, client, resource } = details;
  const secrets = withTokens({ server, metadata, client, ...(resource === undefined ? {} : { resource }) }, tokens, engine.clock.now());
  const id = flow.connection_id ?? newId();
  const scopes = tokens.scope === undefined ? details.scopes : tokens.scope.split(' ').filter((word) => word !== '');
  const authorizedFields = {
    server_url: flow.server_url,
    auth_method: 'oauth' as const,
    oauth: sealedOAuth(engine.connections.box, id, secrets),
    oauth_scopes: JSON.stringify(scopes),
  };
  return changeConnection(engine, async (trx) => {
    if (flow.connection_id === null)
      return insertNewConnection(trx, engine, { id, teamId: flow.team_id, name: flow.name, type: flow.type, ...authorizedFields });
    const row = await findConnection(trx, flow.team_id, id);
    // Its secret headers may be for another server now.
    if (row !== undefined && !hasSameOrigin(row.server_url, flow.server_url))
      throw new AuthorizationFailure('The connection was moved to another server in the meantime. Start again.', flow.return_url);
    const updated_at = isoTime(engine.clock.now());
    const healthy = { broken_at: null, broken_reason: null };
    const changedRow =
      row && (await updateConnectionRow(trx, id, { ...authorizedFields, ...healthy, revision: row.revision + 1, updated_at }));
    if (changedRow === undefined) throw new AuthorizationFailure('The connection was deleted in the meantime.', flow.return_url);
    return changedRow;
  });
}

/** Where the person is sent afterwards. The service does not connect to it, so any host is allowed. */
function checkReturnUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalid('return_url', 'must be an http or https URL');
  return url.href;
}

const invalid = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });

const unsupported = (error: string, message: string): ServiceError => new ServiceError(400, error, message);
