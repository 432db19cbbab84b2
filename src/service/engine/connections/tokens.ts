/** Access tokens of authorized connections. They are renewed before they expire, and when the server refuses them. */
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { TokenSource } from '../../connections/mcp-session.ts';
import { AuthorizationNeededError, ServerProblem } from '../../connections/problems.ts';
import { openOAuth, type StoredOAuth, sealedOAuth } from '../../connections/secrets.ts';
import { hasSameOrigin } from '../../outbound/check-url.ts';
import { OutboundError } from '../../outbound/guarded-fetch.ts';
import { replaceTokens } from '../../store/connections/connections.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ConnectionRow } from '../../store/database/schema.ts';
import type { HasClock, HasConnections, HasStore } from '../engine.ts';
import { notingOutages, withOAuthLibrary } from './oauth-library.ts';

/** How many milliseconds before its end a token is renewed, because a request takes some time. */
const margin = 30_000;

/** A connection as it was when its use began. */
type UsedConnection = Pick<ConnectionRow, 'id' | 'server_url'>;

/** The tokens of a connection. Rejects with AuthorizationNeededError if a person has to authorize it again. */
export function tokenSource(engine: HasStore & HasClock & HasConnections, connection: UsedConnection): TokenSource {
  let usedToken: string | undefined;
  return {
    async token() {
      const { oauth } = await current(engine, engine.store, connection);
      usedToken = (await fresh(engine, connection, oauth)).accessToken;
      return usedToken;
    },
    async onUnauthorized() {
      await renewTokens(engine, connection, usedToken);
    },
  };
}

/** The tokens, renewed if they expire soon. If the authorization server is out of order, they are used until they expire. */
async function fresh(engine: HasClock & HasConnections, connection: UsedConnection, oauth: StoredOAuth): Promise<StoredOAuth> {
  const { expiresAt, refreshToken, accessToken } = oauth;
  if (expiresAt === undefined || refreshToken === undefined || engine.clock.now() < expiresAt - margin) return oauth;
  try {
    return await renewTokens(engine, connection, accessToken);
  } catch (error) {
    if (error instanceof ServerProblem && engine.clock.now() < expiresAt) return oauth;
    throw error;
  }
}

/** The authorization, also as it is stored. It is not for the server to which the connection was moved in the meantime. */
async function current(
  engine: HasConnections,
  db: Queries,
  { id, server_url }: UsedConnection,
): Promise<{ oauth: StoredOAuth; sealed: string }> {
  const row = await db.selectFrom('connections').select(['id', 'oauth', 'server_url']).where('id', '=', id).executeTakeFirst();
  if (row !== undefined && !hasSameOrigin(row.server_url, server_url))
    throw new AuthorizationNeededError('the connection was moved to another server');
  const oauth = row === undefined ? undefined : openOAuth(engine.connections.box, row);
  if (!row?.oauth || oauth === undefined) throw new AuthorizationNeededError('it has not been authorized yet');
  return { oauth, sealed: row.oauth };
}

/** Tokens other than the one that was refused. Callers at the same time share one renewal. */
function renewTokens(
  engine: HasClock & HasConnections,
  connection: UsedConnection,
  refusedToken: string | undefined,
): Promise<StoredOAuth> {
  // By server, too: tokens of the previous one are not for whoever uses the connection after it was moved.
  const { origin } = new URL(connection.server_url);
  return engine.connections.renewals.run(`${connection.id} at ${origin}`, (db) => renew(engine, db, connection, refusedToken));
}

async function renew(
  engine: HasClock & HasConnections,
  db: Queries,
  connection: UsedConnection,
  refusedToken: string | undefined,
): Promise<StoredOAuth> {
  const { oauth, sealed } = await current(engine, db, connection);
  // Another caller, or another node, has already renewed it.
  if (oauth.accessToken !== refusedToken) return oauth;
  if (oauth.refreshToken === undefined) throw new AuthorizationNeededError(endedMessage);
  const tokens = await refresh(engine, oauth, oauth.refreshToken);
  const refreshedOAuth = withTokens(oauth, tokens, engine.clock.now());
  // Not recorded as a change, because it is the same authorization. Other changes in the meantime do not matter: the previous refresh
  // token might not be valid any more.
  await replaceTokens(db, connection.id, { before: sealed, after: sealedOAuth(engine.connections.box, connection.id, refreshedOAuth) });
  return refreshedOAuth;
}

const endedMessage = 'its authorization has ended; a person has to authorize it again';

async function refresh(
  engine: HasClock & HasConnections,
  { server, metadata, client, resource }: StoredOAuth,
  refreshToken: string,
): Promise<OAuthTokens> {
  return withOAuthLibrary(engine, async (sdk, fetch) => {
    const requests = notingOutages(fetch);
    try {
      return await sdk.refreshAuthorization(server, {
        metadata,
        clientInformation: client,
        refreshToken,
        ...(resource === undefined ? {} : { resource }),
        fetchFn: requests.fetchFn,
      });
    } catch (error) {
      if (error instanceof OutboundError) throw new ServerProblem('server', `its access token could not be renewed: ${error.message}`);
      // What is wrong with an authorization is a 400 or 401 (RFC 6749, section 5.2).
      if (requests.outage !== undefined || (error instanceof sdk.OAuthError && error.code === 'temporarily_unavailable'))
        throw new ServerProblem('server', 'its access token could not be renewed at the moment');
      throw new AuthorizationNeededError(endedMessage);
    }
  });
}

/** An authorization with other tokens. */
export function withTokens(
  { refreshToken: _refresh, expiresAt: _expires, ...oauth }: Omit<StoredOAuth, 'accessToken'>,
  tokens: OAuthTokens,
  now: number,
): StoredOAuth {
  return {
    ...oauth,
    accessToken: tokens.access_token,
    ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
    ...(tokens.expires_in === undefined ? {} : { expiresAt: now + tokens.expires_in * 1_000 }),
  };
}
