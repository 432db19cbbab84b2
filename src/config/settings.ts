/** The settings of aops: what they mean, where else they can be set, and which values they accept. */
import { parseDuration } from '../base/duration.ts';
import { AopsError, UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { normaliseBaseUrl } from './base-url.ts';

export const outputFormats = ['table', 'json', 'ndjson', 'yaml', 'csv', 'id'] as const;
export const colorModes = ['auto', 'always', 'never'] as const;
export type OutputFormat = (typeof outputFormats)[number];
export type ColorMode = (typeof colorModes)[number];

/** A value as stored in config.json. Durations are stored as the text that the user wrote. */
export type SettingValue = string | boolean;
export type SettingKey =
  | 'profile'
  | 'base_url'
  | 'team_id'
  | 'agent'
  | 'output'
  | 'color'
  | 'timeout'
  | 'max_wait'
  | 'pager'
  | 'prompt'
  | 'notify'
  | FileSettingKey;
/** Settings that name a file. */
export type FileSettingKey = 'ca_file' | 'client_cert' | 'client_key';

export interface SettingDefinition {
  key: SettingKey;
  type: 'text' | 'url' | 'duration' | 'boolean' | 'choice' | 'file';
  choices?: readonly string[];
  default?: SettingValue;
  /** Environment variables that set the same value, in order of precedence. */
  environment: readonly string[];
  /** The flag that sets the same value. */
  flag?: string;
  description: string;
}

export const settingDefinitions: readonly SettingDefinition[] = [
  { key: 'profile', type: 'text', environment: ['AOPS_PROFILE'], flag: '--profile', description: 'The profile to use.' },
  { key: 'base_url', type: 'url', environment: ['AOPS_BASE_URL'], flag: '--base-url', description: 'Address of the service.' },
  { key: 'team_id', type: 'text', environment: ['AOPS_TEAM_ID'], flag: '--team', description: 'The team that commands act on.' },
  { key: 'agent', type: 'text', environment: ['AOPS_AGENT'], description: 'The agent that `runs start` uses unless --agent is passed.' },
  {
    key: 'output',
    type: 'choice',
    choices: outputFormats,
    default: 'table',
    environment: [],
    flag: '--output',
    description: 'Output format.',
  },
  {
    key: 'color',
    type: 'choice',
    choices: colorModes,
    default: 'auto',
    environment: ['NO_COLOR', 'FORCE_COLOR'],
    flag: '--color',
    description: 'When to use colour.',
  },
  {
    key: 'timeout',
    type: 'duration',
    environment: [],
    flag: '--timeout',
    description: 'Longest time a command may take; if not set, each command has its own limit.',
  },
  {
    key: 'max_wait',
    type: 'duration',
    default: '60s',
    environment: [],
    flag: '--max-wait',
    description: 'Longest wait for a rate limit before giving up.',
  },
  { key: 'pager', type: 'text', environment: ['PAGER'], description: 'Program that pages long output on a terminal.' },
  { key: 'prompt', type: 'boolean', default: true, environment: [], flag: '--no-input', description: 'Whether aops may prompt for input.' },
  {
    key: 'notify',
    type: 'boolean',
    default: false,
    environment: [],
    flag: '--notify',
    description: 'Whether commands that watch ring the bell and show desktop notifications.',
  },
  {
    key: 'ca_file',
    type: 'file',
    environment: ['AOPS_CA_FILE'],
    flag: '--ca-file',
    description: 'PEM file with certificate authorities to trust in addition to the default ones.',
  },
  {
    key: 'client_cert',
    type: 'file',
    environment: ['AOPS_CLIENT_CERT'],
    flag: '--client-cert',
    description: 'PEM file with the client certificate, for services that require one.',
  },
  {
    key: 'client_key',
    type: 'file',
    environment: ['AOPS_CLIENT_KEY'],
    flag: '--client-key',
    description: 'PEM file with the private key of client_cert.',
  },
];

/**
 * The definition of a setting.
 * @throws UsageError `setting_unknown` that suggests the key that was probably meant, or lists all keys.
 */
export function settingDefinition(key: string): SettingDefinition {
  const setting = settingDefinitions.find((definition) => definition.key === key);
  if (setting) return setting;
  throw settingUnknown(
    key,
    settingDefinitions.map((definition) => definition.key),
  );
}

/** The error for an unknown setting; `knownKeys` are those of the settings that exist. */
export function settingUnknown(key: string, knownKeys: readonly string[]): UsageError {
  const suggestion = nearest(key, knownKeys);
  const hint = suggestion === undefined ? `Known settings: ${knownKeys.join(', ')}.` : `Did you mean ${suggestion}?`;
  return new UsageError(`There is no setting "${key}".`, hint, 'setting_unknown');
}

/**
 * Parses the value of a setting into the form stored in the file.
 * @param name where the text came from, for the message: `--color`, `AOPS_BASE_URL`, `The setting color`.
 * @throws UsageError when the text is not a valid value of the setting.
 */
export function parseSetting(definition: SettingDefinition, value: SettingValue, name: string): SettingValue {
  const text = String(value).trim();
  switch (definition.type) {
    case 'boolean':
      if (/^(?:true|on|yes|1)$/i.test(text)) return true;
      if (/^(?:false|off|no|0)$/i.test(text)) return false;
      throw new UsageError(`${name} must be on or off.`);
    case 'duration':
      if (parseDuration(text) !== undefined) return text;
      throw new UsageError(`${name} must be a duration.`, 'Write it like 300ms, 30s, 1m30s, or 2h.');
    case 'choice':
      if (definition.choices?.includes(text)) return text;
      throw new UsageError(`${name} must be one of: ${definition.choices?.join(', ')}.`);
    case 'url':
      return normaliseBaseUrl(text, name);
    case 'text':
    case 'file':
      if (text !== '' && !/\p{Cc}/u.test(text)) return text;
      throw new UsageError(`${name} must not be empty or contain control characters.`);
  }
}

const profileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws UsageError `profile_name_invalid` unless the name is 1 to 64 letters, digits, dots, dashes or underscores. */
export function checkProfileName(name: string): string {
  if (profileName.test(name)) return name;
  throw new UsageError(
    'A profile name has 1 to 64 letters, digits, dots, dashes, or underscores, and starts with a letter or digit.',
    'Choose a name like "local" or "acme-prod".',
    'profile_name_invalid',
  );
}

/** The error for a profile that does not exist; `profileNames` are the names of those that do. */
export function profileNotFound(name: string, profileNames: readonly string[], from?: string): AopsError {
  const hint =
    profileNames.length === 0
      ? 'No profiles exist yet: run `aops local up` or `aops auth login`.'
      : `Profiles: ${profileNames.join(', ')}. See \`aops profiles list\`.`;
  return new AopsError(`There is no profile called "${name}"${from ? ` (from ${from})` : ''}.`, {
    code: 'profile_not_found',
    exit: 3,
    hint,
  });
}
