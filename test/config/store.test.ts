import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigStore, type Credential } from '../../src/config/store.ts';
import { itNeeding, needsPosix } from '../support/requirements.ts';
import { tempFolder } from './temp-folder.ts';

const token: Credential = { type: 'token', token: 'aops_local_abcdef' };
const mode = (file: string) => statSync(file).mode & 0o777;

describe('profiles', () => {
  test('reading an empty folder creates nothing', () => {
    const store = new ConfigStore(path.join(tempFolder(), 'aops'));
    expect(store.profiles()).toEqual([]);
    expect(store.currentProfile()).toBeUndefined();
    expect(store.settings()).toEqual({});
    expect(existsSync(store.directory)).toBe(false);
  });

  test('save, use, rename and remove keep profile and credential together', async () => {
    const folder = path.join(tempFolder(), 'aops');
    const store = new ConfigStore(folder);
    await store.saveProfile('local', { base_url: 'http://127.0.0.1:4010/', team_id: 'team_1' }, token);
    await store.saveProfile('acme.prod', { base_url: 'https://api.example.com' });
    expect(store.currentProfile()).toBe('local');
    await store.useProfile('acme.prod');
    expect(new ConfigStore(folder).profiles()).toEqual([
      { name: 'acme.prod', base_url: 'https://api.example.com', current: true },
      { name: 'local', base_url: 'http://127.0.0.1:4010', team_id: 'team_1', current: false },
    ]);

    await store.renameProfile('local', 'my.local');
    expect(new ConfigStore(folder).credential('my.local')).toEqual({ ...token, origin: 'http://127.0.0.1:4010' });
    expect(store.credential('local')).toBeUndefined();

    await store.removeProfile('acme.prod');
    expect(store.currentProfile()).toBeUndefined();
    await store.removeProfile('my.local');
    expect(store.profiles()).toEqual([]);
    expect(readFileSync(store.credentialsFile, 'utf8')).not.toContain('abcdef');
  });

  test.each(['constructor', 'toString', 'a.b.c', '0'])('"%s" is an ordinary name', async (name) => {
    const store = new ConfigStore(tempFolder());
    expect(() => store.profile(name)).toThrow('There is no profile');
    expect(store.credential(name)).toBeUndefined();
    await store.saveProfile(name, { base_url: 'https://a.example' }, token);
    const freshStore = new ConfigStore(store.directory);
    expect(freshStore.profile(name)).toEqual({ name, base_url: 'https://a.example', current: true });
    expect(freshStore.credential(name)).toMatchObject(token);
  });

  test.each(['', '.x', '-x', 'a/b', 'a b', '__proto__', 'x'.repeat(65), 'a\n'])('name %j is refused', async (name) => {
    await expect(new ConfigStore(tempFolder()).saveProfile(name, { base_url: 'https://a.example' })).rejects.toMatchObject({
      code: 'profile_name_invalid',
      exit: 2,
    });
  });

  test('an unknown profile exits with 3, and the hint lists the names', async () => {
    const store = new ConfigStore(tempFolder());
    await store.saveProfile('b', { base_url: 'https://a.example' });
    await store.saveProfile('a', { base_url: 'https://a.example' });
    for (const call of [() => store.useProfile('c'), () => store.removeProfile('c'), () => store.renameProfile('c', 'd')]) {
      await expect(call()).rejects.toMatchObject({ code: 'profile_not_found', exit: 3, hint: expect.stringContaining('a, b') });
    }
    await expect(store.renameProfile('a', 'b')).rejects.toMatchObject({ code: 'profile_exists', exit: 2 });
  });

  test.each(['ftp://a.example', 'http://a.example', 'https://u:p@a.example', 'https://a.example?x=1', 'https://a.example#x', 'a.example'])(
    'base URL %s is refused',
    async (base_url) => {
      await expect(new ConfigStore(tempFolder()).saveProfile('a', { base_url })).rejects.toMatchObject({ exit: 2 });
    },
  );

  test('removing a credential resolves to whether there was one', async () => {
    const store = new ConfigStore(tempFolder());
    await store.saveProfile('a', { base_url: 'https://a.example' }, token);
    expect(await store.removeCredential('a')).toBe(true);
    expect(await store.removeCredential('a')).toBe(false);
    expect(store.profile('a').base_url).toBe('https://a.example');
  });
});

describe('settings', () => {
  test('are validated, stored and removed', async () => {
    const store = new ConfigStore(tempFolder());
    await store.setSetting('color', 'never');
    await store.setSetting('prompt', 'off');
    await store.setSetting('max_wait', '2m');
    expect(new ConfigStore(store.directory).settings()).toEqual({ color: 'never', prompt: false, max_wait: '2m' });
    await store.unsetSetting('color');
    expect(store.setting('color')).toBeUndefined();
  });

  test('`profile` is the current profile', async () => {
    const store = new ConfigStore(tempFolder());
    await expect(store.setSetting('profile', 'a')).rejects.toMatchObject({ code: 'profile_not_found' });
    await store.saveProfile('a', { base_url: 'https://a.example' });
    await store.saveProfile('b', { base_url: 'https://b.example' });
    await store.setSetting('profile', 'b');
    expect(store.setting('profile')).toBe('b');
    await store.unsetSetting('profile');
    expect(store.currentProfile()).toBeUndefined();
  });

  test.each([
    ['color', 'blue'],
    ['output', 'xml'],
    ['max_wait', 'soon'],
    ['prompt', 'maybe'],
    ['base_url', 'http://a.example'],
    ['team_id', ' '],
    ['nonsense', '1'],
  ])('%s=%s exits with 2', async (key, value) => {
    await expect(new ConfigStore(tempFolder()).setSetting(key, value)).rejects.toMatchObject({ exit: 2 });
  });
});

