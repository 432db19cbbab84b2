import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { requireBaseUrl, requireCredential, requireTeam, resolveConfig } from '../../src/config/resolve.ts';
import { maskSecret } from '../../src/config/secret.ts';
import { ConfigStore } from '../../src/config/store.ts';
import { tempFolder } from './temp-folder.ts';

async function makeStore() {
  const store = new ConfigStore(tempFolder());
  await store.saveProfile(
    'prod',
    { base_url: 'https://prod.example/api/', team_id: 'team_profile' },
    { type: 'token', token: 'aops_live_profile99' },
  );
  return store;
}

describe('precedence', () => {
  const layers = [
    { source: 'flag', name: '--team', value: 'team_flag' },
    { source: 'environment', name: 'AOPS_TEAM_ID', value: 'team_env' },
    { source: 'profile', name: 'profile prod', value: 'team_profile' },
    { source: 'setting', name: 'setting team_id', value: 'team_setting' },
  ];

  // Every subset of the four layers: the one with the highest precedence applies, the others are shadowed in order.
  test.each(Array.from({ length: 16 }, (_, bits) => layers.filter((_layer, index) => bits & (1 << index))))('%j', async (...present) => {
    const hasLayer = (source: string) => present.some((layer) => layer?.source === source);
    const store = new ConfigStore(tempFolder());
    await store.saveProfile('prod', { base_url: 'https://prod.example', ...(hasLayer('profile') ? { team_id: 'team_profile' } : {}) });
    if (hasLayer('setting')) await store.setSetting('team_id', 'team_setting');
    const { team_id } = resolveConfig({
      flags: hasLayer('flag') ? { team: 'team_flag' } : {},
      env: hasLayer('environment') ? { AOPS_TEAM_ID: 'team_env' } : { AOPS_TEAM_ID: '' },
      store,
    });
    const [first, ...otherLayers] = present;
    expect(team_id).toEqual(
      first ? { ...first, shadowed: otherLayers } : { value: undefined, source: 'default', name: 'default', shadowed: [] },
    );
  });

  test('defaults', () => {
    const config = resolveConfig({ flags: {}, env: {}, store: new ConfigStore(tempFolder()) });
    expect(config).toMatchObject({
      profile: { value: undefined },
      base_url: { value: undefined },
      output: { value: 'table', source: 'default' },
      color: { value: 'auto' },
      timeout: { value: undefined },
      max_wait: { value: 60_000 },
      prompt: { value: true },
    });
  });

  test.each([
    [{ color: 'always' }, { NO_COLOR: '1', FORCE_COLOR: '1' }, 'always', '--color'],
    [{}, { NO_COLOR: '1', FORCE_COLOR: '1' }, 'never', 'NO_COLOR'],
    [{}, { NO_COLOR: '', FORCE_COLOR: '1' }, 'always', 'FORCE_COLOR'],
    [{}, { FORCE_COLOR: '0' }, 'never', 'FORCE_COLOR'],
    [{}, {}, 'auto', 'default'],
  ])('colour: %j %j', (flags, env, value, name) => {
    expect(resolveConfig({ flags, env, store: new ConfigStore(tempFolder()) }).color).toMatchObject({ value, name });
  });

  test('of flags for output, waiting and prompting', () => {
    const store = new ConfigStore(tempFolder());
    const config = resolveConfig({ flags: { json: true, timeout: '1m30s', maxWait: '0', input: false }, env: {}, store });
    expect(config).toMatchObject({
      output: { value: 'json', name: '--json' },
      timeout: { value: 90_000, name: '--timeout' },
      max_wait: { value: 0, name: '--max-wait' },
      prompt: { value: false, name: '--no-input' },
    });
  });

  test.each([
    [{ output: 'xml' }, {}, '--output'],
    [{ timeout: 'soon' }, {}, '--timeout'],
    [{ color: 'blue' }, {}, '--color'],
    [{ baseUrl: 'http://a.example' }, {}, '--base-url'],
    [{}, { AOPS_BASE_URL: 'nonsense' }, 'AOPS_BASE_URL'],
  ])('a bad value names its source: %j %j', (flags, env, name) => {
    expect(() => resolveConfig({ flags, env, store: new ConfigStore(tempFolder()) })).toThrow(
      expect.objectContaining({ exit: 2, message: expect.stringContaining(name) }),
    );
  });

  test('a profile that does not exist names its source, unless it is about to be created', async () => {
    const input = { flags: {}, env: { AOPS_PROFILE: 'nope' }, store: await makeStore() };
    expect(() => resolveConfig(input)).toThrow(
      expect.objectContaining({ code: 'profile_not_found', exit: 3, message: expect.stringContaining('AOPS_PROFILE') }),
    );
    expect(resolveConfig({ ...input, allowMissingProfile: true })).toMatchObject({
      profile: { value: 'nope' },
      base_url: { value: undefined },
    });
  });

  test('a shadowed base URL never shows a password', async () => {
    const { base_url } = resolveConfig({
      flags: { baseUrl: 'https://a.example' },
      env: { AOPS_BASE_URL: 'https://ana:hunter2@b.example' },
      store: await makeStore(),
    });
    expect(base_url.shadowed).toEqual([
      { source: 'environment', name: 'AOPS_BASE_URL', value: '(not a usable URL)' },
      { source: 'profile', name: 'profile prod', value: 'https://prod.example/api' },
    ]);
  });
});

