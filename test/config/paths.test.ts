import { expect, test } from 'vitest';
import { configPaths } from '../../src/config/paths.ts';

test.each([
  ['home', {}, { config: '/home/ana/.config/aops', data: '/home/ana/.local/share/aops', cache: '/home/ana/.cache/aops' }],
  [
    'XDG',
    { XDG_CONFIG_HOME: '/x/c', XDG_DATA_HOME: '/x/d', XDG_CACHE_HOME: '/x/k' },
    { config: '/x/c/aops', data: '/x/d/aops', cache: '/x/k/aops' },
  ],
  [
    'relative and empty XDG values are ignored',
    { XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: './d', XDG_CACHE_HOME: '' },
    { config: '/home/ana/.config/aops', data: '/home/ana/.local/share/aops', cache: '/home/ana/.cache/aops' },
  ],
  [
    'own variables beat XDG',
    { AOPS_CONFIG_DIR: '/o/c', AOPS_DATA_DIR: 'rel', AOPS_CACHE_DIR: '/o/k/', XDG_CONFIG_HOME: '/x/c', XDG_DATA_HOME: '/x/d' },
    { config: '/o/c', data: '/srv/rel', cache: '/o/k' },
  ],
])('%s', (_name, env, expected) => {
  expect(configPaths(env, '/home/ana', 'linux', '/srv')).toEqual(expected);
});

test('Windows uses the application data folders', () => {
  const env = { APPDATA: 'C:\\Users\\ana\\AppData\\Roaming', LOCALAPPDATA: 'C:\\Users\\ana\\AppData\\Local' };
  const expected = {
    config: 'C:\\Users\\ana\\AppData\\Roaming\\aops',
    data: 'C:\\Users\\ana\\AppData\\Local\\aops\\data',
    cache: 'C:\\Users\\ana\\AppData\\Local\\aops\\cache',
  };
  expect(configPaths(env, 'C:\\Users\\ana', 'win32', 'C:\\')).toEqual(expected);
  expect(configPaths({}, 'C:\\Users\\ana', 'win32', 'C:\\')).toEqual(expected);
});
