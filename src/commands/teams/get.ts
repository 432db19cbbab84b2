import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Team } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Show a team',
  arguments: { team: optionalArgument('The ID of the team (default: your current team)') },
  operations: ['getTeam'],
  examples: [
    { command: 'aops teams get', text: 'Show the current team' },
    { command: 'aops teams get --jq .name', text: 'Print the name of the team' },
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
