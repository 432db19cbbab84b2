import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';

export default defineCommand({
  summary: 'Make a revision live, so that new runs use it',
  description:
    'An older revision can be made live again. A revision that is live already, or that has an active builder run, is rejected with exit 6.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    name: text('NAME', 'Also rename the revision', { check: length(1, 80) }),
    description: text('TEXT', 'Also set the description of the revision', { check: length(0, 500) }),
  },
  operations: ['listAgents', 'listAgentRevisions', 'promoteRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions promote invoice-check@latest', text: 'Make the newest draft live' },
    { command: 'aops revisions promote invoice-check@2', text: 'Roll back to an older revision' },
  ],
  result: returns('promoteRevision', { id: 'uuid' }),
  output: textOutput<{ id: string; success: boolean }>(({ id }) => `Revision ${id} is live: new runs use it.`),
  async run(context, input) {
    const client = await context.client();
    const { name, description } = input;
    const id = await revisionId(context, input.revision, input.agent);
    const body = {
      ...(name === undefined ? {} : { revision_name: name }),
      ...(description === undefined ? {} : { revision_description: description }),
    };
    return { id, ...(await client.call('promoteRevision', { params: { build_id: id }, body })) };
  },
});
