/** Teams. */
import { notFound } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { findTeam } from '../store/access/teams.ts';
import { requireTeam } from './shared/lookups.ts';

export const teamRoutes: GroupRoutes<'teams'> = {
  async getTeam(context, { params }) {
    requireTeam(context, params.teamId);
    const team = await findTeam(context.engine.store, params.teamId);
    if (team === undefined) throw notFound('team', params.teamId);
    return {
      team: {
        id: team.id,
        name: team.name,
        created_at: team.created_at,
        organization_id: null,
        slack_team_id: null,
        discovery_mode: 'private',
      },
    };
  },
};