describe('base URL', () => {
  test.each([
    ['https://API.example.com/', 'https://api.example.com'],
    ['https://api.example.com:443/v/x//', 'https://api.example.com/v/x'],
    ['http://127.0.0.1:4010', 'http://127.0.0.1:4010'],
    ['http://[::1]:4010/', 'http://[::1]:4010'],
    ['http://localhost:4010/', 'http://localhost:4010'],
  ])('%s -> %s', (input, expected) => {
    const config = resolveConfig({ flags: { baseUrl: input }, env: {}, store: new ConfigStore(tempFolder()) });
    expect(requireBaseUrl(config)).toBe(expected);
  });

  test.each(['http://127.0.0.1.evil.example', 'http://0.0.0.0:80', 'http://10.0.0.1', 'javascript:alert(1)', 'https://'])(
    '%s is refused',
    (input) => {
      expect(() => resolveConfig({ flags: { baseUrl: input }, env: {}, store: new ConfigStore(tempFolder()) })).toThrow('--base-url');
    },
  );
});

describe('credential', () => {
  test('environment beats profile, and token beats client; shadowed credentials are masked', async () => {
    const env = {
      AOPS_API_KEY: 'aops_live_environment77\n',
      AOPS_CLIENT_ID: 'client_1',
      AOPS_CLIENT_SECRET: 'client_secret_abcdefgh',
    };
    const config = resolveConfig({ flags: {}, env, store: await makeStore() });
    expect(requireCredential(config)).toEqual({ type: 'token', token: 'aops_live_environment77' });
    expect(config.credential).toMatchObject({
      source: 'environment',
      name: 'AOPS_API_KEY',
      masked: 'aops_live_…nt77',
      shadowed: [
        { name: 'AOPS_CLIENT_ID', value: 'client_1 / client_secret_…efgh' },
        { name: 'profile prod', value: 'aops_live_…le99' },
      ],
    });
    expect(JSON.stringify({ ...config.credential, value: undefined })).not.toMatch(/environment77|abcdefgh|profile99/);
  });

  test('client credentials of the environment, with and without a token URL', async () => {
    const env = { AOPS_CLIENT_ID: 'client_1', AOPS_CLIENT_SECRET: 'shhh' };
    const store = await makeStore();
    expect(requireCredential(resolveConfig({ flags: {}, env, store }))).toEqual({
      type: 'client_credentials',
      client_id: 'client_1',
      client_secret: 'shhh',
    });
    const withUrl = { ...env, AOPS_TOKEN_URL: 'https://id.example/token' };
    expect(requireCredential(resolveConfig({ flags: {}, env: withUrl, store }))).toMatchObject({ token_url: 'https://id.example/token' });
  });

  test.each([
    [{ AOPS_CLIENT_ID: 'a' }, 'credential_incomplete', 'AOPS_CLIENT_SECRET'],
    [{ AOPS_CLIENT_SECRET: 'hunter2' }, 'credential_incomplete', 'AOPS_CLIENT_ID'],
    [{ AOPS_API_KEY: 'hunter2 x' }, 'credential_invalid', 'AOPS_API_KEY'],
    [{ AOPS_API_KEY: 'hunter2\r\nX-Evil: 1' }, 'credential_invalid', 'AOPS_API_KEY'],
    [{ AOPS_CLIENT_ID: 'a', AOPS_CLIENT_SECRET: 'b', AOPS_TOKEN_URL: 'http://id.example' }, 'usage', 'AOPS_TOKEN_URL'],
  ])('%j is reported when a credential is needed, and never echoed', async (env, code, name) => {
    const config = resolveConfig({ flags: {}, env, store: await makeStore() });
    expect(() => requireCredential(config)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(name) }));
    expect(() => requireCredential(config)).not.toThrow('hunter2');
  });

  test('a stored credential is used at its own origin only', async () => {
    const store = await makeStore();
    const resolveAt = (baseUrl: string, env = {}) => resolveConfig({ flags: { baseUrl }, env, store });
    expect(requireCredential(resolveAt('https://prod.example/other'))).toEqual({ type: 'token', token: 'aops_live_profile99' });
    for (const otherUrl of ['https://evil.example', 'https://prod.example:8443', 'http://localhost:1']) {
      expect(() => requireCredential(resolveAt(otherUrl))).toThrow(expect.objectContaining({ code: 'credential_other_origin', exit: 4 }));
      expect(resolveAt(otherUrl).credential.value).toBeUndefined();
    }
    expect(requireCredential(resolveAt('https://other.example', { AOPS_API_KEY: 'given' }))).toEqual({ type: 'token', token: 'given' });
  });

  test('a broken credentials file does not get in the way of AOPS_API_KEY', async () => {
    const store = await makeStore();
    writeFileSync(store.credentialsFile, '{');
    const freshStore = new ConfigStore(store.directory);
    expect(() => requireCredential(resolveConfig({ flags: {}, env: {}, store: freshStore }))).toThrow('credentials.json');
    expect(requireCredential(resolveConfig({ flags: {}, env: { AOPS_API_KEY: 'given' }, store: freshStore }))).toMatchObject({
      token: 'given',
    });
  });

  test('without any configuration each requirement has its own error', () => {
    const config = resolveConfig({ flags: {}, env: {}, store: new ConfigStore(tempFolder()) });
    expect(() => requireCredential(config)).toThrow(expect.objectContaining({ code: 'not_signed_in', exit: 4 }));
    expect(() => requireBaseUrl(config)).toThrow(expect.objectContaining({ code: 'base_url_missing', exit: 2 }));
    expect(() => requireTeam(config)).toThrow(expect.objectContaining({ code: 'team_missing', exit: 2 }));
  });
});

test.each([
  ['aops_local_abcdef', 'aops_local_…cdef'],
  ['aops_local_abcdefgh', 'aops_local_…efgh'],
  ['sk-1234567890', 'sk-…7890'],
  ['hunter2', '…'],
  ['correct-horse-battery', '…tery'],
  ['abc', '…'],
  ['', '…'],
])('maskSecret(%j) -> %s', (secret, masked) => {
  expect(maskSecret(secret)).toBe(masked);
});
