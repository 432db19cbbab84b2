import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import type { ReviewedBuilderRun } from '../../interface/types.ts';
import { verdictOutput } from './review.ts';

export default defineCommand({
  summary: 'Cancel the builder run of a revision, whatever it is doing',
  description:
    'For one that works, asks, or waits for a review. The revision stays as it is. It is refused (exit 6) for one that has ended.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag },
  operations: ['listAgents', 'listAgentRevisions', 'discardRevision'],
  mutates: true,
  examples: [{ command: 'aops revisions discard invoice-check@latest', text: 'Begin anew' }],
  result: returns('discardRevision.builder_run'),
  output: verdictOutput,
  async run(context, input): Promise<ReviewedBuilderRun> {
    const client = await context.client();
    const build_id = await revisionId(context, input.revision, input.agent);
    return (await client.call('discardRevision', { params: { build_id } })).builder_run;
  },
});
