/**
 * Which value applies: flag beats environment beats .aops.toml beats profile beats setting beats default. Every value records where it
 * came from and what it shadows. `aops config explain` and `aops auth status` print exactly this.
 */
import { parseDuration } from '../base/duration.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import { normaliseBaseUrl } from './base-url.ts';
import { type CredentialResolution, resolveCredential, type UsableCredential } from './credential.ts';
import type { Environment } from './paths.ts';
import type { Project, ProjectSettings } from './project.ts';
import type { Origin, ResolvedValue, ValueSource } from './resolved.ts';
import {
  type ColorMode,
  checkProfileName,
  type OutputFormat,
  parseSetting,
  type SettingKey,
  type SettingValue,
  settingDefinition,
} from './settings.ts';
import type { ConfigStore, Profile } from './store.ts';

/** Global flags under commander's names. */
export interface ConfigFlags {
  profile?: string | undefined;
  team?: string | undefined;
  baseUrl?: string | undefined;
  output?: string | undefined;
  json?: boolean | undefined;
  color?: string | undefined;
  timeout?: string | undefined;
  maxWait?: string | undefined;
  caFile?: string | undefined;
  clientCert?: string | undefined;
  clientKey?: string | undefined;
  /** False for `--no-input`. */
  input?: boolean | undefined;
}

export interface ResolvedConfig extends CredentialResolution {
  profile: ResolvedValue<string | undefined>;
  /** Normalised, without a trailing slash. */
  base_url: ResolvedValue<string | undefined>;
  team_id: ResolvedValue<string | undefined>;
  agent: ResolvedValue<string | undefined>;
  output: ResolvedValue<OutputFormat>;
  color: ResolvedValue<ColorMode>;
  /** Milliseconds; undefined when each command uses its own limit. */
  timeout: ResolvedValue<number | undefined>;
  /** Milliseconds. */
  max_wait: ResolvedValue<number>;
  pager: ResolvedValue<string | undefined>;
  prompt: ResolvedValue<boolean>;
  /** The default of `--notify`. */
  notify: ResolvedValue<boolean>;
  /** Paths as passed; relative ones are relative to the current folder. */
  ca_file: ResolvedValue<string | undefined>;
  client_cert: ResolvedValue<string | undefined>;
  client_key: ResolvedValue<string | undefined>;
}

export interface ResolveInput {
  flags: ConfigFlags;
  env: Environment;
  store: ConfigStore;
  /** The `.aops.toml` of the current directory, if any. */
  project?: Project | undefined;
  /** For commands that create the profile they name: a missing profile counts as empty. */
  allowMissingProfile?: boolean;
}

type Candidate = Origin & { value: SettingValue };

/**
 * Resolves every setting and the credential. Problems with the credential do not throw; see `requireCredential`.
 * @throws AopsError `profile_not_found` (exit 3), `config_invalid`, the problem of `.aops.toml`, or UsageError for an invalid value that applies.
 */
export function resolveConfig({ flags, env, store, project, allowMissingProfile = false }: ResolveInput): ResolvedConfig {
  if (project?.problem) throw project.problem;
  const settings = store.settings();
  const pick = (key: SettingKey, flagValue: SettingValue | undefined, between: readonly Candidate[] = [], flagName?: string) =>
    choose(key, [
      ...candidate(flagValue, 'flag', flagName ?? settingDefinition(key).flag ?? key),
      ...fromEnvironment(key, env),
      ...between,
      ...candidate(settings[key], 'setting', key === 'profile' ? 'current profile' : `setting ${key}`),
      ...candidate(settingDefinition(key).default, 'default', 'default'),
    ]);

  const ofFile = (value: string | undefined): Candidate[] => candidate(value, 'project', project?.file ?? '');
  const profileName = pick('profile', flags.profile, ofFile(project?.settings?.profile)) as ResolvedValue<string | undefined>;
  const { team, agent } = settingsWith(profileName.value, project);
  const profile = findProfile(profileName, store, allowMissingProfile);
  const ofProfile = (value: string | undefined): Candidate[] => candidate(value, 'profile', `profile ${profile?.name}`);

  const base_url = pick('base_url', flags.baseUrl, ofProfile(profile?.base_url)) as ResolvedValue<string | undefined>;
  return {
    profile: profileName,
    base_url,
    team_id: pick('team_id', flags.team, [...ofFile(team), ...ofProfile(profile?.team_id)]) as ResolvedValue<string | undefined>,
    agent: pick('agent', undefined, ofFile(agent)) as ResolvedValue<string | undefined>,
    output: (flags.json ? pick('output', 'json', [], '--json') : pick('output', flags.output)) as ResolvedValue<OutputFormat>,
    color: pick('color', flags.color) as ResolvedValue<ColorMode>,
    timeout: milliseconds(pick('timeout', flags.timeout)),
    max_wait: milliseconds(pick('max_wait', flags.maxWait)) as ResolvedValue<number>,
    pager: pick('pager', undefined) as ResolvedValue<string | undefined>,
    prompt: pick('prompt', flags.input === false ? false : undefined) as ResolvedValue<boolean>,
    notify: pick('notify', undefined) as ResolvedValue<boolean>,
    ca_file: pick('ca_file', flags.caFile) as ResolvedValue<string | undefined>,
    client_cert: pick('client_cert', flags.clientCert) as ResolvedValue<string | undefined>,
    client_key: pick('client_key', flags.clientKey) as ResolvedValue<string | undefined>,
    ...resolveCredential({ env, store, profile: profile?.name, baseUrl: base_url.value }),
  };
}

