import { describe, expect, test } from 'vitest';
import { proxiesOf, proxySecrets } from '../../src/config/proxy.ts';

const target = 'https://agents.example.com';
const proxyFor = (env: Record<string, string>, url = target) => proxiesOf(env)?.(new URL(url));

describe('the proxy', () => {
  test.each([
    [{ HTTPS_PROXY: 'http://p:8080' }, 'http://p:8080', 'HTTPS_PROXY'],
    [{ https_proxy: 'http://low:1', HTTPS_PROXY: 'http://up:2' }, 'http://low:1', 'https_proxy'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://up:2' }, 'http://up:2', 'HTTPS_PROXY'],
    [{ https_proxy: '  ', HTTPS_PROXY: '', all_proxy: '', ALL_PROXY: 'all:3' }, 'http://all:3', 'ALL_PROXY'],
    [{ HTTPS_PROXY: 'p:8080' }, 'http://p:8080', 'HTTPS_PROXY'],
    [{ HTTPS_PROXY: 'localhost:8080' }, 'http://localhost:8080', 'HTTPS_PROXY'],
    [{ HTTPS_PROXY: '10.0.0.1' }, 'http://10.0.0.1', 'HTTPS_PROXY'],
    [{ HTTPS_PROXY: '[::1]:3128' }, 'http://[::1]:3128', 'HTTPS_PROXY'],
    [{ HTTPS_PROXY: 'https://p/' }, 'https://p', 'HTTPS_PROXY'],
    [{ HTTPS_PROXY: 'u:p%40ss@p:8080' }, 'http://p:8080', 'HTTPS_PROXY'],
    [{ HTTP_PROXY: 'http://plain:1', ALL_PROXY: 'http://all:2' }, 'http://all:2', 'ALL_PROXY'],
  ] as const)('of %j is %s', (env, origin, variable) => {
    expect(proxyFor(env)).toMatchObject({ origin, variable });
  });

  test.each([[{}], [{ HTTP_PROXY: 'http://plain:1' }], [{ HTTPS_PROXY: '', https_proxy: '' }], [{ HTTPS_PROXY: 'p', NO_PROXY: '*' }]])(
    'returns no proxy for %j',
    (env) => {
      expect(proxyFor(env as Record<string, string>)).toBeUndefined();
    },
  );

  test('has its user name and password decoded, and reported as secrets', () => {
    const env = { HTTPS_PROXY: 'http://us%65r:p%40ss%3Aword@p:8080', http_proxy: 'me@q' };
    expect(proxyFor(env)?.login).toEqual({ user: 'user', password: 'p@ss:word' });
    expect(proxyFor({ HTTPS_PROXY: 'me@p' })?.login).toEqual({ user: 'me', password: '' });
    expect(proxySecrets(env)).toEqual(expect.arrayContaining(['p%40ss%3Aword', 'p@ss:word', 'user:p@ss:word']));
    expect(proxySecrets({})).toEqual([]);
  });

  test.each(['http://user:hunter2hunter2@p:port', 'http://', 'socks5://user:hunter2hunter2@p:1080', 'http://hunter2hunter2 x'])(
    'named as %j is refused without being echoed',
    (value) => {
      const choose = proxiesOf({ HTTPS_PROXY: value });
      expect(() => choose?.(new URL(target))).toThrow(
        expect.objectContaining({ exit: 2, message: expect.stringContaining('HTTPS_PROXY') }),
      );
      expect(() => choose?.(new URL(target))).not.toThrow('hunter2');
      // An unusable proxy that is not needed causes no error.
      expect(choose?.(new URL('http://127.0.0.1:4010'))).toBeUndefined();
    },
  );

  test.each(['http://localhost:1', 'http://127.0.0.1:1', 'https://127.3.2.1', 'http://[::1]:1', 'https://a.localhost'])(
    'never leads to %s',
    (url) => {
      expect(proxyFor({ ALL_PROXY: 'p' }, url)).toBeUndefined();
    },
  );
});

describe('NO_PROXY', () => {
  test.each([
    ['example.com', 'https://example.com', true],
    ['example.com', 'https://a.b.example.com', true],
    ['example.com', 'https://notexample.com', false],
    ['.example.com', 'https://example.com', true],
    ['*.example.com', 'https://a.example.com', true],
    ['EXAMPLE.com', 'https://A.example.COM', true],
    ['example.com.', 'https://example.com', true],
    ['other, example.com  third', 'https://example.com', true],
    ['example.com:443', 'https://example.com', true],
    ['example.com:8443', 'https://example.com', false],
    ['example.com:8443', 'https://example.com:8443', true],
    ['10.1.2.3', 'https://10.1.2.3', true],
    ['2.3', 'https://10.1.2.3', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/99', 'https://10.1.2.3', false],
    ['fd00::/8', 'https://[fd12::1]', true],
    ['fd12::1', 'https://[fd12::1]', true],
    ['[fd12::1]:8443', 'https://[fd12::1]:8443', true],
    ['[fd12::1]:8443', 'https://[fd12::1]', false],
    ['a*', 'https://agents.example.com', false],
    [',,', 'https://example.com', false],
  ])('%j and %s: %j', (list, url, exempt) => {
    expect(proxyFor({ ALL_PROXY: 'p', NO_PROXY: list }, url) === undefined).toBe(exempt);
  });

  test('is read in lower case first, and an empty lower-case variable is ignored', () => {
    expect(proxyFor({ ALL_PROXY: 'p', no_proxy: 'x', NO_PROXY: '*' })).toBeDefined();
    expect(proxyFor({ ALL_PROXY: 'p', no_proxy: '', NO_PROXY: '*' })).toBeUndefined();
  });
});
