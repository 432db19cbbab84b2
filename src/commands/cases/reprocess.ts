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
  summary: 'Process cases again, including completed ones',
  description:
    'With --agent, the cases wait for that agent, whether or not it works on the queue. Cases that a run is working on are skipped. Reopening completed cases needs confirmation.',
  arguments: selectionArguments,
  options: { ...selectionFlags, agent: text('AGENT', 'The agent to process the cases, by ID or name', { complete: 'agents' }) },
  operations: [...selectionOperations, 'listAgents', 'bulkReprocessCases'],
  mutates: true,
  examples: [
    { command: 'aops cases reprocess CASE --agent second-look', text: 'Hand a case to another agent' },
    {
      command: 'aops cases reprocess --queue invoices --all-matching --label vendor=acme --yes',
      text: 'Process all cases of a vendor again',
    },
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
