/** Finds teams of the local service by ID or name, and displays them. */
import { formatDuration } from '../../base/duration.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { isUuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { time } from '../../cli/kit/output.ts';
import { pagedRows } from '../../client/paging.ts';
import type { LocalTeam } from '../../interface/types.ts';

export const teamRecord = (team: LocalTeam) => ({
  ID: team.id,
  Name: team.name,
  Created: time(team.created_at),
  Reminders: team.remind_after_seconds ? `after ${formatDuration(team.remind_after_seconds * 1_000)}` : undefined,
});

/** All teams. @throws AopsError for anyone but the owner */
export async function allTeams(context: Context): Promise<LocalTeam[]> {
  const client = await context.client();
  const teams: LocalTeam[] = [];
  const rows = pagedRows(async (limit, offset) => {
    const page = await client.call('listLocalTeams', { query: { limit, offset } });
    return { items: page.teams, total: page.total };
  }, 100);
  for await (const team of rows) teams.push(team);
  return teams;
}

/** The team with this ID or name. @throws AopsError `team_not_found` (exit 3) */
export async function requireTeam(context: Context, idOrName: string): Promise<LocalTeam> {
  const teams = await allTeams(context);
  const teamId = isUuid(idOrName) ? idOrName.toLowerCase() : undefined;
  const match = teams.find(({ id, name }) => (teamId === undefined ? name === idOrName : id === teamId));
  if (match) return match;
  const similar = nearest(
    idOrName,
    teams.map(({ name }) => name),
  );
  throw new AopsError(`There is no team "${idOrName}".`, {
    code: 'team_not_found',
    exit: exitCodes.notFound,
    hint: similar === undefined ? 'List the teams with `aops local team list`.' : `Did you mean ${similar}?`,
  });
}
