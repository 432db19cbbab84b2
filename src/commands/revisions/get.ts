import type { Build } from '../../interface/types.ts';
import { defineCommand, flag } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { agentFlag, findRevision, revisionArgument } from './find.ts';
import { procedureOf, revisionRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a revision, or print its procedure',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, procedure: flag('Print the procedure alone, as it is') },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision'],
  examples: [
    { command: 'aops revisions get invoice-check@live', text: 'The one that new runs follow' },
    { command: 'aops revisions get invoice-check@2 --procedure > procedure.yaml', text: 'Its procedure, into a file' },
  ],
  result: returns('getRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const build = await findRevision(context, input.revision, input.agent);
    if (!input.procedure) return build;
    await context.terminal.data(procedureOf(build.config));
    return undefined;
  },
});
