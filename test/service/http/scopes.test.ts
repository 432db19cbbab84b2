/** Every operation with credentials that have each scope, no scope, and full access. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { operation, operationIds } from '../../../src/interface/operations.ts';
import { operationAccess, scopes } from '../../../src/interface/scopes.ts';
import { secretHash } from '../../../src/service/secret-hash.ts';
import { insertCredential, insertToken } from '../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../src/service/store/access/teams.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { type Answer, type Api, startApi } from '../helpers/service.ts';
import { inStore } from '../helpers/stored.ts';

/** A service with a token for each of these scopes. */
async function withTokens(limits: readonly (string | null)[]): Promise<{ api: Api; teamId: string }> {
  const dataDirectory = await temporaryDirectory();
  const teamId = randomUUID();
  const created_at = new Date().toISOString();
  await inStore(dataDirectory, async (db) => {
    await insertTeam(db, { id: teamId, name: 'T', created_at });
    for (const scopes of limits) {
      const id = randomUUID();
      await insertCredential(db, { id, team_id: teamId, kind: 'api_key', name: 'key', created_at, scopes });
      await insertToken(db, { hash: secretHash(`token:${scopes}`), credential_id: id, created_at });
    }
  });
  return { api: await startApi({ dataDirectory }), teamId };
}

const refusal = ({ status, body, headers }: Answer) => ({ status, ...(body as object), challenge: headers['www-authenticate'] });

describe('an operation', () => {
  it('is refused exactly to credentials that lack its scope, which the error names', async () => {
    const limits = [null, '', ...scopes];
    const { api, teamId } = await withTokens(limits);
    for (const id of operationIds) {
      const { method, path } = operation(id);
      const access = operationAccess[id];
      const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'teamId' ? teamId : randomUUID()));
      for (const limit of limits) {
        const answer = await api.send(method, filledPath, { headers: { authorization: `Bearer token:${limit}` } });
        const label = `${id} with ${limit}`;
        if (access === 'owner') expect(refusal(answer), label).toMatchObject({ status: 403, error: 'owner_only' });
        else if (limit === null || access === 'any' || access === limit) expect(answer.status, label).not.toBe(403);
        else if (access === 'full')
          expect(refusal(answer), label).toMatchObject({
            status: 403,
            error: 'insufficient_scope',
            challenge: 'Bearer error="insufficient_scope"',
          });
        else
          expect(refusal(answer), label).toMatchObject({
            status: 403,
            error: 'insufficient_scope',
            scope: access,
            message: expect.stringContaining(access),
            challenge: expect.stringMatching(
              `^Bearer error="insufficient_scope", scope="${access}"${access === 'mcp:call' ? ', resource_metadata="http[^"]+"' : ''}$`,
            ),
          });
      }
    }
  });

  it('is refused before its key, its body, and its target are checked, and the refusal is not stored', async () => {
    const { api, teamId } = await withTokens(['runs:read']);
    const refusalAnswer = await api.send('POST', `/v2/teams/${teamId}/runs`, {
      headers: { authorization: 'Bearer token:runs:read', 'idempotency-key': 'two words' },
      body: '{',
    });
    expect(refusal(refusalAnswer)).toMatchObject({ status: 403, error: 'insufficient_scope', scope: 'runs:write' });
  });

  it.each([
    { scopes: ['runs:write'], status: 403 },
    { scopes: ['runs:write', 'approvals:write', 'queues:write', 'files:read'], status: 403 },
    { scopes: ['runs:write', 'runs:read'], status: 201 },
    { scopes: ['runs:write', 'webhooks:manage'], status: 201 },
    { scopes: undefined, status: 201 },
  ] as const)('to send the events of a run to a URL: $scopes is answered with $status', async ({ scopes, status }) => {
    const api = await startApi();
    const body = { agent_id: await api.agent(), message: 'secret', webhook_url: 'http://127.0.0.1:9/' };
    const limitedApi = await api.withToken(scopes === undefined ? {} : { scopes: [...scopes] });
    const answer = await limitedApi.call('startRun', { body });
    expect(answer.status).toBe(status);
    expect((await api.ok('listRuns')).total).toBe(status === 201 ? 1 : 0);
    if (status !== 403) return;
    expect(refusal(answer)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'runs:read',
      message: expect.stringContaining('webhook_url'),
    });
    expect((await limitedApi.call('startRun', { body: { ...body, webhook_url: undefined } })).status).toBe(201);
  });
});
