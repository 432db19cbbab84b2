/**
 * How a client starts `aops mcp serve`: the program, its arguments, the folders that are not in their default places, and the files that
 * connecting requires.
 */
import path from 'node:path';
import type { Context } from '../../cli/kit/context.ts';
import { configPaths, homeFolder } from '../../config/paths.ts';

/** What a client executes. It contains no secret: the credential is that of the profile. */
export interface ServerEntry {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

/**
 * @param absolute use the absolute paths of Node and of aops
 * @param options further arguments of `aops mcp serve`
 */
export function serverEntry(context: Context, absolute: boolean, options: readonly string[] = []): ServerEntry {
  const [program, ...first] = context.launcher.command;
  const { profile } = context.config();
  const args = ['mcp', 'serve', ...(profile.value === undefined ? [] : ['--profile', profile.value]), ...options];
  const env = { ...foldersOf(context), ...certificatesOf(context) };
  return {
    ...(absolute ? { command: program, args: [...first, ...args] } : { command: 'aops', args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  };
}

/** Whether a variable in an entry has a path as its value, not a secret. */
export const isPathVariable = (name: string): boolean => /^AOPS_(?:(?:CONFIG|DATA|CACHE)_DIR|CA_FILE|CLIENT_CERT|CLIENT_KEY)$/.test(name);

/** The files for TLS that a flag or this shell specifies. Stored settings apply to the client too. */
function certificatesOf(context: Context): Record<string, string> {
  const { ca_file, client_cert, client_key } = context.config();
  const files = { AOPS_CA_FILE: ca_file, AOPS_CLIENT_CERT: client_cert, AOPS_CLIENT_KEY: client_key };
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, { value, source }]) =>
      value !== undefined && (source === 'flag' || source === 'environment') ? [[name, path.resolve(context.cwd, value)]] : [],
    ),
  );
}

/** The folders that are not in their default places. Secrets from the environment are not passed on. */
function foldersOf({ env, paths, launcher, cwd }: Context): Record<string, string> {
  const { AOPS_CONFIG_DIR: _config, AOPS_DATA_DIR: _data, AOPS_CACHE_DIR: _cache, ...otherVariables } = env;
  const home = homeFolder(env, launcher.platform);
  const defaultPaths = home === undefined ? undefined : configPaths(otherVariables, home, launcher.platform, cwd);
  const names = { config: 'AOPS_CONFIG_DIR', data: 'AOPS_DATA_DIR', cache: 'AOPS_CACHE_DIR' } as const;
  const keys = Object.keys(names) as (keyof typeof names)[];
  return Object.fromEntries(keys.filter((key) => paths[key] !== defaultPaths?.[key]).map((key) => [names[key], paths[key]]));
}
