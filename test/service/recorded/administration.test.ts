import { it } from 'vitest';
import { Recording } from './recording.ts';

it('teams, tokens, clients, usage, and what each of them may do', async () => {
  const recording = await Recording.start();
  const { call } = recording;
  await call('getLocalCredential');
  await call('listTeams');
  const { team } = await call('createLocalTeam', { body: { name: 'North' } });
  await call('updateLocalTeam', { params: { team_id: team.id }, body: { name: 'North-East', remind_after_seconds: 3_600 } });
  const { token, secret } = await call('createLocalToken', {
    body: { name: 'CI', team_id: team.id, scopes: ['runs:read', 'approvals:write'], expires_in_seconds: 86_400 },
  });
  const { client } = await call('createLocalClient', { body: { name: 'assistant', team_id: team.id, scopes: ['mcp:call'] } });
  await call('createLocalToken', { body: { name: 'short', expires_in_seconds: 0 } });

  const limited = recording.as(recording.api.as(secret, team.id));
  await limited('getLocalCredential');
  await limited('listTeams');
  await limited('getTeam');
  await limited('createAgent', { body: { name: 'A' } });
  await limited('listRuns');
  await limited('createLocalToken', { body: { name: 'more' } });
  await limited('getTeam', { params: { teamId: recording.api.service.teamId } });

  await call('listLocalTeams');
  await call('listLocalTokens', { query: { team_id: team.id } });
  await call('listLocalClients');
  await recording.pass(86_400_000);
  await limited('listRuns');
  await call('revokeLocalToken', { params: { token_id: token.id } });
  await call('revokeLocalClient', { params: { client_id: client.id } });
  await call('listLocalTokens');

  await call('getTeamUsage');
  await call('getTeamEntitlements');
  await call('deleteLocalTeam', { params: { team_id: team.id } });
  await call('listLocalTeams');
  await recording.expectToBe('administration');
});
