import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import type { Build } from '../../interface/types.ts';

const notOnPage = { limit: 'the page shows all revisions', offset: 'the page shows all revisions' } as const;

export default defineCommand({
  summary: 'List the revisions of an agent, newest first',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: { ...listFlags, ...webFlag },
  operations: ['listAgents', 'listAgentRevisions', 'createPageCode'],
  examples: [{ command: 'aops revisions list invoice-check', text: 'List the 20 newest revisions' }],
  result: returns('listAgentRevisions.builds[]'),
  output: listOutput<Build>({
    columns: [
      idColumn((build) => build.id),
      column('REVISION', (build) => build.revision_number, { align: 'right' }),
      statusColumn((build) => build.status),
      column('NAME', (build) => build.revision_name ?? build.name, { shrink: true }),
      timeColumn('CREATED', (build) => build.created_at),
    ],
    empty: 'There are no revisions. Create one with `aops revisions create AGENT --procedure FILE`.',
  }),
  async run(context, input) {
    if (input.web) refuseWithWeb(input, notOnPage);
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    if (input.web) return openTeamPage(context, `/agents/${agent}`);
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listAgentRevisions', { params: { agent_id: agent }, query: { limit, offset } });
      return { items: page.builds, total: page.total };
    });
  },
});
