/**
 * The settings in `.aops.toml`. A file that came with somebody else's repository must not redirect a command, so it is used only after
 * the user trusted it, with exactly its content, and it can never contain an address or a credential.
 */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { isAbsent, readFailure } from '../base/read-failure.ts';
import { checkProfileName, parseSetting, settingDefinition } from './settings.ts';
import type { ConfigStore } from './store.ts';

/** The keys of the file. */
const keys = ['profile', 'team', 'agent'] as const;
export type ProjectSettings = Partial<Record<(typeof keys)[number], string>>;

/** The file that was found. Exactly one of the other members is present. */
export interface Project {
  file: string;
  /** The settings of a trusted file. */
  settings?: ProjectSettings;
  /** Why the file is ignored: the user never trusted it, or it has changed since. */
  untrusted?: 'new' | 'changed';
  /** Why the settings of a trusted file cannot be used. */
  problem?: AopsError;
}

/** A few lines are expected; anything much longer is something else. */
const maxBytes = 64 * 1024;

/** Reads the file as far as the user trusts it. Never throws. */
export async function readProject(file: string, store: ConfigStore): Promise<Project> {
  try {
    const { identity, text, hash } = readContent(file);
    const trustedHash = store.trustedHash(identity);
    if (trustedHash !== hash) return { file, untrusted: trustedHash === undefined ? 'new' : 'changed' };
    return { file, settings: await parseProject(file, text) };
  } catch (error) {
    if (error instanceof AopsError) return { file, problem: error };
    throw error;
  }
}

/** Trusts the file with its current content, and returns its settings. @throws UsageError for a file with mistakes */
export async function trustProject(file: string, store: ConfigStore): Promise<ProjectSettings> {
  const { identity, text, hash } = readContent(file);
  const settings = await parseProject(file, text);
  await store.setTrustedHash(identity, hash);
  return settings;
}

/** Stops trusting the file, which may no longer exist. Resolves to whether it was trusted. */
export async function untrustProject(file: string, store: ConfigStore): Promise<boolean> {
  const identity = identityOf(file);
  if (store.trustedHash(identity) === undefined) return false;
  await store.setTrustedHash(identity, undefined);
  return true;
}

/** The path by which the file is trusted: the same for every link that leads to it. */
function identityOf(file: string): string {
  try {
    return path.join(realpathSync.native(path.dirname(file)), path.basename(file));
  } catch {
    return path.resolve(file);
  }
}

/** The content is read once, so that what was compared is what is used. */
function readContent(file: string): { identity: string; text: string; hash: string } {
  try {
    const { size } = statSync(file);
    if (size > maxBytes) throw new UsageError(`${file} is too large: it has ${size} bytes, and at most ${maxBytes} are allowed.`);
    const bytes = readFileSync(file);
    return { identity: identityOf(file), text: bytes.toString('utf8'), hash: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    if (error instanceof AopsError) throw error;
    throw isAbsent(error) ? projectNotFound(`in ${path.dirname(file)}`) : readFailure(error, file);
  }
}

async function parseProject(file: string, text: string): Promise<ProjectSettings> {
  const { parse } = await import('smol-toml');
  let table: Record<string, unknown>;
  try {
    table = parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const { message, line } = error as Error & { line?: number };
    const [reason = ''] = message.split('\n');
    const position = line === undefined ? '' : ` (line ${line})`;
    throw projectInvalid(`${file} is not valid TOML${position}: ${reason.replace('Invalid TOML document: ', '')}`, example);
  }
  const settings: ProjectSettings = {};
  for (const [key, value] of Object.entries(table)) {
    const known = keys.find((name) => name === key);
    if (known === undefined) throw unknownKey(file, key);
    settings[known] = checkValue(file, known, value);
  }
  return settings;
}

function checkValue(file: string, key: (typeof keys)[number], value: unknown): string {
  if (typeof value !== 'string') throw projectInvalid(`${key} in ${file} must be a text in quotation marks.`, example);
  const text = parseSetting(settingDefinition('agent'), value, `${key} in ${file}`) as string;
  return key === 'profile' ? checkProfileName(text) : text;
}

const example = 'Write it like: team = "7cc5fbdb-aba2-4665-b09b-ac44ad9efd52"';

/** Settings that decide where a credential is sent, under the names that people might try. */
const forbidden = /^(base_?url|url|address|(api_?)?key|token(_url)?|client_(id|secret|cert|key)|ca_file|credentials?|secret)$/i;

function unknownKey(file: string, key: string): UsageError {
  if (forbidden.test(key))
    return projectInvalid(
      `${file} must not contain "${key}": a file in a directory never decides where your credential is sent.`,
      'Put the address and the credential into a profile with `aops auth login --profile NAME`, and write profile = "NAME".',
    );
  const similar = nearest(key, keys);
  return projectInvalid(
    `${file} contains the unknown key "${key}".`,
    similar === undefined ? `Known keys: ${keys.join(', ')}.` : `Did you mean ${similar}?`,
  );
}

const projectInvalid = (message: string, hint: string): UsageError => new UsageError(message, hint, 'project_file_invalid');

/** The error if there is no file to trust. @param where such as `in FOLDER` */
export const projectNotFound = (where: string): AopsError =>
  new AopsError(`There is no .aops.toml ${where}.`, {
    code: 'project_file_not_found',
    exit: exitCodes.notFound,
    hint: 'Create the file with a line such as profile = "NAME", or pass its path.',
  });
