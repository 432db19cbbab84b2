import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';

export default defineCommand({
  summary: 'Make a revision the live one, which new runs follow',
  description:
    'An older revision can be made live again. It is refused (exit 6) for one that is live already, and while a builder run is active on it.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    name: text('NAME', 'Give it a name as well', { check: length(1, 80) }),
    description: text('TEXT', 'Say what it is', { check: length(0, 500) }),
  },
  operations: ['listAgents', 'listAgentRevisions', 'promoteRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions promote invoice-check@latest', text: 'Let new runs follow the newest draft' },
    { command: 'aops revisions promote invoice-check@2', text: 'Go back to an older one' },
  ],
  result: returns('promoteRevision', { id: 'uuid' }),
  output: textOutput<{ id: string; success: boolean }>(({ id }) => `Revision ${id} is live: new runs follow it.`),
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
