/** From the resolved configuration to a client. */
import { AopsError, exitCodes } from '../base/errors.ts';
import { version } from '../base/version.ts';
import type { Client } from '../client/client.ts';
import type { Credential } from '../client/credential.ts';
import { requireBaseUrl, requireCredential } from '../config/resolve.ts';
import { reportClientEvent } from './client-events.ts';
import type { Context } from './context.ts';

/** The client of the resolved profile. @throws AopsError when not signed in, or no address is known */
export async function connect(context: Context): Promise<Client> {
  const config = context.config();
  const given = requireCredential(config);
  const baseUrl = requireBaseUrl(config);
  if (given.type === 'token') {
    context.terminal.protect(given.token);
    const { bearerCredential } = await import('../client/credential.ts');
    return newClient(context, baseUrl, bearerCredential(given.token));
  }
  const { client_id, client_secret, token_url } = given;
  if (token_url === undefined) {
    throw new AopsError('Client credentials need the address of the token endpoint.', {
      code: 'token_url_missing',
      exit: exitCodes.auth,
      hint: 'Set AOPS_TOKEN_URL.',
    });
  }
  context.terminal.protect(client_secret);
  const { clientCredential } = await import('../client/oauth.ts');
  return newClient(context, baseUrl, clientCredential({ client_id, client_secret, token_url }, context.clock));
}

/** A client for an address and a credential. The caller closes it. */
export async function newClient(context: Context, baseUrl: string, credential: Credential): Promise<Client> {
  const { Client, DryRunClient } = await import('../client/index.ts');
  const { env, flags, clock, signal } = context;
  const options = {
    baseUrl,
    credential,
    userAgent: `aops/${version} (node; ${context.launcher.platform})`,
    signal,
    clock,
    maxWaitMilliseconds: context.config().max_wait.value,
    proxied: ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].some((name) => env[name]),
    onEvent: reportClientEvent(context),
    ...(flags.idempotencyKey === undefined ? {} : { idempotencyKey: flags.idempotencyKey }),
  };
  return flags.dryRun ? new DryRunClient(options) : new Client(options);
}
