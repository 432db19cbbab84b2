/** Calls a service as the owner of its data directory, whichever profile is selected. */
import { readFile } from 'node:fs/promises';
import { newClient } from '../../cli/connect/connection.ts';
import { type LocalState, reachable, tokenFile } from '../../cli/connect/local-state.ts';
import { networkTo } from '../../cli/connect/network.ts';
import type { Context } from '../../cli/kit/context.ts';
import { bearerCredential } from '../../client/access/credential.ts';
import type { Client } from '../../client/client.ts';

/** A client with the owner's token that uses the local address of the service. The caller closes it. */
export async function ownerClient(context: Context, { url, data_dir, certificate }: LocalState): Promise<Client> {
  const token = (await readFile(tokenFile(data_dir), 'utf8')).trim();
  context.terminal.protect(token);
  const address = reachable(url);
  // The certificate is for its public name, so it is pinned.
  const network = certificate === undefined ? await networkTo(context, { urls: [address], isStored: true }) : { pinned: certificate };
  return newClient(context, address, bearerCredential(token), network);
}
