import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import type { BuilderRun } from '../../interface/types.ts';
import { builderRunSheet } from './sheet.ts';

export default defineCommand({
  summary: 'Show the latest builder run of a revision and its proposal',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag },
  operations: ['listAgents', 'listAgentRevisions', 'getLatestBuilderRun'],
  examples: [
    { command: 'aops revisions builder-run invoice-check@latest', text: 'Show the status, and the proposal as a diff' },
    { command: "aops revisions builder-run invoice-check@latest --jq '.status'", text: 'Print only the status' },
  ],
  result: returns('getLatestBuilderRun'),
  output: documentOutput<BuilderRun>(builderRunSheet),
  async run(context, input) {
    const client = await context.client();
    return client.call('getLatestBuilderRun', { params: { build_id: await revisionId(context, input.revision, input.agent) } });
  },
});
