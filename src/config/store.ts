/**
 * Profiles and settings in config.json, credentials in credentials.json (both 0600). Reads are synchronous and cheap;
 * every change first re-reads its file under a lock.
 */

import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/values.ts';
import { normaliseBaseUrl, originOf } from './base-url.ts';
import { configInvalid, readJsonFile, updateJsonFile } from './files.ts';
import {
  checkProfileName,
  parseSetting,
  profileNotFound,
  type SettingKey,
  type SettingValue,
  settingDefinition,
  settingDefinitions,
} from './settings.ts';

export interface Profile {
  name: string;
  base_url: string;
  team_id?: string;
  /** Whether it is used when no other profile is named. */
  current: boolean;
}

/** How to authenticate, without the origin it applies to. */
export type Credential =
  | { type: 'token'; token: string }
  | { type: 'client_credentials'; client_id: string; client_secret: string; token_url: string; scope?: string };

/** A credential and the origin it was saved for: it is never sent anywhere else. */
export type StoredCredential = Credential & { origin: string };

interface ProfileEntry {
  base_url: string;
  team_id?: string;
}

/** Profiles, settings and credentials of one config folder. */
export class ConfigStore {
  readonly directory: string;
  /** Problems with the files that the user should know about, such as a mode that could not be restricted. */
  readonly warnings: string[] = [];
  #config: JsonObject | undefined;
  #credentials: JsonObject | undefined;

  /** @param directory absolute; created by the first write, with mode 0700. */
  constructor(directory: string) {
    this.directory = directory;
  }

  /** Path of the file with profiles and settings. */
  get configFile(): string {
    return path.join(this.directory, 'config.json');
  }

  /** Path of the file with secrets. */
  get credentialsFile(): string {
    return path.join(this.directory, 'credentials.json');
  }

  /** Name of the profile used by default. It may have been removed from the file by hand. */
  currentProfile(): string | undefined {
    const name = this.#readConfig().current_profile;
    return typeof name === 'string' ? name : undefined;
  }