/** The base URL. @throws AopsError `base_url_missing` (exit 2) when none is configured. */
export function requireBaseUrl(config: ResolvedConfig): string {
  if (config.base_url.value !== undefined) return config.base_url.value;
  throw new AopsError('No service address is configured.', {
    code: 'base_url_missing',
    exit: exitCodes.usage,
    hint: 'Start a local service with `aops local up`, sign in with `aops auth login --base-url URL`, or set AOPS_BASE_URL.',
  });
}

/** The credential. @throws AopsError with the problem of the credential, or `not_signed_in` (exit 4) when there is no credential. */
export function requireCredential(config: ResolvedConfig): UsableCredential {
  if (config.credential_problem) throw config.credential_problem;
  if (config.credential.value) return config.credential.value;
  throw new AopsError('You are not signed in.', {
    code: 'not_signed_in',
    exit: exitCodes.auth,
    hint: 'Run `aops auth login` or set AOPS_API_KEY. A local service, started with `aops local up`, needs neither.',
  });
}

/** The team. @throws AopsError `team_missing` (exit 2) when none is configured. */
export function requireTeam(config: ResolvedConfig): string {
  if (config.team_id.value !== undefined) return config.team_id.value;
  throw new AopsError('This command needs a team, and none is configured.', {
    code: 'team_missing',
    exit: exitCodes.usage,
    hint: 'Pass --team ID, set AOPS_TEAM_ID, or run `aops config set team_id ID`.',
  });
}

/** The settings of the file, without those that belong to another profile than the selected one: an ID of a team is unknown elsewhere. */
function settingsWith(profile: string | undefined, project: Project | undefined): ProjectSettings {
  const settings = project?.settings ?? {};
  return settings.profile === undefined || settings.profile === profile ? settings : {};
}

function candidate(value: SettingValue | undefined, source: ValueSource, name: string): Candidate[] {
  return value === undefined ? [] : [{ value, source, name }];
}

/** Empty variables count as unset, as in NO_COLOR and the XDG specification. */
function fromEnvironment(key: SettingKey, env: Environment): Candidate[] {
  return settingDefinition(key).environment.flatMap((name) => {
    const value = env[name]?.trim();
    if (!value) return [];
    if (name === 'NO_COLOR') return candidate('never', 'environment', name);
    if (name === 'FORCE_COLOR') return candidate(value === '0' || value === 'false' ? 'never' : 'always', 'environment', name);
    return candidate(value, 'environment', name);
  });
}

/** The first candidate applies and must be valid; the others are only reported. */
function choose(key: SettingKey, candidates: Candidate[]): ResolvedValue<SettingValue | undefined> {
  const [first, ...rest] = candidates;
  if (!first) return { value: undefined, source: 'default', name: 'default', shadowed: [] };
  const shadowed = rest
    .filter((candidate) => candidate.source !== 'default')
    .map((candidate) => ({ ...candidate, value: maskValue(key, candidate.value) }));
  return { ...first, value: parseSetting(settingDefinition(key), first.value, first.name), shadowed };
}

/** A shadowed base URL was never checked and may contain a password: it is shown only when it is valid. */
function maskValue(key: SettingKey, value: SettingValue): string {
  if (key !== 'base_url') return String(value);
  try {
    return normaliseBaseUrl(String(value), key);
  } catch {
    return '(not a usable URL)';
  }
}

function milliseconds(resolvedValue: ResolvedValue<SettingValue | undefined>): ResolvedValue<number | undefined> {
  return { ...resolvedValue, value: resolvedValue.value === undefined ? undefined : parseDuration(String(resolvedValue.value)) };
}

function findProfile(name: ResolvedValue<string | undefined>, store: ConfigStore, allowMissing: boolean): Profile | undefined {
  if (name.value === undefined) return undefined;
  if (allowMissing && !store.profiles().some((profile) => profile.name === name.value)) {
    checkProfileName(name.value);
    return undefined;
  }
  return store.profile(name.value, name.name);
}
