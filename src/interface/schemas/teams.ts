import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { teamOperations } from '../operations/teams.ts';
import { DateTime, Named, Nullable, paging, Uuid } from './common.ts';

export const Team = Named('Team', {
  id: Uuid,
  name: Type.String(),
  created_at: DateTime,
  organization_id: Nullable(Uuid),
  slack_team_id: Nullable(Type.String()),
  discovery_mode: Type.String(),
});
export type Team = Static<typeof Team>;

export const teamSchemas = {
  listTeams: {
    query: Type.Object(paging(100, 20)),
    response: Type.Object({ teams: Type.Array(Team), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  getTeam: { response: Type.Object({ team: Team }) },
} as const satisfies Record<keyof typeof teamOperations, OperationSchemas>;
