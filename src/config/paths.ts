/** Where aops stores its files: explicit variables first, then XDG (or the Windows folders), then the usual folders in the home directory. */
import path from 'node:path';

/** Environment variables as passed by the launcher. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Absolute folders. None of them is created here. */
export interface ConfigPaths {
  /** config.json and credentials.json. */
  config: string;
  /** Data of the local service. */
  data: string;
  /** Files that may be deleted at any time: completion and rate-limit caches, access tokens. */
  cache: string;
}

/**
 * The folders for `env` and the home directory `home`. Relative XDG values are ignored, as the XDG base directory
 * specification requires; a relative AOPS_*_DIR is resolved against `cwd`, because the user set it for this tool.
 */
export function configPaths(env: Environment, home: string, platform = 'linux', cwd = '.'): ConfigPaths {
  const windows = platform === 'win32';
  const { join, resolve, isAbsolute } = windows ? path.win32 : path.posix;
  const folder = (
    override: string | undefined,
    base: string | undefined,
    fallback: string[],
    windowsBase: string | undefined,
    leaf?: string,
  ) => {
    if (override) return resolve(cwd, override);
    if (base && isAbsolute(base)) return join(base, 'aops');
    if (!windows) return join(home, ...fallback, 'aops');
    return join(windowsBase && isAbsolute(windowsBase) ? windowsBase : join(home, 'AppData', 'Local'), 'aops', ...(leaf ? [leaf] : []));
  };
  const roamingFolder = env.APPDATA ?? join(home, 'AppData', 'Roaming');
  return {
    config: folder(env.AOPS_CONFIG_DIR, env.XDG_CONFIG_HOME, ['.config'], roamingFolder),
    data: folder(env.AOPS_DATA_DIR, env.XDG_DATA_HOME, ['.local', 'share'], env.LOCALAPPDATA, 'data'),
    cache: folder(env.AOPS_CACHE_DIR, env.XDG_CACHE_HOME, ['.cache'], env.LOCALAPPDATA, 'cache'),
  };
}
