import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, findRevision, revisionArgument } from '../../cli/names/revision.ts';
import { procedureOf, revisionRecord } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Show a revision or print its procedure',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, procedure: flag('Print only the procedure'), ...webFlag },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'createPageCode'],
  examples: [
    { command: 'aops revisions get invoice-check@live', text: 'Show the live revision' },
    { command: 'aops revisions get invoice-check@2 --procedure > procedure.yaml', text: 'Save a procedure to a file' },
  ],
  result: returns('getRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    if (input.web) refuseWithWeb(input, { procedure: 'the page shows a revision with its procedure' });
    const build = await findRevision(context, input.revision, input.agent);
    if (input.web) return openTeamPage(context, `/agents/${build.agent_id}/revisions/${build.id}`);
    if (!input.procedure) return build;
    await context.terminal.data(procedureOf(build.config));
    return undefined;
  },
});
