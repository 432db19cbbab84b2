/** Waits for an authorization: until a new connection has tokens, or an existing one has new tokens. */

import type { Context } from '../../cli/kit/context.ts';
import { allConnections } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';

/** The polling interval. */
const pollMilliseconds = 1_000;

/** When each connection was last changed. */
export async function changeTimes(context: Context): Promise<ReadonlyMap<string, string>> {
  const times = new Map<string, string>();
  for await (const { id, updated_at } of allConnections(context)) times.set(id, updated_at);
  return times;
}

/**
 * The connection that has been authorized since then. Rejects with the signal's reason.
 * @param selector the existing connection, or the name of the new one
 */
export async function authorizedSince(
  context: Context,
  before: ReadonlyMap<string, string>,
  selector: { id?: string | undefined; name?: string | undefined },
): Promise<Connection> {
  for (;;) {
    for await (const connection of allConnections(context)) {
      const { id, name, auth_method, has_oauth_tokens, broken_at, updated_at } = connection;
      const isMeant = selector.id === undefined ? !before.has(id) && name === (selector.name ?? name) : id === selector.id;
      const isAuthorized = auth_method === 'oauth' && has_oauth_tokens !== false && !broken_at;
      if (isMeant && isAuthorized && before.get(id) !== updated_at) return connection;
    }
    await context.clock.sleep(pollMilliseconds, context.signal);
  }
}
