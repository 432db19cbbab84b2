/** Access tokens of an authorized connection: renewed before they expire, and when the server refuses them. */
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { TokenSource } from '../../connections/mcp-session.ts';
import { AuthorizationNeededError, ServerProblem } from '../../connections/problems.ts';
import { type KeptOAuth, openOAuth, sealedOAuth } from '../../connections/secrets.ts';
import { OutboundError } from '../../outbound/guarded-fetch.ts';
import { updateConnectionRow } from '../../store/connections/connections.ts';
import type { ConnectionRow } from '../../store/database/schema.ts';
import type { HasClock, HasConnections, HasStore } from '../engine.ts';
import { withOAuthLibrary } from './oauth-library.ts';

/** Milliseconds before its end at which a token is renewed: a request takes its time. */
const margin = 30_000;

/** Where the tokens of a connection come from. Rejects with AuthorizationNeededError when a person has to authorize it again. */
export function tokenSource(engine: HasStore & HasClock & HasConnections, { id, revision }: ConnectionRow): TokenSource {
  let used: string | undefined;
  return {
    async token() {
      const kept = await current(engine, id);
      const isOver = kept.expiresAt !== undefined && kept.expiresAt - margin <= engine.clock.now();
      const good = isOver && kept.refreshToken !== undefined ? await renewed(engine, { id, revision }, kept.accessToken) : kept;
      used = good.accessToken;
      return used;
    },
    async onUnauthorized() {
      await renewed(engine, { id, revision }, used);
    },
  };
}

async function current(engine: HasStore & HasConnections, id: string): Promise<KeptOAuth> {
  const row = await engine.store.selectFrom('connections').select(['id', 'oauth']).where('id', '=', id).executeTakeFirst();
  const kept = row === undefined ? undefined : openOAuth(engine.connections.box, row);
  if (kept === undefined) throw new AuthorizationNeededError('nobody has authorized it yet');
  return kept;
}

/** Tokens other than the one that was refused. Callers at the same time share one renewal. */
function renewed(
  engine: HasStore & HasClock & HasConnections,
  connection: { id: string; revision: number },
  refused: string | undefined,
): Promise<KeptOAuth> {
  return engine.connections.renewals.run(connection.id, () => renew(engine, connection, refused));
}

async function renew(
  engine: HasStore & HasClock & HasConnections,
  { id, revision }: { id: string; revision: number },
  refused: string | undefined,
): Promise<KeptOAuth> {
  const kept = await current(engine, id);
  // Somebody else was faster.
  if (kept.accessToken !== refused) return kept;
  if (kept.refreshToken === undefined) throw new AuthorizationNeededError(ended);
  const tokens = await refresh(engine, kept, kept.refreshToken);
  const fresh = withTokens(kept, tokens, engine.clock.now());
  // Not noted as a change: it is the same authorization.
  await updateConnectionRow(engine.store, id, { oauth: sealedOAuth(engine.connections.box, id, fresh) }, revision);
  return fresh;
}

const ended = 'its authorization has ended; a person has to authorize it again';

async function refresh(
  engine: HasClock & HasConnections,
  { server, metadata, client, resource }: KeptOAuth,
  refreshToken: string,
): Promise<OAuthTokens> {
  return withOAuthLibrary(engine, async (sdk, fetchFn) => {
    try {
      return await sdk.refreshAuthorization(server, {
        metadata,
        clientInformation: client,
        refreshToken,
        ...(resource === undefined ? {} : { resource }),
        fetchFn,
      });
    } catch (error) {
      if (error instanceof OutboundError) throw new ServerProblem('server', `its access token could not be renewed: ${error.message}`);
      if (error instanceof sdk.OAuthError && error.code === 'temporarily_unavailable')
        throw new ServerProblem('server', 'its access token could not be renewed just now');
      throw new AuthorizationNeededError(ended);
    }
  });
}

/** An authorization with other tokens. */
export function withTokens(
  { refreshToken: _refresh, expiresAt: _expires, ...kept }: Omit<KeptOAuth, 'accessToken'>,
  tokens: OAuthTokens,
  now: number,
): KeptOAuth {
  return {
    ...kept,
    accessToken: tokens.access_token,
    ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
    ...(tokens.expires_in === undefined ? {} : { expiresAt: now + tokens.expires_in * 1_000 }),
  };
}
