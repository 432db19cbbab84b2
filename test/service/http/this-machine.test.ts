/** Which requests come from a program on this machine. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { isFromThisMachine } from '../../../src/service/http/this-machine.ts';

const request = (remoteAddress: string | undefined, localAddress: string, headers: IncomingHttpHeaders = {}) =>
  ({ headers: { host: '127.0.0.1:4000', ...headers }, socket: { remoteAddress, localAddress } }) as unknown as IncomingMessage;

it.each([
  ['on the loopback interface', request('127.0.0.1', '127.0.0.1'), undefined, true],
  ['with an IPv4 address in an IPv6 socket', request('::ffff:127.0.0.1', '::ffff:127.0.0.1'), undefined, true],
  ['with the address at which the service listens', request('192.168.1.5', '192.168.1.5'), undefined, true],
  ['from another address of the network', request('192.168.1.6', '192.168.1.5'), undefined, false],
  ['on a connection that is already closed', request(undefined, '127.0.0.1'), undefined, false],
  ['through a proxy that identifies itself', request('127.0.0.1', '127.0.0.1', { 'x-real-ip': '203.0.113.7' }), undefined, false],
  ['to the public name', request('127.0.0.1', '127.0.0.1', { host: 'Agents.example.com' }), 'https://agents.example.com', false],
  ['past the public name', request('127.0.0.1', '127.0.0.1'), 'https://agents.example.com', true],
  ['to a public address that is this machine', request('127.0.0.1', '127.0.0.1'), 'http://127.0.0.1:4000', true],
])('recognises a request %s', (_, message, publicUrl, expected) => {
  expect(isFromThisMachine(message, publicUrl)).toBe(expected);
});
