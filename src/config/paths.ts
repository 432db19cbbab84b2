/** Where aops stores its files: explicit variables first, then XDG (or the Windows folders), then the usual folders in the home directory. */
import { userInfo } from 'node:os';
import path from 'node:path';
import { AopsError, exitCodes } from '../base/errors.ts';

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
 * The home directory of the user: HOME, or the one that the system knows. An empty or relative HOME is ignored, because the aliases,
 * credentials, and compiled code of whatever is in the current directory would be used. Undefined for a user without any, as in some
 * containers.
 * @param recorded what the system knows
 */
export function homeFolder(env: Environment, platform: string, recorded = () => userInfo().homedir): string | undefined {
  const { isAbsolute } = rules(platform);
  if (env.HOME !== undefined && isAbsolute(env.HOME)) return env.HOME;
  try {
    const home = recorded();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

const rules = (platform: string): path.PlatformPath => (platform === 'win32' ? path.win32 : path.posix);

/**
 * The folders for `env` and the home directory `home`. Relative XDG values are ignored, as the XDG base directory
 * specification requires; a relative AOPS_*_DIR is resolved against `cwd`, because the user set it for this tool.
 * @throws AopsError if a folder would be in the home directory of a user without one
 */
export function configPaths(env: Environment, home: string | undefined, platform = 'linux', cwd = '.'): ConfigPaths {
  const { join, resolve, isAbsolute } = rules(platform);
  const usual = platform === 'win32' ? onWindows(env) : onUnix;
  const folder = (name: keyof ConfigPaths, override: string | undefined, base: string | undefined): string => {
    if (override) return resolve(cwd, override);
    if (base && isAbsolute(base)) return join(base, 'aops');
    const { variable, inHome, leaf } = usual[name];
    if (variable && isAbsolute(variable)) return join(variable, ...leaf);
    if (home === undefined) throw noHome();
    return join(home, ...inHome, ...leaf);
  };
  return {
    config: folder('config', env.AOPS_CONFIG_DIR, env.XDG_CONFIG_HOME),
    data: folder('data', env.AOPS_DATA_DIR, env.XDG_DATA_HOME),
    cache: folder('cache', env.AOPS_CACHE_DIR, env.XDG_CACHE_HOME),
  };
}

/** Where a folder is without variables that are the same everywhere: `leaf` in the folder of a variable, or in a folder of the home directory. */
interface UsualPlace {
  variable?: string | undefined;
  inHome: readonly string[];
  leaf: readonly string[];
}

const onUnix: Record<keyof ConfigPaths, UsualPlace> = {
  config: { inHome: ['.config'], leaf: ['aops'] },
  data: { inHome: ['.local', 'share'], leaf: ['aops'] },
  cache: { inHome: ['.cache'], leaf: ['aops'] },
};

const onWindows = (env: Environment): Record<keyof ConfigPaths, UsualPlace> => ({
  config: { variable: env.APPDATA, inHome: ['AppData', 'Roaming'], leaf: ['aops'] },
  data: { variable: env.LOCALAPPDATA, inHome: ['AppData', 'Local'], leaf: ['aops', 'data'] },
  cache: { variable: env.LOCALAPPDATA, inHome: ['AppData', 'Local'], leaf: ['aops', 'cache'] },
});

const noHome = (): AopsError =>
  new AopsError('You have no home directory in which aops could keep its files.', {
    code: 'no_home_directory',
    exit: exitCodes.usage,
    hint: 'Set HOME to the path of a folder, or set AOPS_CONFIG_DIR, AOPS_DATA_DIR, and AOPS_CACHE_DIR.',
  });
