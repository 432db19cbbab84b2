/** Teams. */
import { notFound } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { findTeam } from '../store/access/teams.ts';
import type { TeamRow } from '../store/database/schema.ts';
import { requireTeam } from './shared/lookups.ts';

export const teamRoutes: GroupRoutes<'teams'> = {
  async getTeam(context, { params }) {
    requireTeam(context, params.teamId);
    const team = await findTeam(context.engine.store, params.teamId);
    if (team === undefined) throw notFound('team', params.teamId);
    return { team: teamFields(team) };
  },

  /** A credential belongs to one team. */
  async listTeams({ engine, teamId }, { query: { limit = 20, offset = 0 } }) {
    const team = await findTeam(engine.store, teamId);
    const teams = team === undefined ? [] : [teamFields(team)];
    return { teams: teams.slice(offset, offset + limit), total: teams.length, limit, offset };
  },
};

const teamFields = ({ id, name, created_at }: TeamRow) => ({
  id,
  name,
  created_at,
  organization_id: null,
  slack_team_id: null,
  discovery_mode: 'private',
});
