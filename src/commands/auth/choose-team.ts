/** The team of a new profile: the specified one, the only one that the credential can use, or the one that a person chooses. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import type { Team } from '../../interface/types.ts';
import { isNotOffered } from './not-offered.ts';

/**
 * @param askId prompts for the ID, for a service that does not list teams
 * @throws UsageError `team_missing` that lists the teams if there are several and no terminal, AopsError `no_team`
 */
export async function chooseTeam(
  context: Context,
  client: Client,
  specifiedId: string | undefined,
  askId: () => Promise<string>,
): Promise<Team> {
  if (specifiedId !== undefined) return readTeam(client, specifiedId);
  const teams = await usableTeams(client);
  if (teams === undefined) return readTeam(client, await askId());
  const [first, ...rest] = teams;
  if (first === undefined)
    throw new AopsError('The credential was accepted, but it cannot use any team.', {
      code: 'no_team',
      exit: exitCodes.forbidden,
      hint: 'Ask whoever issued it, or pass the ID of a team with --team.',
    });
  if (rest.length === 0) return first;
  if (!context.terminal.interactive)
    throw new UsageError(
      `The credential can use ${teams.length} teams, and there is no terminal to choose one on.`,
      `Pass one of them with --team: ${teams.map(({ id, name }) => `${id} (${name})`).join(', ')}.`,
      'team_missing',
    );
  const choices = teams.map(({ id, name }) => ({ name, value: id, description: id }));
  const id = await context.prompter.select({ message: 'Team', choices, initial: first.id }, { signal: context.signal });
  return teams.find((team) => team.id === id) ?? first;
}

const readTeam = async (client: Client, teamId: string): Promise<Team> => (await client.call('getTeam', { params: { teamId } })).team;

/** Undefined if the service does not list them. */
async function usableTeams(client: Client): Promise<Team[] | undefined> {
  const teams: Team[] = [];
  const rows = pagedRows(async (limit, offset) => {
    const page = await client.call('listTeams', { query: { limit, offset } });
    return { items: page.teams, total: page.total };
  }, 100);
  try {
    for await (const team of rows) teams.push(team);
    return teams;
  } catch (error) {
    if (isNotOffered(error)) return undefined;
    throw error;
  }
}
