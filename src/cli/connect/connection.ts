/** Creates clients from the resolved configuration. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import { bearerCredential, type Credential } from '../../client/access/credential.ts';
import type { ClientCredentials } from '../../client/access/token-request.ts';
import type { Client } from '../../client/client.ts';
import type { Network } from '../../client/network/network.ts';
import { originOf } from '../../config/base-url.ts';
import type { UsableCredential } from '../../config/credential.ts';
import { requireBaseUrl, requireCredential } from '../../config/resolve.ts';
import type { Context } from '../kit/context.ts';
import { reportClientEvent } from './client-events.ts';
import { journalOf } from './journal.ts';
import { networkTo } from './network.ts';

/** The client of the resolved profile. @throws AopsError when not signed in, or no address is configured */
export async function connect(context: Context): Promise<Client> {
  const { baseUrl, credential, network, identity } = await resolveAccess(context);
  const { source, name } = context.config().credential;
  // Signing in alone would have no effect.
  const rejectedHint =
    source === 'environment'
      ? `Correct ${name}, or unset it and sign in with \`aops auth login\`; ${name} takes precedence over a stored credential.`
      : undefined;
  return newClient(context, baseUrl, credential, network, { identity, rejectedHint });
}

/** The value of a valid token or key for the resolved profile. @throws AopsError when not signed in */
export async function accessToken(context: Context): Promise<string> {
  const configuredCredential = requireCredential(context.config());
  if (configuredCredential.type === 'token') return configuredCredential.token;
  const { credential } = await resolveAccess(context);
  return (await credential.authorization(context.signal)).replace(/^Bearer /, '');
}

/** The address, credential and network of a client. */
interface Access {
  baseUrl: string;
  credential: Credential;
  network: Network;
  /** Identifies the credential by its displayable name: no secret, not even hashed, may become part of a file name. */
  identity: readonly string[];
}

async function resolveAccess(context: Context): Promise<Access> {
  const config = context.config();
  const configuredCredential = requireCredential(config);
  const baseUrl = requireBaseUrl(config);
  const isStored = config.credential.source === 'profile';
  const identity = [config.credential.masked ?? ''];
  if (configuredCredential.type === 'token') {
    context.terminal.protect(configuredCredential.token);
    const network = await networkTo(context, { urls: [baseUrl], isStored });
    return { baseUrl, credential: bearerCredential(configuredCredential.token), network, identity };
  }
  const client = clientCredentials(configuredCredential);
  const network = await networkTo(context, { urls: [baseUrl, client.token_url], isStored });
  const credential = await oauthCredential(context, client, network, originOf(baseUrl));
  return { baseUrl, credential, network, identity };
}

/** @throws AopsError `token_url_missing` */
export function clientCredentials(credential: Extract<UsableCredential, { type: 'client_credentials' }>): ClientCredentials {
  const { client_id, client_secret, token_url, scope } = credential;
  if (token_url !== undefined) return { client_id, client_secret, token_url, scope };
  throw new AopsError('Client credentials require the URL of a token endpoint.', {
    code: 'token_url_missing',
    exit: exitCodes.auth,
    hint: 'Set AOPS_TOKEN_URL.',
  });
}

/**
 * A credential that fetches tokens when it needs them.
 * @param sharedAt origin of the service whose tokens are cached on disk; undefined for no cache
 */
export async function oauthCredential(
  context: Context,
  credentials: ClientCredentials,
  network: Network,
  sharedAt?: string,
): Promise<Credential> {
  const { clientCredential } = await import('../../client/access/oauth.ts');
  const cache = sharedAt === undefined ? undefined : await tokenCache(context, credentials, sharedAt);
  return clientCredential(credentials, {
    userAgent: userAgent(context),
    clock: context.clock,
    network,
    signal: context.signal,
    maxWaitMilliseconds: context.config().max_wait.value,
    protect: (secret) => context.terminal.protect(secret),
    onEvent: reportClientEvent(context),
    ...(cache ? { cache } : {}),
  });
}

/** The cache for the tokens of a client for a service. */
export async function tokenCache(context: Context, credentials: ClientCredentials, origin: string) {
  const { TokenCache } = await import('../../client/access/token-cache.ts');
  const { client_id: clientId, client_secret: clientSecret, token_url: tokenUrl, scope } = credentials;
  return new TokenCache(context.paths.cache, { origin, tokenUrl, clientId, clientSecret, scope });
}

export const userAgent = ({ launcher }: Context): string => `aops/${version} (node ${launcher.nodeVersion}; ${launcher.platform})`;

/**
 * A client for an address and a credential. The caller closes it.
 * @param options `identity` names the credential, to share its rate limit with other processes; `rejectedHint` says what to do
 * when the service rejects it
 */
export async function newClient(
  context: Context,
  baseUrl: string,
  credential: Credential,
  network: Network,
  { identity, rejectedHint }: { identity?: readonly string[]; rejectedHint?: string | undefined } = {},
): Promise<Client> {
  const { Client, DryRunClient, SharedLimits } = await import('../../client/index.ts');
  const { flags, clock, signal, deadline, retryBudget, env } = context;
  const sharing = identity !== undefined && (env.AOPS_NO_RATE_SHARING ?? '') === '';
  const options = {
    baseUrl,
    credential,
    network,
    userAgent: userAgent(context),
    signal,
    ...(deadline === undefined ? {} : { deadline }),
    clock,
    maxWaitMilliseconds: context.config().max_wait.value,
    retryBudget,
    ...(sharing ? { sharedLimits: new SharedLimits(context.paths.cache, [originOf(baseUrl), ...identity]) } : {}),
    ...(rejectedHint === undefined ? {} : { rejectedHint }),
    onEvent: reportClientEvent(context),
    journal: journalOf(context),
    ...(flags.idempotencyKey === undefined ? {} : { idempotencyKey: flags.idempotencyKey }),
  };
  return flags.dryRun ? new DryRunClient(options) : new Client(options);
}
