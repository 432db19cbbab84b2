import { defineCommand } from '../../../cli/kit/command.ts';
import { flag } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { RegisteredAgent } from '../../../interface/types.ts';
import { installationInWords, installedInWords, wordFor } from './record.ts';

/** Minimum terminal width for whole commands. */
const widthOfCommands = 140;

export default defineCommand({
  summary: 'List the agents that --acp can run',
  description:
    'The list is a snapshot of the public registry of the Agent Client Protocol, which is part of the service. Programs are searched for on the machine of the service, on the search path with which it was started. The service installs nothing. Any other program of the protocol can be run with --acp-command.',
  options: { installed: flag('Only agents that are installed') },
  operations: ['listAcpAgents'],
  examples: [
    { command: 'aops agents acp list', text: 'List the agents, and which of them are installed' },
    {
      command: 'aops agents acp list --jq \'.data[] | select(.alias == "claude").install_command\'',
      text: 'Print how to install an agent',
    },
  ],
  result: returns('listAcpAgents.agents[]'),
  output: listOutput<RegisteredAgent>({
    columns: [
      column('ID', wordFor),
      column('NAME', (agent) => agent.name, { shrink: true, min: 12 }),
      column('INSTALLED', installedInWords),
      column('CREDENTIAL', (agent) => agent.credentials.join(' or '), { shrink: true, min: 17 }),
      column('INSTALLATION', installationInWords, { minViewWidth: widthOfCommands }),
    ],
    empty: 'No such agent is installed on the machine of the service. `aops agents acp list` shows which can be.',
  }),
  async run(context, { installed }) {
    const client = await context.client();
    const { agents } = await client.call('listAcpAgents', {});
    const isAnyInstalled = agents.some(({ status }) => status === 'installed');
    const example = isAnyInstalled
      ? undefined
      : agents.find(({ status, install_command }) => status === 'not_installed' && install_command);
    if (!installed) {
      const advice = '`aops agents acp get ID` shows how to install an agent on the machine of the service, and how to sign in.';
      const command = example === undefined ? '' : ` For ${wordFor(example)}: ${example.install_command}`;
      context.terminal.note(`${context.terminal.suggested(advice)}${command}`);
    }
    return wholeList(installed ? agents.filter(({ status }) => status === 'installed') : agents);
  },
});
