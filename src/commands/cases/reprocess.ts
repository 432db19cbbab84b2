import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { describeCounts } from '../../cli/records/case-counts.ts';
import type { Response } from '../../interface/types.ts';
import { eachPart } from './each-part.ts';
import { bulkText, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Have cases worked on again, also those that are done; by one agent, if it is named',
  description:
    'With --agent they wait for that agent, whether it works on the queue or not. Cases that a run works on are skipped. Re-opening completed cases is asked about first.',
  arguments: selectionArguments,
  options: { ...selectionFlags, agent: text('AGENT', 'The agent that is to take them, by id or name', { complete: 'agents' }) },
  operations: [...selectionOperations, 'listAgents', 'bulkReprocessCases'],
  mutates: true,
  examples: [
    { command: 'aops cases reprocess CASE --agent second-look', text: 'Give a case to another agent' },
    { command: 'aops cases reprocess --queue invoices --all-matching --label vendor=acme --yes', text: 'All cases of a vendor again' },
  ],
  result: returns('bulkReprocessCases'),
  output: textOutput<Response<'bulkReprocessCases'>>((counts) =>
    bulkText(counts.delegatedCount === undefined ? 'Reprocessing' : 'Delegated', counts.reprocessedCount, counts.skippedCount),
  ),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input);
    const agent = input.agent === undefined ? {} : { agent_id: await agentId(context, input.agent) };
    if (selection.counts.completed > 0) await confirm(context, `Reprocess ${describeCounts(selection.counts)}?`);
    return eachPart(selection, ({ queueId, body }) =>
      client.call('bulkReprocessCases', { params: { queue_id: queueId }, body: { ...body, ...agent } }),
    );
  },
});