  /** Makes a profile the default. @throws AopsError `profile_not_found`. */
  async useProfile(name: string): Promise<void> {
    await this.#updateConfig((config) => {
      this.#entry(config, name);
      return { ...config, current_profile: name };
    });
  }

  /** All profiles, by name. */
  profiles(): Profile[] {
    const current = this.currentProfile();
    return Object.entries(this.#entries(this.#readConfig()))
      .map(([name, entry]) => ({ name, ...entry, current: name === current }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * One profile.
   * @param from where the name came from, for the message: `AOPS_PROFILE`.
   * @throws AopsError `profile_not_found` (exit 3) with the known names in its hint.
   */
  profile(name: string, from?: string): Profile {
    const config = this.#readConfig();
    return { name, ...this.#entry(config, name, from), current: name === this.currentProfile() };
  }

  /**
   * Creates or replaces a profile, and its credential when one is passed. The first profile becomes the current one.
   * A profile that moves to another origin keeps its old credential, which is refused there until a new one is saved.
   * @throws UsageError for an invalid name, base URL or team ID.
   */
  async saveProfile(name: string, profile: ProfileEntry, credential?: Credential): Promise<void> {
    checkProfileName(name);
    const base_url = normaliseBaseUrl(profile.base_url, 'The base URL');
    const team_id =
      profile.team_id === undefined ? undefined : String(parseSetting(settingDefinition('team_id'), profile.team_id, 'The team ID'));
    // The secret first: a crash in between leaves an unused credential, never a profile that cannot sign in.
    if (credential) {
      const storedCredential: StoredCredential = { ...credential, origin: originOf(base_url) };
      await this.#updateCredentials((credentials) => ({ ...credentials, [name]: storedCredential }));
    }
    await this.#updateConfig((config) => {
      const profiles = { ...this.#entries(config), [name]: { base_url, ...(team_id === undefined ? {} : { team_id }) } };
      return { ...config, current_profile: config.current_profile ?? name, profiles };
    });
  }

  /** Renames a profile together with its credential. @throws AopsError `profile_not_found`, UsageError `profile_exists`. */
  async renameProfile(from: string, to: string): Promise<void> {
    checkProfileName(to);
    this.#entry(this.#readConfig(), from);
    if (Object.hasOwn(this.#entries(this.#readConfig()), to)) {
      throw new UsageError(`A profile called "${to}" already exists.`, 'Remove it first, or choose another name.', 'profile_exists');
    }
    if (Object.hasOwn(this.#readCredentials(), from)) await this.#updateCredentials((credentials) => moveKey(credentials, from, to));
    await this.#updateConfig((config) => ({
      ...config,
      profiles: moveKey(this.#entries(config), from, to),
      ...(config.current_profile === from ? { current_profile: to } : {}),
    }));
  }

  /** Removes a profile and its credential, and unsets the current profile if it was this one. @throws AopsError `profile_not_found`. */
  async removeProfile(name: string): Promise<void> {
    this.#entry(this.#readConfig(), name);
    await this.removeCredential(name);
    await this.#updateConfig((config) => {
      const rest = { ...config, profiles: omit(this.#entries(config), name) };
      return config.current_profile === name ? omit(rest, 'current_profile') : rest;
    });
  }

  /** The credential saved for a profile. @throws AopsError `config_invalid` when its entry is malformed. */
  credential(name: string): StoredCredential | undefined {
    const credentials = this.#readCredentials();
    if (!Object.hasOwn(credentials, name)) return undefined;
    const entry = credentials[name];
    if (isStoredCredential(entry)) return entry;
    throw configInvalid(this.credentialsFile, `has a malformed entry for profile "${name}"`);
  }

  /** Removes a profile's credential. Resolves to whether there was one. */
  async removeCredential(name: string): Promise<boolean> {
    if (!Object.hasOwn(this.#readCredentials(), name)) return false;
    await this.#updateCredentials((credentials) => omit(credentials, name));
    return true;
  }

  /** The hash of the content with which the user trusts a file; undefined if they do not. */
  trustedHash(file: string): string | undefined {
    const hash = readJsonFile(this.#trustFile, (message) => this.warnings.push(message))?.[file];
    return typeof hash === 'string' ? hash : undefined;
  }

  /** Trusts a file with this content, or with undefined no longer. */
  async setTrustedHash(file: string, hash: string | undefined): Promise<void> {
    await this.#update(this.#trustFile, (trusted) => (hash === undefined ? omit(trusted, file) : { ...trusted, [file]: hash }));
  }

  get #trustFile(): string {
    return path.join(this.directory, 'trusted.json');
  }

  /** The user's aliases: what each one stands for, by name. Entries of the wrong type are left out. */
  aliases(): Record<string, string> {
    const entries = Object.entries(objectOr(this.#readConfig().aliases));
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  }

  /** Adds or replaces an alias. The caller checks the name. */
  async setAlias(name: string, expansion: string): Promise<void> {
    await this.#updateConfig((config) => ({ ...config, aliases: { ...objectOr(config.aliases), [name]: expansion } }));
  }

  /** Removes an alias. */
  async removeAlias(name: string): Promise<void> {
    await this.#updateConfig((config) => ({ ...config, aliases: omit(objectOr(config.aliases), name) }));
  }

  /** The stored value of a setting; `profile` is the current profile. @throws UsageError `setting_unknown`. */
  setting(key: string): SettingValue | undefined {
    return this.settings()[settingDefinition(key).key];
  }

  /** All stored settings. Keys of newer versions and values of the wrong type are left out. */
  settings(): Partial<Record<SettingKey, SettingValue>> {
    const { settings } = this.#readConfig();
    const profile = this.currentProfile();
    const knownSettings: Partial<Record<SettingKey, SettingValue>> = profile === undefined ? {} : { profile };
    if (!isObject(settings)) return knownSettings;
    for (const { key } of settingDefinitions) {
      const value = settings[key];
      if (key !== 'profile' && (typeof value === 'string' || typeof value === 'boolean')) knownSettings[key] = value;
    }
    return knownSettings;
  }

  /** Stores a setting. @throws UsageError for an unknown key or an invalid value, AopsError `profile_not_found` for `profile`. */
  async setSetting(key: string, value: SettingValue): Promise<void> {
    const definition = settingDefinition(key);
    const parsed = parseSetting(definition, value, `The setting ${key}`);
    if (definition.key === 'profile') return this.useProfile(String(parsed));
    await this.#updateConfig((config) => ({ ...config, settings: { ...objectOr(config.settings), [key]: parsed } }));
  }

  /** Removes a setting. @throws UsageError `setting_unknown`. */
  async unsetSetting(key: string): Promise<void> {
    const definition = settingDefinition(key);
    await this.#updateConfig((config) =>
      definition.key === 'profile'
        ? omit(config, 'current_profile')
        : { ...config, settings: omit(objectOr(config.settings), definition.key) },
    );
  }

  #readConfig(): JsonObject {
    this.#config ??= readJsonFile(this.configFile, (message) => this.warnings.push(message)) ?? {};
    return this.#config;
  }

  #readCredentials(): JsonObject {
    this.#credentials ??= readJsonFile(this.credentialsFile, (message) => this.warnings.push(message)) ?? {};
    return this.#credentials;
  }

  async #updateConfig(change: (config: JsonObject) => JsonObject): Promise<void> {
    this.#config = await this.#update(this.configFile, change);
  }

  async #updateCredentials(change: (credentials: JsonObject) => JsonObject): Promise<void> {
    this.#credentials = await this.#update(this.credentialsFile, change);
  }

  async #update(file: string, change: (current: JsonObject) => JsonObject): Promise<JsonObject> {
    try {
      return await updateJsonFile(file, change, (message) => this.warnings.push(message));
    } catch (error) {
      if (error instanceof AopsError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const hint = 'Check the folder and its owner, or set AOPS_CONFIG_DIR to a folder that you can write to.';
      throw new AopsError(`${file} cannot be written (${code ?? 'unknown error'}).`, {
        code: 'config_not_writable',
        exit: exitCodes.failure,
        hint,
        cause: error,
      });
    }
  }

  #entries(config: JsonObject): Record<string, ProfileEntry> {
    const profiles = config.profiles ?? {};
    if (!isObject(profiles)) throw configInvalid(this.configFile, 'must contain an object under "profiles"');
    for (const [name, entry] of Object.entries(profiles)) {
      const isValid =
        isObject(entry) && typeof entry.base_url === 'string' && (entry.team_id === undefined || typeof entry.team_id === 'string');
      if (!isValid) throw configInvalid(this.configFile, `has a malformed entry for profile "${name}"`);
    }
    return profiles as Record<string, ProfileEntry>;
  }

  #entry(config: JsonObject, name: string, from?: string): ProfileEntry {
    const entries = this.#entries(config);
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
    if (!entry) throw profileNotFound(name, Object.keys(entries).sort(), from);
    return entry;
  }
}

function isStoredCredential(value: unknown): value is StoredCredential {
  if (!isObject(value) || typeof value.origin !== 'string') return false;
  if (value.type === 'token') return typeof value.token === 'string';
  if (value.scope !== undefined && typeof value.scope !== 'string') return false;
  return (
    value.type === 'client_credentials' && [value.client_id, value.client_secret, value.token_url].every((part) => typeof part === 'string')
  );
}

function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function omit<T extends object>(object: T, key: string): T {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key)) as T;
}

function moveKey<T>(object: Record<string, T>, from: string, to: string): Record<string, T> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name === from ? to : name, value]));
}
