import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TrustedProxies } from '../../../src/service/http/client-address.ts';

const proxies = new TrustedProxies(['127.0.0.1', '10.0.0.0/8', '[fd00::1]']);
const clientAddress = (remoteAddress: string | undefined, headers: Record<string, string> = {}) =>
  proxies.clientAddress({ socket: { remoteAddress }, headers });
const xff = 'x-forwarded-for';

describe('the address of a client', () => {
  it.each([
    ['no header', '127.0.0.1', {}, '127.0.0.1'],
    ['a peer that is not trusted', '192.0.2.9', { [xff]: '192.0.2.1' }, '192.0.2.9'],
    ['one hop', '127.0.0.1', { [xff]: '192.0.2.1' }, '192.0.2.1'],
    ['an IPv4 peer on an IPv6 socket', '::ffff:127.0.0.1', { [xff]: '::ffff:192.0.2.1' }, '192.0.2.1'],
    ['the last hop that is not trusted', '127.0.0.1', { [xff]: '203.0.113.7, 192.0.2.1, 10.1.1.1' }, '192.0.2.1'],
    ['trusted hops only', '127.0.0.1', { [xff]: '10.0.0.2, 10.0.0.1' }, '10.0.0.2'],
    ['ports', '127.0.0.1', { [xff]: '[2001:db8::1]:4711, 10.0.0.1:80' }, '2001:db8::1'],
    ['an IPv6 address in two notations', 'fd00:0::1', { [xff]: '2001:DB8:0:0::1' }, '2001:db8::1'],
    ['a word that is no address', '127.0.0.1', { [xff]: '192.0.2.1, unknown' }, '127.0.0.1'],
    ['an address in another notation', '127.0.0.1', { [xff]: '0x7f.1' }, '127.0.0.1'],
    ['nothing in the header', '127.0.0.1', { [xff]: '' }, '127.0.0.1'],
    ['Forwarded', '127.0.0.1', { forwarded: 'for=203.0.113.7;proto=https, For="[2001:db8::1]:4711";by=x' }, '2001:db8::1'],
    ['Forwarded with commas in quotes', '127.0.0.1', { forwarded: 'for="_a,for=1.1.1.1", proto=http;for=192.0.2.1' }, '192.0.2.1'],
    [
      'Forwarded that the client began with an open quote',
      '127.0.0.1',
      { forwarded: 'for=6.6.6.6;by=", for="[2001:db8::1]"' },
      '2001:db8::1',
    ],
    ['Forwarded with a host that the client made up', '127.0.0.1', { forwarded: 'host="a;for=6.6.6.6;b";for=192.0.2.1' }, '192.0.2.1'],
    ['Forwarded with parameters that cannot be read', '127.0.0.1', { forwarded: 'host=a b;for=6.6.6.6' }, '127.0.0.1'],
    ['Forwarded that hides the client', '127.0.0.1', { forwarded: 'for=_hidden' }, '127.0.0.1'],
    ['an element without a client', '127.0.0.1', { forwarded: 'for=192.0.2.1, by=10.0.0.1' }, '127.0.0.1'],
    ['both headers, when they agree', '127.0.0.1', { [xff]: '192.0.2.1', forwarded: 'for=192.0.2.1' }, '192.0.2.1'],
    ['both headers, when one of them may be of the client', '127.0.0.1', { [xff]: '192.0.2.1', forwarded: 'for=192.0.2.2' }, '127.0.0.1'],
    ['a connection that is gone', undefined, { [xff]: '192.0.2.1' }, 'unknown'],
  ])('with %s', (_, peer, headers, expected) => {
    expect(clientAddress(peer, headers)).toBe(expected);
  });

  it('is never one that the client wrote, when the proxy adds the one it saw', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.ipV4().filter((ip) => !proxies.trusts(ip)),
        (writtenAddress, address) => {
          expect(clientAddress('127.0.0.1', { [xff]: `${writtenAddress}, ${address}` })).toBe(address);
          expect(['127.0.0.1', address]).toContain(
            clientAddress('127.0.0.1', { [xff]: `${writtenAddress}, ${address}`, forwarded: writtenAddress }),
          );
          for (const forwardedElement of [`for=${address}`, `for="${address}:80"`, `by="a,b";for="${address}"`])
            expect(clientAddress('127.0.0.1', { forwarded: `${writtenAddress}, ${forwardedElement}` })).toBe(address);
        },
      ),
    );
  });

  it('counts as one client with all others of its /64 of IPv6', () => {
    const client = (remoteAddress: string) => proxies.client({ socket: { remoteAddress } });
    expect(['2001:db8::1', '2001:DB8:0:0:ffff::2', '2001:db8:0:1::1', '::ffff:192.0.2.1', '192.0.2.2'].map(client)).toEqual([
      '2001:db8::/64',
      '2001:db8::/64',
      '2001:db8:0:1::/64',
      '192.0.2.1',
      '192.0.2.2',
    ]);
    expect(proxies.client({ socket: { remoteAddress: undefined } })).toBe('unknown');
  });

  it('is reported by addresses and ranges, and by nothing else', () => {
    for (const word of ['localhost', 'public', '', '10.0.0.0/33', '1.2.3'])
      expect(() => new TrustedProxies([word]), word).toThrow(expect.objectContaining({ code: 'trusted_proxy_invalid' }));
    expect(['10.9.9.9', '::ffff:10.0.0.1', 'fd00::1', 'fd00::2', undefined].map((proxyAddress) => proxies.trusts(proxyAddress))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
