/** What a token request contains: its form, its client, and its scopes (RFC 6749). */
import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import type { Scope } from '../../../src/interface/scopes.ts';
import { presentedClient } from '../../../src/service/oauth/client-authentication.ts';
import { parseForm } from '../../../src/service/oauth/form.ts';
import { grantedScopes } from '../../../src/service/oauth/scope-request.ts';

const refusal = (code: string, message: string) => expect.objectContaining({ name: 'OAuthError', code, message });
const form = 'application/x-www-form-urlencoded';
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('a form', () => {
  const parse = (text: string, type: string | undefined = form) => [...parseForm(Buffer.from(text), type)];

  it.each([
    ['', []],
    [
      'a=1&b=2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['&&a=1&&', [['a', '1']]],
    ['a=&b', []],
    [
      'a=1=2&b=%3D+%2b',
      [
        ['a', '1=2'],
        ['b', '= +'],
      ],
    ],
  ])('%j is read', (text, expected) => {
    expect(parse(text)).toEqual(expected);
    expect(parse(text, 'Application/X-WWW-Form-URLencoded; charset=utf-8')).toEqual(expected);
  });

  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencodedx', ''])('has its content type, not %j', (type) => {
    const message = 'The body must be a form, with the header "Content-Type: application/x-www-form-urlencoded".';
    expect(() => parse('a=1', type)).toThrow(refusal('invalid_request', message));
  });

  it.each([
    ['a=1&a=2', 'A parameter appears more than once.'],
    ['a=&%61=2', 'A parameter appears more than once.'],
    ['a=%zz', 'A percent escape is invalid.'],
    ['a=%ff', 'A percent escape is invalid.'],
  ])('%j is refused', (text, message) => {
    expect(() => parse(text)).toThrow(refusal('invalid_request', message));
  });

  it('is UTF-8', () => {
    expect(() => parseForm(Buffer.from([0x61, 0x3d, 0xff]), form)).toThrow(refusal('invalid_request', 'The text is not UTF-8.'));
  });
});

describe('a client', () => {
  const id = ['client_id', 'i'] as const;
  const secret = ['client_secret', 's'] as const;
  const present = (authorization: string | undefined, ...parameters: (readonly [string, string])[]) =>
    presentedClient(authorization, new Map(parameters));

  it('presents itself in the form or in the header', () => {
    expect(present(undefined, id, secret)).toEqual({ id: 'i', secret: 's' });
    expect(present(basic('i:s'))).toEqual({ id: 'i', secret: 's' });
    expect(present(basic('i:s'), id)).toEqual({ id: 'i', secret: 's' });
    expect(present(basic('%69+:s%3a:+'))).toEqual({ id: 'i ', secret: 's:: ' });
    expect(present(basic(':s'))).toEqual({ id: '', secret: 's' });
  });

  const incomplete = 'Send the client ID and the client secret, with HTTP Basic authentication or in the form.';
  it.each([
    [undefined, [], 'invalid_client', incomplete],
    [undefined, [id], 'invalid_client', incomplete],
    [undefined, [secret], 'invalid_client', incomplete],
    ['Bearer x', [id, secret], 'invalid_client', 'The Authorization header of a token request must use the scheme Basic.'],
    ['Basic ***', [], 'invalid_client', 'The Authorization header of a token request must use the scheme Basic.'],
    [basic('is'), [], 'invalid_client', 'The Authorization header does not contain a client ID and secret.'],
    [basic('i:s'), [secret], 'invalid_request', 'Send the client secret in one place: the Authorization header or the form.'],
    [basic('i:s'), [['client_id', 'j']], 'invalid_request', 'client_id differs from the Authorization header.'],
  ] as const)('that sends %j and %j is refused as %s', (authorization, parameters, code, message) => {
    expect(() => present(authorization, ...parameters)).toThrow(refusal(code, message));
  });
});

describe('the scopes of a token', () => {
  const allowedScopes = new Set<Scope>(['runs:read', 'runs:write']);

  it.each([
    [undefined, allowedScopes, ['runs:read', 'runs:write']],
    [undefined, null, null],
    ['runs:write', allowedScopes, ['runs:write']],
    ['runs:write runs:read runs:write', allowedScopes, ['runs:write', 'runs:read']],
    ['files:read', null, ['files:read']],
  ] as const)('requested as %j of %j are %j', (requestedScope, client, expected) => {
    expect(grantedScopes(requestedScope, client)).toEqual(expected);
  });

  it.each([allowedScopes, null])('must exist, and not be empty, whatever the client is allowed: %j', (client) => {
    for (const requestedScope of ['', ' ', 'admin', 'runs:read admin', 'runs:read  runs:write', 'RUNS:READ', '__proto__'])
      expect(() => grantedScopes(requestedScope, client), requestedScope).toThrow(
        refusal('invalid_scope', 'A requested scope does not exist, or the list is malformed.'),
      );
  });

  it('cannot exceed those of the client', () => {
    expect(() => grantedScopes('runs:read files:read', allowedScopes)).toThrow(
      refusal('invalid_scope', 'This client is not allowed the scope files:read.'),
    );
  });
});
