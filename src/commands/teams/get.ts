import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Team } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Show a team',
  arguments: { team: optionalArgument('The id of the team (default: the one you work in)') },
  operations: ['getTeam'],
  examples: [
    { command: 'aops teams get', text: 'The team of the profile' },
    { command: 'aops teams get --jq .name', text: 'Its name, for a script' },
  ],
  result: returns('getTeam.team'),
  output: recordOutput<Team>((team) => ({
    ID: team.id,
    Name: team.name,
    Organization: team.organization_id,
    'Slack team': team.slack_team_id,
    Discovery: team.discovery_mode,
    Created: time(team.created_at),
  })),
  async run(context, input) {
    const client = await context.client();
    return (await client.call('getTeam', { params: { teamId: input.team ?? context.teamId() } })).team;
  },
});
