/** Teams, tokens, and OAuth clients of the local service. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { operationGroups } from '../../../src/interface/operations.ts';
import { eventually } from '../../support/eventually.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Answer } from '../helpers/service.ts';
import { storedText } from '../helpers/stored.ts';

const service = covers('local');
const failure = (answer: Answer) => [answer.status, (answer.body as { error?: string }).error];

describe('the owner', () => {
  it('can read its own identity, and is the only one who can manage anything', async () => {
    const api = await service();
    const { credential } = await api.ok('getLocalCredential');
    expect(credential).toMatchObject({ kind: 'local', owner: true, scopes: null, expires_at: null, team_id: api.service.teamId });
    const fullAccessApi = await api.withToken();
    for (const id of Object.keys(operationGroups.local) as (keyof typeof operationGroups.local)[]) {
      const params = { team_id: api.service.teamId, token_id: credential.id, client_id: credential.id, hold_id: credential.id };
      if (id !== 'getLocalCredential') expect(failure(await fullAccessApi.call(id, { params })), id).toEqual([403, 'owner_only']);
    }
    expect((await fullAccessApi.ok('getLocalCredential')).credential).toMatchObject({
      kind: 'api_key',
      owner: false,
      scopes: null,
      name: 'test',
    });
  });
});

describe('codes of the team page', () => {
  it('are valid for two minutes', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { code, url, expires_at } = await api.ok('createPageCode');
    expect(code).toMatch(/^[\w-]{32}$/);
    expect(url).toBe(`${api.service.url}/`);
    expect(Date.parse(expires_at) - clock.now()).toBe(120_000);
    expect((await api.ok('createPageCode')).code).not.toBe(code);
  });
});

describe('holds for a backup', () => {
  itNeeding(needsSqlite, 'exist one at a time, and are extended until they are ended', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { hold } = await api.ok('createBackupHold');
    expect(hold).toMatchObject({ created_at: new Date(clock.now()).toISOString(), holds: 'everything', runs_waited: true });
    expect(Date.parse(hold.expires_at) - clock.now()).toBe(30_000);
    expect(failure(await api.call('createBackupHold'))).toEqual([409, 'backup_running']);
    const params = { hold_id: hold.id };
    clock.advance(10_000);
    const resume = (holds: string) => api.call('updateBackupHold', { params, body: { holds } });
    const prolongedHold = (await resume('everything')).body.hold;
    expect(prolongedHold).toMatchObject({ id: hold.id, created_at: hold.created_at, holds: 'everything', runs_waited: true });
    expect(Date.parse(prolongedHold.expires_at) - clock.now()).toBe(30_000);
    expect((await resume('files')).body.hold.holds).toBe('files');
    // Whatever was released is not held again.
    expect((await resume('everything')).body.hold.holds).toBe('files');
    expect(failure(await resume('nothing'))).toEqual([400, 'invalid_request']);
    expect(await api.ok('deleteBackupHold', { params })).toEqual({ success: true });
    expect(failure(await api.call('deleteBackupHold', { params }))).toEqual([404, 'backup_hold_not_found']);
    expect(failure(await resume('files'))).toEqual([404, 'backup_hold_not_found']);
    expect((await api.call('createBackupHold')).status).toBe(201);
  });

  itNeeding(needsSqlite, 'end if they are not extended', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { hold } = await api.ok('createBackupHold');
    clock.advance(29_999);
    expect(failure(await api.call('createBackupHold'))).toEqual([409, 'backup_running']);
    clock.advance(1);
    await eventually('the hold is over', async () => (await api.call('createBackupHold')).status === 201);
    expect(failure(await api.call('deleteBackupHold', { params: { hold_id: hold.id } }))).toEqual([404, 'backup_hold_not_found']);
  });
});

describe('teams', () => {
  it('are created, renamed, and listed, with unique names', async () => {
    const api = await service();
    const { team } = await api.ok('createLocalTeam', { body: { name: ' Finance ' } });
    expect(team).toMatchObject({ name: 'Finance', own: false });
    expect((await (await api.withToken({ team_id: team.id })).ok('getTeam')).team).toMatchObject({ id: team.id, name: 'Finance' });
    expect(failure(await api.call('createLocalTeam', { body: { name: 'Finance' } }))).toEqual([409, 'team_name_taken']);
    expect(failure(await api.call('createLocalTeam', { body: { name: '  ' } }))).toEqual([400, 'invalid_request']);
    const rename = (name: string, id = team.id) => api.call('updateLocalTeam', { params: { team_id: id }, body: { name } });
    expect(failure(await rename('Local'))).toEqual([409, 'team_name_taken']);
    expect((await rename('Finance')).status).toBe(200);
    expect((await rename('Money')).body.team.name).toBe('Money');
    expect(failure(await rename('x', randomUUID()))).toEqual([404, 'team_not_found']);
    const teamList = await api.ok('listLocalTeams', { query: { limit: 1, offset: 1 } });
    expect(teamList).toMatchObject({ total: 2, teams: [{ name: 'Money' }] });
    expect((await api.ok('listLocalTeams')).teams[0]).toMatchObject({ id: api.service.teamId, own: true });
  });

  it('can be deleted, with their credentials, if they have no agents and are not the own one', async () => {
    const api = await service();
    const otherApi = await api.inNewTeam();
    const remove = (team_id: string) => api.call('deleteLocalTeam', { params: { team_id } });
    const agent_id = await otherApi.agent();
    expect(failure(await remove(otherApi.service.teamId))).toEqual([409, 'team_not_empty']);
    await otherApi.ok('deleteAgent', { params: { agent_id } });
    expect((await remove(otherApi.service.teamId)).status).toBe(200);
    expect(failure(await otherApi.call('getTeam'))).toEqual([401, 'invalid_token']);
    expect(failure(await remove(otherApi.service.teamId))).toEqual([404, 'team_not_found']);
    expect(failure(await remove(api.service.teamId))).toEqual([409, 'own_team']);
    expect((await api.ok('listLocalTeams')).total).toBe(1);
    expect((await api.ok('listLocalTokens')).total).toBe(0);
    expect(failure(await api.call('createLocalToken', { body: { name: 'x', team_id: otherApi.service.teamId } }))).toEqual([
      404,
      'team_not_found',
    ]);
    await api.ok('createLocalTeam', { body: { name: 'Other' } });
  });
});

describe('tokens', () => {
  it('work until they are revoked, and are returned once', async () => {
    const api = await service();
    const { token, secret } = await api.ok('createLocalToken', { body: { name: ' ci ', scopes: ['runs:read', 'files:read'] } });
    expect(token).toMatchObject({ name: 'ci', scopes: ['runs:read', 'files:read'], expires_at: null, status: 'active' });
    expect(secret).toMatch(/^aops_token_[\w-]{43}$/);
    const ci = api.as(secret);
    expect((await ci.ok('getLocalCredential')).credential).toMatchObject({ id: token.id, scopes: ['runs:read', 'files:read'] });
    await ci.ok('listRuns');
    const tokenList = await api.call('listLocalTokens');
    expect(tokenList.body.tokens).toEqual([token]);
    expect(tokenList.text).not.toContain(secret);
    const revoke = () => api.call('revokeLocalToken', { params: { token_id: token.id } });
    expect((await revoke()).status).toBe(200);
    expect(failure(await ci.call('listRuns'))).toEqual([401, 'invalid_token']);
    expect(failure(await revoke())).toEqual([404, 'token_not_found']);
    expect((await api.ok('listLocalTokens')).tokens).toEqual([]);
  });

  it('expire', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const short = await api.withToken({ expires_in_seconds: 60 });
    clock.advance(59_999);
    await short.ok('getTeam');
    clock.advance(1);
    const lateAnswer = await short.call('getTeam');
    expect(failure(lateAnswer)).toEqual([401, 'invalid_token']);
    expect(lateAnswer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect((await api.ok('listLocalTokens')).tokens).toMatchObject([{ status: 'expired', expires_at: '2026-07-18T09:01:00.000Z' }]);
  });

  it('are rejected with invalid scopes, times, or teams', async () => {
    const api = await service();
    for (const body of [
      {},
      { name: '' },
      { name: ' ' },
      { name: 'x'.repeat(101) },
      { name: 'a', scopes: [] },
      { name: 'a', scopes: ['runs:read', 'runs:read'] },
      { name: 'a', scopes: ['admin'] },
      { name: 'a', expires_in_seconds: 0 },
      { name: 'a', expires_in_seconds: 1e12 },
      { name: 'a', team_id: 'x' },
    ])
      expect(failure(await api.call('createLocalToken', { body })), JSON.stringify(body)).toEqual([400, 'invalid_request']);
    expect(failure(await api.call('createLocalToken', { body: { name: 'a', team_id: randomUUID() } }))).toEqual([404, 'team_not_found']);
    expect((await api.ok('listLocalTokens')).total).toBe(0);
  });

  it('are listed by team and in pages', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const otherApi = await api.inNewTeam();
    for (const name of ['a', 'b', 'c']) {
      clock.advance(1_000);
      await api.withToken({ name });
    }
    const names = async (query: Record<string, string | number>) =>
      (await api.ok('listLocalTokens', { query })).tokens.map((token) => token.name);
    expect(await names({ team_id: api.service.teamId, limit: 2 })).toEqual(['c', 'b']);
    expect(await names({ team_id: api.service.teamId, limit: 2, offset: 2 })).toEqual(['a']);
    expect(await names({ team_id: otherApi.service.teamId })).toEqual(['test']);
  });
});

describe('clients', () => {
  it('have a token endpoint and a secret that is returned once, and are revoked with all of their tokens', async () => {
    const api = await service();
    const { client, secret, token_url } = await api.ok('createLocalClient', { body: { name: 'nightly', scopes: ['runs:read'] } });
    expect(token_url).toBe(`${api.service.url}/oauth/token`);
    const tokenAnswer = await api.send('POST', '/oauth/token', {
      anonymous: true,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${client.id}&client_secret=${secret}`,
    });
    const nightly = api.as((tokenAnswer.body as { access_token: string }).access_token);
    expect((await nightly.ok('getLocalCredential')).credential).toMatchObject({
      id: client.id,
      kind: 'oauth_client',
      scopes: ['runs:read'],
    });
    const clientList = await api.call('listLocalClients', { query: { team_id: api.service.teamId } });
    expect(clientList.body.clients).toEqual([client]);
    expect(clientList.text).not.toContain(secret);
    // A client cannot be revoked as a token, or a token as a client.
    expect(failure(await api.call('revokeLocalToken', { params: { token_id: client.id } }))).toEqual([404, 'token_not_found']);
    await nightly.ok('listRuns');
    await api.ok('revokeLocalClient', { params: { client_id: client.id } });
    expect(failure(await nightly.call('listRuns'))).toEqual([401, 'invalid_token']);
    expect(failure(await api.call('revokeLocalClient', { params: { client_id: client.id } }))).toEqual([404, 'client_not_found']);
  });
});

it('have secrets that are not in the data directory in clear text, except in responses stored under an idempotency key', async () => {
  const api = await service();
  const { secret: token } = await api.ok('createLocalToken', { body: { name: 'a' } });
  const { secret } = await api.ok('createLocalClient', { body: { name: 'b' } });
  await api.service.close();
  const stored = await storedText(api.dataDirectory);
  for (const text of [token, secret, api.service.token]) expect(stored.includes(text)).toBe(false);
});
