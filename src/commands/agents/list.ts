import { omitUndefined } from '../../base/omit-undefined.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, timeColumn, wideView } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runtimeOf } from '../../cli/records/revision.ts';
import type { AgentListItem } from '../../interface/types.ts';
import type { Column } from '../../terminal/table.ts';
import { nextOf } from './schedules/record.ts';

const columns: Column<AgentListItem>[] = [
  idColumn((agent) => agent.id),
  column('NAME', (agent) => agent.name, { shrink: true }),
  column('RUNTIME', (agent) => runtimeOf(agent.latest_build?.config)),
  column('REVISION', (agent) => agent.latest_build?.revision_number, { align: 'right' }),
  timeColumn('LAST RUN', (agent) => agent.last_run_at),
  column('QUEUE', (agent) => (agent.case_trigger_enabled ? agent.case_queue_name : undefined), { shrink: true, minViewWidth: wideView }),
];

const notOnPage = {
  limit: 'the page shows all agents',
  offset: 'the page shows all agents',
  automation: 'the page does not filter agents by automation',
  schedules: 'the page shows schedules in a view of their own, which `aops agents schedules list AGENT --web` opens',
} as const;

export default defineCommand({
  summary: 'List the agents of the team',
  options: {
    ...listFlags,
    automation: text('ID', 'Only agents of this automation', { check: uuid }),
    schedules: flag('Show the next scheduled run, and include the schedules'),
    ...webFlag,
  },
  operations: ['listAgents', 'createPageCode'],
  examples: [
    { command: 'aops agents list', text: 'List the first 20 agents' },
    { command: 'aops agents list --all -o id', text: 'Print the IDs of all agents' },
    { command: 'aops agents list --schedules', text: 'List agents with their next scheduled run' },
  ],
  result: returns('listAgents.agents[]'),
  output: listOutput<AgentListItem>({
    columns,
    forms: { schedules: [...columns, timeColumn('NEXT RUN', (agent) => nextOf(agent.latest_build?.schedules ?? []))] },
    empty: 'There are no agents. Create one with `aops agents create NAME --procedure FILE`.',
  }),
  async run(context, input) {
    if (input.web) {
      refuseWithWeb(input, notOnPage);
      return openTeamPage(context, '/agents');
    }
    const client = await context.client();
    const filters = omitUndefined({ automation_id: input.automation, include_schedules: input.schedules ? ('true' as const) : undefined });
    const list = rowList(input, async (limit, offset) => {
      const page = await client.call('listAgents', { params: { teamId: context.teamId() }, query: { ...filters, limit, offset } });
      return { items: page.agents, total: page.total };
    });
    if (input.schedules) list.form = 'schedules';
    return list;
  },
});
