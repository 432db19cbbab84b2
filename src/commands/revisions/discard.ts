import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import type { ReviewedBuilderRun } from '../../interface/types.ts';
import { verdictOutput } from './review.ts';

export default defineCommand({
  summary: 'Discard the builder run of a revision',
  description:
    'Works for a builder run that is running, asking a question, or waiting for a review. The revision is unchanged. Builder runs that have ended are rejected with exit 6.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag },
  operations: ['listAgents', 'listAgentRevisions', 'discardRevision'],
  mutates: true,
  examples: [{ command: 'aops revisions discard invoice-check@latest', text: 'Discard a builder run to start over' }],
  result: returns('discardRevision.builder_run'),
  output: verdictOutput,
  async run(context, input): Promise<ReviewedBuilderRun> {
    const client = await context.client();
    const build_id = await revisionId(context, input.revision, input.agent);
    return (await client.call('discardRevision', { params: { build_id } })).builder_run;
  },
});
