import { expect, test } from 'vitest';
import { configPaths, homeFolder } from '../../src/config/paths.ts';

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

test.each([
  ['linux', '/home/ana'],
  ['win32', 'C:\\Users\\ana'],
])('the home directory is HOME on %s', (platform, HOME) => {
  expect(homeFolder({ HOME }, platform, () => '/recorded')).toBe(HOME);
});

test.each([undefined, '', '.', 'home/ana'])('a HOME of %j does not make the current directory the home directory', (HOME) => {
  expect(homeFolder({ HOME }, 'linux', () => '/recorded')).toBe('/recorded');
});

test('a user that the system does not know has no home directory', () => {
  const unknown = (): string => {
    throw new Error('ENOENT');
  };
  expect(homeFolder({}, 'linux', unknown)).toBeUndefined();
  expect(homeFolder({}, 'linux', () => '')).toBeUndefined();
});

test('without a home directory, all folders must be specified', () => {
  const env = { AOPS_CONFIG_DIR: '/o/c', AOPS_DATA_DIR: '/o/d', AOPS_CACHE_DIR: '/o/k' };
  expect(configPaths(env, undefined, 'linux', '/srv')).toEqual({ config: '/o/c', data: '/o/d', cache: '/o/k' });
  for (const name of Object.keys(env))
    expect(() => configPaths({ ...env, [name]: '' }, undefined, 'linux', '/srv')).toThrow('You have no home directory');
});
