import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import { guardFlags, guardOf, review, verdictOutput } from './review.ts';

export default defineCommand({
  summary: 'Decline the proposal of the builder run',
  description:
    'The revision is unchanged, and the builder run ends. The command applies to the current builder run, which it displays, or to the one specified by the flags. If another builder run has replaced it in the meantime, nothing is changed, and the exit code is 6.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, ...guardFlags },
  operations: ['listAgents', 'listAgentRevisions', 'getLatestBuilderRun', 'declineRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions decline invoice-check@latest', text: 'Decline the current proposal' },
    {
      command: 'aops revisions decline REVISION --builder-run ID --expected-started-at TIME',
      text: 'Decline only the proposal that was reviewed before',
    },
  ],
  result: returns('declineRevision.builder_run'),
  output: verdictOutput,
  async run(context, input) {
    const buildId = await revisionId(context, input.revision, input.agent);
    return review(context, 'decline', buildId, await guardOf(context, buildId, input));
  },
});
