import { describe, expect, it } from 'vitest';
import { HostRules, wordFor } from '../../../src/service/outbound/host-rules.ts';

const loopback = ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '[::1]'];
const publicAddresses = ['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8'];
const internal = ['10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd12::1'];
/** Addresses that only an explicit range allows. */
const forbiddenAddresses = [
  '0.0.0.0',
  '169.254.169.254',
  '192.0.0.8',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '192.88.99.1',
  '::',
  '::7f00:1',
  '::a00:1',
  '::ffff:169.254.169.254',
  '::ffff:0:127.0.0.1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2002:a00:1::',
  '2001::1',
  '2001:db8::1',
  '100::1',
  // The metadata service of clouds.
  '168.63.129.16',
  '100.100.100.200',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
];

const allowedAddresses = (rules: HostRules, addresses: string[], host = 'hooks.example.com') =>
  addresses.filter((address) => rules.allows(host, address));

describe('without words', () => {
  it('allows nothing, not even this machine', () => {
    const rules = new HostRules();
    expect(allowedAddresses(rules, [...loopback, ...publicAddresses, ...internal, ...forbiddenAddresses])).toEqual([]);
    expect(allowedAddresses(rules, ['127.0.0.1'], 'localhost')).toEqual([]);
    expect(allowedAddresses(new HostRules(['loopback']), ['nonsense', '', '127.0.0.1.', '256.1.1.1'])).toEqual([]);
  });
});

describe('a word', () => {
  it.each([
    ['loopback', loopback],
    ['public', publicAddresses],
    ['127.0.0.1', ['127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1']],
    ['10.0.0.0/8', ['10.1.2.3']],
    ['192.168.1.1', ['192.168.1.1']],
    ['[fd12::1]', ['fd12::1']],
    ['fd00::/8', ['fd12::1', ...forbiddenAddresses.filter((address) => address.startsWith('fd'))]],
    ['::ffff:8.8.8.8', ['8.8.8.8', '::ffff:8.8.8.8']],
    ['169.254.0.0/16', ['169.254.169.254', '::ffff:169.254.169.254']],
    ['168.63.129.16', ['168.63.129.16']],
    ['hooks.example.com', [...loopback, ...publicAddresses, ...internal]],
    ['HOOKS.example.com.', [...loopback, ...publicAddresses, ...internal]],
    ['*.example.com', [...loopback, ...publicAddresses, ...internal]],
    ['example.com', []],
    ['*.hooks.example.com', []],
  ])('%s allows what it names, and no more', (word, expected) => {
    expect(allowedAddresses(new HostRules([word]), [...loopback, ...publicAddresses, ...internal, ...forbiddenAddresses])).toEqual(
      expected,
    );
  });

  it('for a name does not allow another one', () => {
    const rules = new HostRules(['hooks.example.com', '*.test']);
    expect(rules.allows('evil.example.com', '8.8.8.8')).toBe(false);
    expect(rules.allows('a.b.test', '8.8.8.8')).toBe(true);
    expect(rules.allows('test', '8.8.8.8')).toBe(false);
    expect(rules.allows('nottest', '8.8.8.8')).toBe(false);
  });

  it.each(['', 'http://x/', 'a b', 'x:80', '10.0.0.0/33', '1.2.3', '*', '*.', '*.a b', '*.-a.example', 'a..b', '-a.example', 'me@host'])(
    'cannot be "%s"',
    (word) => {
      expect(() => new HostRules([word])).toThrow(expect.objectContaining({ code: 'webhook_host_invalid', exit: 2 }));
    },
  );
});

it.each([
  ['127.0.0.1', 'loopback'],
  ['[::1]', 'loopback'],
  ['10.0.0.7', '10.0.0.7'],
  ['localhost', 'localhost'],
])('%s would be allowed by %s', (host, word) => {
  expect(wordFor(host)).toBe(word);
  expect(new HostRules([word]).allows(host, host === 'localhost' ? '127.0.0.1' : host)).toBe(true);
});
