/** An OAuth client library, as others use it, against the real service: discovery, tokens, and what it makes of refusals. */
import * as oauth from 'oauth4webapi';
import { expect, it } from 'vitest';
import { type Api, startApi } from '../helpers/service.ts';

// The service speaks plain HTTP, on this machine.
const options = { [oauth.allowInsecureRequests]: true };

async function discover(api: Api): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(api.service.url);
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }));
}

it('discovers the service and gets tokens with both kinds of authentication', async () => {
  const api = await startApi();
  const { client, secret } = await api.ok('createLocalClient', { body: { name: 'c', scopes: ['runs:read', 'files:read'] } });
  const server = await discover(api);
  for (const authentication of [oauth.ClientSecretBasic(secret), oauth.ClientSecretPost(secret)]) {
    const identity = { client_id: client.id };
    const response = await oauth.clientCredentialsGrantRequest(server, identity, authentication, { scope: 'runs:read' }, options);
    const token = await oauth.processClientCredentialsResponse(server, identity, response);
    expect(token).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'runs:read' });
    const runs = new URL(`/v2/teams/${api.service.teamId}/runs`, api.service.url);
    const answer = await oauth.protectedResourceRequest(token.access_token, 'GET', runs, undefined, undefined, options);
    expect(await answer.json()).toEqual({ data: [], total: 0 });
  }
});

it('understands the refusals', async () => {
  const api = await startApi();
  const { client, secret } = await api.ok('createLocalClient', { body: { name: 'c', scopes: ['runs:read'] } });
  const server = await discover(api);
  const identity = { client_id: client.id };
  const request = async (password: string, scope: string) =>
    oauth.processClientCredentialsResponse(
      server,
      identity,
      await oauth.clientCredentialsGrantRequest(server, identity, oauth.ClientSecretBasic(password), { scope }, options),
    );
  // The library reads the challenge of a 401 before its body.
  const refusal = await request('wrong', 'runs:read').catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
  expect(refusal).toMatchObject({ status: 401, cause: [{ scheme: 'basic' }] });
  await expect(request(secret, 'runs:write')).rejects.toMatchObject({ status: 400, error: 'invalid_scope' });

  const { access_token } = await request(secret, 'runs:read');
  const target = new URL(`/v2/teams/${api.service.teamId}/runs`, api.service.url);
  const body = JSON.stringify({ agent_id: client.id });
  const forbiddenRequest = oauth.protectedResourceRequest(
    access_token,
    'POST',
    target,
    new Headers({ 'content-type': 'application/json' }),
    body,
    options,
  );
  await expect(forbiddenRequest).rejects.toMatchObject({
    status: 403,
    cause: [{ scheme: 'bearer', parameters: { error: 'insufficient_scope', scope: 'runs:write' } }],
  });
  await api.ok('revokeLocalClient', { params: { client_id: client.id } });
  await expect(oauth.protectedResourceRequest(access_token, 'GET', target, undefined, undefined, options)).rejects.toMatchObject({
    status: 401,
    cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
  });
});
