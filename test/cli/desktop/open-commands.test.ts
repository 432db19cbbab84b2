/** The commands that open pages and files, on every platform. */
import { describe, expect, it } from 'vitest';
import { type OpenTarget, openCommands } from '../../../src/cli/desktop/open-commands.ts';

const url = 'https://a.example/x?a=1&b=%20|calc&c="d"';
const page: OpenTarget = { url };
const screen = { DISPLAY: ':0' };

describe('a page or a file is opened', () => {
  it.each([
    ['linux', screen, page, [['xdg-open', url]]],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, { file: '/tmp/R&D $x/a.html' }, [['xdg-open', '/tmp/R&D $x/a.html']]],
    ['freebsd', screen, page, [['xdg-open', url]]],
    ['linux', { ...screen, SSH_CONNECTION: '1' }, page, [['xdg-open', url]]],
    ['darwin', {}, page, [['open', url]]],
    ['darwin', {}, { file: '/Users/a b/R&D.html' }, [['open', '/Users/a b/R&D.html']]],
    ['win32', { SystemRoot: 'D:\\Win' }, page, [['D:\\Win\\System32\\rundll32.exe', 'url.dll,FileProtocolHandler', url]]],
    [
      'win32',
      {},
      { file: 'C:\\Users\\a b\\R&D 100%\\page.html' },
      [['C:\\Windows\\System32\\rundll32.exe', 'url.dll,FileProtocolHandler', 'file:///C:/Users/a%20b/R&D%20100%25/page.html']],
    ],
    [
      'linux',
      { WSL_DISTRO_NAME: 'Ubuntu' },
      page,
      [
        ['wslview', url],
        ['xdg-open', url],
        ['rundll32.exe', 'url.dll,FileProtocolHandler', url],
      ],
    ],
    [
      'linux',
      { WSL_DISTRO_NAME: 'Ubuntu' },
      { file: '/tmp/a.html' },
      [
        ['wslview', '/tmp/a.html'],
        ['xdg-open', '/tmp/a.html'],
      ],
    ],
  ] as const)('on %s with %o: %o', (platform, env, target, commands) => {
    expect(openCommands({ platform, env }, target)).toEqual(commands);
  });

  it.each([
    ['linux', {}],
    ['linux', { DISPLAY: '', WAYLAND_DISPLAY: '' }],
    ['linux', { SSH_CONNECTION: '1' }],
    ['darwin', { SSH_CONNECTION: '1' }],
    ['win32', { SSH_CONNECTION: '1' }],
  ])('nowhere on %s with %o, where there is no screen', (platform, env) => {
    expect(openCommands({ platform, env }, page)).toEqual([]);
    expect(openCommands({ platform, env }, { file: '/tmp/a.html' })).toEqual([]);
  });
});

describe('nothing is opened', () => {
  it.each(['file:///etc/passwd', 'ms-settings:', '-new-window', 'javascript:alert(1)', ' https://a.example', ''])(
    'for the URL "%s"',
    (other) => {
      for (const env of [screen, { BROWSER: 'firefox' }])
        for (const platform of ['linux', 'darwin', 'win32']) expect(openCommands({ platform, env }, { url: other })).toEqual([]);
    },
  );
});

describe('the program that BROWSER names', () => {
  it.each([
    ['linux', 'firefox', [['firefox', url]]],
    [
      'linux',
      'firefox --new-window',
      [
        ['firefox --new-window', url],
        ['firefox', '--new-window', url],
      ],
    ],
    [
      'linux',
      'w --url=%s --now:chromium',
      [
        ['w', `--url=${url}`, '--now'],
        ['chromium', url],
      ],
    ],
    [
      'linux',
      '/mnt/c/Program Files (x86)/Edge/edge.exe',
      [
        ['/mnt/c/Program Files (x86)/Edge/edge.exe', url],
        ['/mnt/c/Program', 'Files', '(x86)/Edge/edge.exe', url],
      ],
    ],
    [
      'win32',
      'C:\\edge.exe;firefox',
      [
        ['C:\\edge.exe', url],
        ['firefox', url],
      ],
    ],
  ])('on %s opens pages with %s, with or without a screen', (platform, browser, commands) => {
    for (const env of [{}, screen, { SSH_CONNECTION: '1' }]) {
      expect(openCommands({ platform, env: { ...env, BROWSER: browser } }, page)).toEqual(commands);
    }
  });

  it('is used as if it were not set when it is empty', () => {
    expect(openCommands({ platform: 'linux', env: { ...screen, BROWSER: '' } }, page)).toEqual([['xdg-open', url]]);
  });
});
