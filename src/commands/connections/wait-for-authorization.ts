/** Waiting until a person has authorized something: a connection appears with tokens, or one has others than before. */

import type { Context } from '../../cli/kit/context.ts';
import { allConnections } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';

/** How often the service is asked. */
const lookMilliseconds = 1_000;

/** Connections as they are: when each was changed last. */
export async function changeTimes(context: Context): Promise<ReadonlyMap<string, string>> {
  const times = new Map<string, string>();
  for await (const { id, updated_at } of allConnections(context)) times.set(id, updated_at);
  return times;
}

/**
 * The connection that was authorized since. Rejects with the signal's reason.
 * @param wanted the connection that there was, or the name of a new one
 */
export async function authorizedSince(
  context: Context,
  before: ReadonlyMap<string, string>,
  wanted: { id?: string | undefined; name?: string | undefined },
): Promise<Connection> {
  for (;;) {
    for await (const connection of allConnections(context)) {
      const { id, name, auth_method, has_oauth_tokens, broken_at, updated_at } = connection;
      const isMeant = wanted.id === undefined ? !before.has(id) && name === (wanted.name ?? name) : id === wanted.id;
      const isAuthorized = auth_method === 'oauth' && has_oauth_tokens !== false && !broken_at;
      if (isMeant && isAuthorized && before.get(id) !== updated_at) return connection;
    }
    await context.clock.sleep(lookMilliseconds, context.signal);
  }
}
