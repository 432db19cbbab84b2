/** Words from the service for the cursor: returns the cached words immediately, and updates the cache in a background process. */
import { spawn } from 'node:child_process';
import type { Context } from '../../cli/kit/context.ts';
import type { RemoteSource } from '../../cli/kit/flags.ts';
import { flagName } from '../../cli/kit/flags.ts';
import { isOwned } from '../../cli/picking/owned-sources.ts';
import type { Word } from '../../cli/picking/sources.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { CompletionCache } from './cache.ts';

/** Flags that select the service. */
const placeFlags = ['profile', 'team', 'baseUrl'] as const;
type Place = Partial<Record<(typeof placeFlags)[number], string>>;

/**
 * @param before the words of the line, including any --profile, --team and --base-url
 * @param of the agent or queue of the line, for words that belong to one
 */
export async function remoteWords(
  context: Context,
  source: RemoteSource,
  before: readonly string[],
  of: string | undefined,
): Promise<Word[]> {
  if (isOwned(source) && of === undefined) return [];
  const place = placeOf(before);
  const owner = isOwned(source) ? of : undefined;
  const cache = cacheFor(context, source, place, owner);
  if (!cache) return [];
  const { words, fresh } = await cache.read(context.clock.now());
  if (!fresh && (await cache.claim(context.clock.now()))) refresh(context, source, place, owner);
  return words;
}

/** The cache for the service that the flags and the configuration select; undefined if not signed in. */
export function cacheFor(context: Context, source: RemoteSource, place: Place, of: string | undefined): CompletionCache | undefined {
  try {
    const { env, store, project } = context;
    const { base_url, team_id, credential } = resolveConfig({ flags: place, env, store, project });
    if (!credential.value || base_url.value === undefined || team_id.value === undefined) return undefined;
    return new CompletionCache(context.paths.cache, source, [
      base_url.value,
      team_id.value,
      credential.masked ?? '',
      ...(of === undefined ? [] : [of]),
    ]);
  } catch {
    // Completion never prints errors.
    return undefined;
  }
}

function placeOf(before: readonly string[]): Place {
  return Object.fromEntries(
    placeFlags.flatMap((key) => {
      const at = before.lastIndexOf(flagName(key));
      const value = at < 0 ? undefined : before[at + 1];
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

function refresh({ launcher, env }: Context, source: RemoteSource, place: Place, of: string | undefined): void {
  const flags = Object.entries(place).flatMap(([key, value]) => [flagName(key), value]);
  const words = ['__refresh', ...flags, '--timeout', '10s', '--no-input', '--quiet', '--', source, ...(of === undefined ? [] : [of])];
  const [program, ...first] = launcher.command;
  const child = spawn(program, [...first, ...words], {
    detached: true,
    stdio: 'ignore',
    env,
  });
  child.on('error', () => undefined);
  child.unref();
}
