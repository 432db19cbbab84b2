/** Which names and origins a request may have, for every way in which a service can be reached. */
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/service/errors.ts';
import { type OwnNames, originCheck, requireSoundHeaders } from '../../../src/service/http/origin.ts';

const local: OwnNames = { scheme: 'http', host: '127.0.0.1' };
const ownNames: OwnNames = { scheme: 'http', host: 'Machine.Local' };
const six: OwnNames = { scheme: 'https', host: '2001:db8::1' };
const anyHostNames: OwnNames = { scheme: 'http', host: '0.0.0.0' };
const anywhereSix: OwnNames = { scheme: 'http', host: '::' };
const listedNames: OwnNames = { scheme: 'http', host: '0.0.0.0', names: ['Agents.Internal'] };
const behindProxy: OwnNames = { scheme: 'http', host: '0.0.0.0', publicUrl: 'https://agents.example.com' };

/** The origin that a request was sent to, or the code of the refusal. */
function checkHost(names: OwnNames, host: string | undefined, { origin, url }: { origin?: string; url?: string } = {}): string {
  try {
    return originCheck(names)({ url, headers: { host, origin } });
  } catch (error) {
    return error instanceof ServiceError ? error.error : String(error);
  }
}

describe('the host of a request', () => {
  it.each([
    ['loopback', local, '127.0.0.1:4010', 'http://127.0.0.1:4010'],
    ['loopback', local, 'LOCALHOST', 'http://localhost'],
    ['loopback', local, '[::1]:1', 'http://[::1]:1'],
    ['loopback', local, '10.0.0.1', 'host_not_allowed'],
    ['loopback', local, 'evil.example', 'host_not_allowed'],
    ['loopback', local, undefined, 'invalid_request'],
    ['loopback', local, '', 'invalid_request'],
    ['loopback', local, '127.0.0.1:99999', 'invalid_request'],
    ['loopback', local, 'name@127.0.0.1', 'invalid_request'],
    ['a name', ownNames, 'machine.local:80', 'http://machine.local'],
    ['a name', ownNames, 'localhost', 'http://localhost'],
    ['a name', ownNames, 'other.local', 'host_not_allowed'],
    ['an IPv6 address', six, '[2001:db8::1]:4010', 'https://[2001:db8::1]:4010'],
    ['an IPv6 address', six, '[2001:db8::2]', 'host_not_allowed'],
    ['every interface', anyHostNames, 'whatever.example', 'http://whatever.example'],
    ['every interface', anywhereSix, 'whatever.example', 'http://whatever.example'],
    ['every interface, with names', listedNames, 'agents.internal', 'http://agents.internal'],
    ['every interface, with names', listedNames, 'localhost', 'http://localhost'],
    ['every interface, with names', listedNames, 'whatever.example', 'host_not_allowed'],
    ['every interface, with names', listedNames, '0.0.0.0', 'host_not_allowed'],
    ['every interface, behind a proxy', behindProxy, 'agents.example.com', 'http://agents.example.com'],
    ['every interface, behind a proxy', behindProxy, 'whatever.example', 'host_not_allowed'],
  ])('of a service on %s is checked: %j %s is %s', (_, names, host, expected) => {
    expect(checkHost(names, host)).toBe(expected);
  });

  it('is that of a target in absolute form, whatever the Host header contains', () => {
    expect(checkHost(local, 'evil.example', { url: 'http://localhost:1/a' })).toBe('http://localhost:1');
    expect(checkHost(local, 'localhost', { url: 'HTTPS://evil.example/a' })).toBe('host_not_allowed');
    expect(checkHost(local, 'localhost', { url: 'http://' })).toBe('invalid_request');
    expect(checkHost(local, 'localhost', { url: '/http://evil.example/a' })).toBe('http://localhost');
  });
});

describe('the origin of a request', () => {
  it.each([
    ['loopback', local, '127.0.0.1:4010', 'http://127.0.0.1:4010', true],
    ['loopback', local, '127.0.0.1:4010', 'http://localhost:4010', false],
    ['loopback', local, '127.0.0.1:4010', 'https://127.0.0.1:4010', false],
    ['loopback', local, '127.0.0.1:4010', 'null', false],
    ['loopback', local, '127.0.0.1:4010', '', false],
    ['every interface', anyHostNames, 'whatever.example', 'http://whatever.example', true],
    ['every interface', anyHostNames, 'whatever.example', 'http://evil.example', false],
    ['every interface, behind a proxy', behindProxy, 'agents.example.com', 'https://agents.example.com', true],
    ['every interface, behind a proxy', behindProxy, 'localhost:4010', 'https://agents.example.com', true],
    ['every interface, behind a proxy', behindProxy, 'localhost:4010', 'http://localhost:4010', true],
    // The proxy terminates TLS, so no page can have this origin.
    ['every interface, behind a proxy', behindProxy, 'agents.example.com', 'http://agents.example.com', false],
    ['every interface, behind a proxy', behindProxy, 'agents.example.com', 'https://evil.example', false],
  ])('of a service on %s is checked: %j %s from %s', (_, names, host, origin, isAllowed) => {
    const result = checkHost(names, host, { origin });
    if (isAllowed) expect(result).toBe(checkHost(names, host));
    else expect(result).toBe('origin_not_allowed');
  });
});

describe('the headers of a request', () => {
  const host = ['Host', 'localhost'];
  const authorization = ['Authorization', 'Bearer a'];

  it.each([
    ['one Host', host],
    ['one Host and one Authorization', [...host, ...authorization]],
    [
      'other headers, also of the same length',
      [...host, 'From', 'a', 'Date', 'b', ...authorization, 'Max-Forwards1', '1', 'Content-Range', 'c'],
    ],
    ['values that look like names', [...host, 'X', 'Host', 'Y', 'authorization', 'Z', 'host']],
  ])('are sound with %s', (_, rawHeaders) => {
    expect(() => requireSoundHeaders({ rawHeaders })).not.toThrow();
  });

  it.each([
    ['no Host', authorization, 'Send one Host header.'],
    ['two Hosts', [...host, 'HOST', 'evil.example'], 'Send one Host header.'],
    ['two Authorizations', [...host, ...authorization, 'authorization', 'Bearer b'], 'Send one Authorization header.'],
    ['a space in a name', [...host, 'Host ', 'evil.example'], 'This is not a valid HTTP request.'],
  ])('are not sound with %s', (_, rawHeaders, message) => {
    expect(() => requireSoundHeaders({ rawHeaders })).toThrow(expect.objectContaining({ status: 400, error: 'invalid_request', message }));
  });
});

it('judges each request by its own host, whichever came before', () => {
  const check = originCheck({ scheme: 'http', host: '127.0.0.1' });
  const hosts = ['localhost:4000', 'attacker.example', 'localhost:4000', '127.0.0.1:4000', 'not a host', 'localhost:4000'];
  const results = hosts.map((host) => {
    try {
      return check({ url: '/', headers: { host } });
    } catch (error) {
      return (error as { error: string }).error;
    }
  });
  const own = 'http://localhost:4000';
  expect(results).toEqual([own, 'host_not_allowed', own, 'http://127.0.0.1:4000', 'invalid_request', own]);
});
