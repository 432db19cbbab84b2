import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import { guardFlags, guardOf, review, verdictOutput } from './review.ts';

export default defineCommand({
  summary: 'Decline what the builder run proposes',
  description:
    'The revision stays as it is, and the builder run ends. What is reviewed is the builder run that is loaded and told now, or the one that the flags name; if another has taken its place meanwhile, nothing is changed and the exit code is 6.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, ...guardFlags },
  operations: ['listAgents', 'listAgentRevisions', 'getLatestBuilderRun', 'declineRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions decline invoice-check@latest', text: 'What is proposed now' },
    { command: 'aops revisions decline REVISION --builder-run ID --expected-started-at TIME', text: 'Exactly what was looked at before' },
  ],
  result: returns('declineRevision.builder_run'),
  output: verdictOutput,
  async run(context, input) {
    const buildId = await revisionId(context, input.revision, input.agent);
    return review(context, 'decline', buildId, await guardOf(context, buildId, input));
  },
});