describe('files', () => {
  itNeeding(needsPosix, 'are 0600 in a 0700 folder, even after their modes were changed', async () => {
    const store = new ConfigStore(path.join(tempFolder(), 'deep', 'aops'));
    await store.saveProfile('a', { base_url: 'https://a.example' }, token);
    expect([store.directory, store.configFile, store.credentialsFile].map(mode)).toEqual([0o700, 0o600, 0o600]);

    chmodSync(store.credentialsFile, 0o644);
    chmodSync(store.directory, 0o755);
    const freshStore = new ConfigStore(store.directory);
    freshStore.credential('a');
    expect(mode(store.credentialsFile)).toBe(0o600);
    await freshStore.useProfile('a');
    expect(mode(store.directory)).toBe(0o700);
  });

  itNeeding(needsPosix, 'a folder that is not ours keeps its mode', async () => {
    const sharedFolder = path.join(tempFolder(), 'shared');
    mkdirSync(sharedFolder);
    chmodSync(sharedFolder, 0o755);
    await new ConfigStore(sharedFolder).setSetting('color', 'never');
    expect(mode(sharedFolder)).toBe(0o755);
  });

  test('a file that cannot be read is not blamed on its content', () => {
    const store = new ConfigStore(tempFolder());
    mkdirSync(store.configFile);
    expect(() => store.settings()).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: `${store.configFile} cannot be read (EISDIR).`,
        hint: 'Check its owner and permissions, and those of its folder.',
      }),
    );
  });

  test.each([
    ['not JSON', '{"profiles": {"secret_value'],
    ['not an object', '[]'],
    ['profiles of a wrong type', '{"profiles": []}'],
    ['a broken profile', '{"profiles": {"a": {"base_url": 1}}}'],
  ])('a config file with %s is named in the error, left unchanged, and never quoted', async (_name, text) => {
    const store = new ConfigStore(tempFolder());
    writeFileSync(store.configFile, text);
    const expected = { code: 'config_invalid', exit: 2, message: expect.stringContaining(store.configFile) };
    expect(() => store.profiles()).toThrow(expect.objectContaining(expected));
    expect(() => store.profiles()).not.toThrow('secret_value');
    await expect(new ConfigStore(store.directory).saveProfile('a', { base_url: 'https://a.example' })).rejects.toMatchObject(expected);
    expect(readFileSync(store.configFile, 'utf8')).toBe(text);
  });

  test('a malformed credential entry is named in the error and can be removed', async () => {
    const store = new ConfigStore(tempFolder());
    writeFileSync(store.credentialsFile, '{"a": {"type": "token", "origin": "https://a.example"}}');
    expect(() => store.credential('a')).toThrow(/credentials\.json has a malformed entry for profile "a"/);
    expect(await store.removeCredential('a')).toBe(true);
    expect(store.credential('a')).toBeUndefined();
  });

  itNeeding(needsPosix, 'are never written through a symbolic link', async () => {
    const folder = tempFolder();
    const otherFile = path.join(folder, 'elsewhere.json');
    writeFileSync(otherFile, '{}', { mode: 0o600 });
    const store = new ConfigStore(path.join(folder, 'aops'));
    mkdirSync(store.directory);
    symlinkSync(otherFile, store.credentialsFile);
    await expect(store.saveProfile('a', { base_url: 'https://a.example' }, token)).rejects.toMatchObject({
      code: 'config_unsafe',
      exit: 2,
    });
    expect(readFileSync(otherFile, 'utf8')).toBe('{}');
  });

  test('a folder that cannot be created results in a clear error', async () => {
    const file = path.join(tempFolder(), 'file');
    writeFileSync(file, '');
    await expect(new ConfigStore(path.join(file, 'aops')).setSetting('color', 'never')).rejects.toMatchObject({
      code: 'config_not_writable',
    });
  });

  test('concurrent writers lose nothing', async () => {
    const folder = tempFolder();
    const names = Array.from({ length: 12 }, (_, index) => `profile-${index}`);
    await Promise.all(names.map((name) => new ConfigStore(folder).saveProfile(name, { base_url: 'https://a.example' }, token)));
    const store = new ConfigStore(folder);
    expect(store.profiles().map((profile) => profile.name)).toEqual([...names].sort());
    for (const name of names) expect(store.credential(name)).toMatchObject(token);
  });

  test('the lock of a process that died is taken over', async () => {
    const store = new ConfigStore(tempFolder());
    const lock = `${store.configFile}.lock`;
    writeFileSync(lock, '');
    utimesSync(lock, 0, 0);
    await store.setSetting('color', 'never');
    expect(existsSync(lock)).toBe(false);
  });
});
