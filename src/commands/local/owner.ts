/** Calls a service as the owner of its data directory, whichever profile is selected. */
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../base/errors.ts';
import { newClient } from '../../cli/connect/connection.ts';
import { type LocalState, reachable, tokenFile } from '../../cli/connect/local-state.ts';
import { networkTo } from '../../cli/connect/network.ts';
import type { Context } from '../../cli/kit/context.ts';
import { bearerCredential } from '../../client/access/credential.ts';
import type { Client } from '../../client/client.ts';

/**
 * A client with the owner's token that uses the local address of the service. The caller closes it.
 * @throws UsageError `no_owner_token` for a node of a shared database
 */
export async function ownerClient(context: Context, { url, data_dir, certificate, database }: LocalState): Promise<Client> {
  if (database !== undefined)
    throw new UsageError(
      `The service at ${url} is a node of the database ${database}, so its data directory contains no token of the owner.`,
      'Create a token with `aops local token create --database-url URL`, and sign in with it: `aops auth login`, or on the team page.',
      'no_owner_token',
    );
  const token = (await readFile(tokenFile(data_dir), 'utf8')).trim();
  context.terminal.protect(token);
  const address = reachable(url);
  // The certificate is for its public name, so it is pinned.
  const network = certificate === undefined ? await networkTo(context, { urls: [address], isStored: true }) : { pinned: certificate };
  return newClient(context, address, bearerCredential(token), network);
}
