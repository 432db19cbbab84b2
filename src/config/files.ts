/**
 * The JSON files in the config folder. Reading does not use `conf`, so that start-up does not load it; writing goes
 * through `conf` (temporary file, fsync, rename) under a lock file, so that no process loses another one's change.
 */

import { chmodSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import path from 'node:path';
import { AopsError, type AopsErrorOptions, exitCodes } from '../base/errors.ts';
import { takeLock, type Unlock } from '../base/lock-file.ts';
import { makeFolders } from '../base/make-folders.ts';
import { isAbsent, readFailure } from '../base/read-failure.ts';
import { isObject, type JsonObject } from '../base/values.ts';
import { homeFolder } from './paths.ts';

const fileMode = 0o600;
const folderMode = 0o700;

/** The error for a file that cannot be understood. */
export function configInvalid(file: string, reason: string, options: Pick<AopsErrorOptions, 'hint' | 'cause'> = {}): AopsError {
  const hint = 'Correct the file, or move it elsewhere and sign in again with `aops auth login`.';
  return new AopsError(`${file} ${reason}.`, { code: 'config_invalid', exit: exitCodes.usage, hint, ...options });
}

/**
 * The object in `file`, or undefined when the file does not exist. The mode of a file that other users can read is changed
 * to 0600; where that fails (a read-only mount), `warn` is called.
 * @throws AopsError `config_invalid` when it cannot be read or is not a JSON object.
 */
export function readJsonFile(file: string, warn: (message: string) => void): JsonObject | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw configInvalid(file, `cannot be read (${code})`, { hint: readFailure(error, file).hint, cause: error });
  }
  tighten(file, warn);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's message quotes the text around the error, which may be a secret.
    throw configInvalid(file, 'is not valid JSON');
  }
  if (!isObject(value)) throw configInvalid(file, 'must contain a JSON object');
  return value;
}

/**
 * Replaces the content of `file` with the result of `change`, atomically and under a lock.
 * @throws AopsError `config_unsafe` (exit 2) for a symbolic link, `config_busy` (exit 1) when another process holds the lock.
 */
export async function updateJsonFile(
  file: string,
  change: (current: JsonObject) => JsonObject,
  warn: (message: string) => void,
): Promise<JsonObject> {
  const folder = path.dirname(file);
  prepareFolder(folder);
  const unlock = await lock(`${file}.lock`);
  try {
    refuseSymlink(file);
    const content = change(readJsonFile(file, warn) ?? {});
    const { default: Conf } = await loadConf(folder);
    const { name } = path.parse(file);
    // The whole object is replaced at once, so names with dots or reserved words never become paths inside it.
    new Conf({ cwd: folder, configName: name, configFileMode: fileMode, accessPropertiesByDotNotation: false }).store = content;
    return content;
  } finally {
    unlock();
  }
}

/** When it is loaded, conf looks up the home directory, which it does not need here, and fails for a user without one. */
async function loadConf(substitute: string): Promise<typeof import('conf')> {
  // conf reads the environment of the process itself.
  const { env } = process;
  if (homeFolder(env, platform()) !== undefined) return import('conf');
  const { HOME } = env;
  env.HOME = substitute;
  try {
    return await import('conf');
  } finally {
    // Programs that are started later get what the user has set.
    if (HOME === undefined) delete env.HOME;
    else env.HOME = HOME;
  }
}

function tighten(file: string, warn: (message: string) => void): void {
  if (platform() === 'win32' || (statSync(file).mode & 0o077) === 0) return;
  try {
    chmodSync(file, fileMode);
  } catch {
    warn(`${file} can be read by other users, and its mode could not be changed. Run: chmod 600 ${file}`);
  }
}

function prepareFolder(folder: string): void {
  makeFolders(folder, folderMode);
  // A folder with another name was chosen by the user and may be shared (AOPS_CONFIG_DIR=/tmp): only our own is made private.
  if (platform() !== 'win32' && path.basename(folder) === 'aops' && (statSync(folder).mode & 0o077) !== 0) chmodSync(folder, folderMode);
}

function refuseSymlink(file: string): void {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new AopsError(`${file} is a symbolic link; aops does not write through links.`, {
    code: 'config_unsafe',
    exit: exitCodes.usage,
    hint: 'Replace the link with a file, or point AOPS_CONFIG_DIR at the folder that contains its target.',
  });
}

async function lock(file: string): Promise<Unlock> {
  const unlock = await takeLock(file);
  if (unlock) return unlock;
  throw new AopsError(`Another process holds the lock ${file}.`, {
    code: 'config_busy',
    exit: exitCodes.failure,
    hint: 'Try again. If no other aops process is running, delete the file.',
  });
}
