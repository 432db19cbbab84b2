import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import { guardFlags, guardOf, review, verdictOutput } from './review.ts';

export default defineCommand({
  summary: 'Accept the proposal of the builder run',
  description:
    'The revision gets the proposed procedure. If the revision is live, new runs use it immediately; a draft must still be promoted. The command applies to the current builder run, which it displays, or to the one specified by the flags. If another builder run has replaced it in the meantime, nothing is changed, and the exit code is 6.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, ...guardFlags },
  operations: ['listAgents', 'listAgentRevisions', 'getLatestBuilderRun', 'acceptRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions accept invoice-check@latest', text: 'Accept the current proposal' },
    {
      command: 'aops revisions accept REVISION --builder-run ID --expected-started-at TIME',
      text: 'Accept only the proposal that was reviewed before',
    },
  ],
  result: returns('acceptRevision.builder_run'),
  output: verdictOutput,
  async run(context, input) {
    const buildId = await revisionId(context, input.revision, input.agent);
    return review(context, 'accept', buildId, await guardOf(context, buildId, input));
  },
});
