import { omitUndefined } from '../../../base/omit-undefined.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { requiredText, toggle } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId, queueId } from '../../../cli/names/resolve.ts';
import type { CaseTrigger } from '../../../interface/types.ts';
import { agentArgument, concurrencyOf, concurrencyOption, triggerRecord, warnOfConflict, warnOfNoRevision } from './record.ts';

export default defineCommand({
  summary: 'Create a case trigger, so that an agent processes a queue',
  description: 'Each case starts a run of the live revision. An agent can have at most one case trigger.',
  arguments: { agent: agentArgument },
  options: {
    queue: requiredText('QUEUE', 'The queue, by ID or name', { complete: 'queues' }),
    concurrency: concurrencyOption,
    enabled: toggle('Whether the agent starts immediately (default: yes)'),
  },
  operations: ['listAgents', 'listQueues', 'createAgentCaseTrigger', 'listAgentRevisions'],
  mutates: true,
  examples: [
    { command: 'aops agents triggers create invoice-check --queue invoices', text: 'Process the cases of a queue' },
    { command: 'aops agents triggers create invoice-check --queue invoices --concurrency 1', text: 'Process one case at a time' },
  ],
  result: returns('createAgentCaseTrigger.case_trigger'),
  output: recordOutput<CaseTrigger>(triggerRecord),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    const queue = await queueId(context, input.queue);
    const body = {
      case_queue_id: queue,
      enabled: input.enabled ?? true,
      ...omitUndefined({ concurrency: concurrencyOf(input.concurrency) }),
    };
    const { case_trigger: trigger } = await client.call('createAgentCaseTrigger', { params, body });
    warnOfConflict(context, trigger);
    await warnOfNoRevision(context, trigger);
    return trigger;
  },
});
