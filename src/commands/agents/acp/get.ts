import { AopsError, exitCodes } from '../../../base/errors.ts';
import { nearest } from '../../../base/nearest.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { RegisteredAgent } from '../../../interface/types.ts';
import { installationInWords, installedInWords, wordFor } from './record.ts';

export default defineCommand({
  summary: 'Show how to install an agent and how to sign in to it',
  arguments: { id: argument('The ID of the agent, such as claude or codex') },
  operations: ['listAcpAgents'],
  examples: [
    { command: 'aops agents acp get claude', text: 'Show what Claude needs' },
    { command: 'aops agents acp get codex --jq .install_command', text: 'Print the command that installs Codex' },
  ],
  result: returns('listAcpAgents.agents[]'),
  output: recordOutput<RegisteredAgent>((agent) => ({
    ID: wordFor(agent),
    Name: agent.name,
    Description: agent.description,
    Website: agent.website,
    License: agent.license,
    Version: agent.version,
    Installed: installedInWords(agent),
    'To install': installationInWords(agent),
    Warning: agent.warnings.join(' ') || undefined,
    Credential: agent.credentials.join(' or ') || undefined,
    'To sign in': agent.login,
    'Hosts of its model': agent.hosts.join(', ') || 'depend on its configuration; allow them with --allow-host',
    Platforms: agent.platforms.join(', '),
  })),
  async run(context, { id }) {
    const client = await context.client();
    const { agents } = await client.call('listAcpAgents', {});
    const agent = agents.find((each) => each.id === id || each.alias === id);
    if (agent !== undefined) return agent;
    const guess = nearest(
      id,
      agents.flatMap((each) => (each.alias === null ? [each.id] : [each.alias, each.id])),
    );
    throw new AopsError(`The registry contains no agent "${id}".`, {
      code: 'acp_agent_not_found',
      exit: exitCodes.notFound,
      hint: `${guess === undefined ? '' : `Did you mean ${guess}? `}See \`aops agents acp list\`, or run any other program with --acp-command.`,
    });
  },
});
