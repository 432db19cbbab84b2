import { defineCommand } from '../../../cli/kit/command.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn, wideView } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { CaseTrigger } from '../../../interface/types.ts';
import { agentArgument, conflictNames } from './record.ts';

export default defineCommand({
  summary: 'List the case triggers of an agent',
  arguments: { agent: agentArgument },
  operations: ['listAgents', 'listAgentCaseTriggers'],
  examples: [{ command: 'aops agents triggers list invoice-check', text: 'Show which queue the agent processes' }],
  result: returns('listAgentCaseTriggers.case_triggers[]'),
  output: listOutput<CaseTrigger>({
    columns: [
      idColumn((trigger) => trigger.id),
      column('QUEUE', (trigger) => trigger.case_queue_name, { shrink: true }),
      statusColumn((trigger) => (trigger.enabled ? 'active' : 'off')),
      column('AT A TIME', (trigger) => trigger.concurrency, { align: 'right' }),
      column('CONFLICT', (trigger) => conflictNames(trigger.conflicting_agents), { shrink: true }),
      timeColumn('CREATED', (trigger) => trigger.created_at, { minViewWidth: wideView }),
    ],
    empty: 'There is no case trigger. Create one with `aops agents triggers create AGENT --queue QUEUE`.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    return wholeList((await client.call('listAgentCaseTriggers', { params })).case_triggers);
  },
});
