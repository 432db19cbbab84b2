/** Teams and credentials, as the local group of the interface returns them; never a secret or a hash. */
import type { LocalCredential, LocalTeam } from '../../interface/types.ts';
import type { CredentialRow, TeamRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';

export const teamView = (team: TeamRow, ownTeamId: string): LocalTeam => ({
  id: team.id,
  name: team.name,
  created_at: team.created_at,
  own: team.id === ownTeamId,
  remind_after_seconds: team.remind_after === null ? null : Number(team.remind_after) / 1_000,
});

export const credentialView = (row: CredentialRow, now: number): LocalCredential => ({
  ...credentialFields(row),
  status: row.expires_at !== null && Number(row.expires_at) <= now ? 'expired' : 'active',
});

export const credentialFields = ({ id, team_id, name, scopes, created_at, expires_at }: CredentialRow) => ({
  id,
  team_id,
  name,
  scopes: scopes === null ? null : scopes.split(' '),
  created_at,
  expires_at: expires_at === null ? null : isoTime(Number(expires_at)),
});
