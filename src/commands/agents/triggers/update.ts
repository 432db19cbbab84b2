import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { text, toggle } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import type { CaseTrigger } from '../../../interface/types.ts';
import {
  agentArgument,
  concurrencyOf,
  concurrencyOption,
  triggerArgument,
  triggerParams,
  triggerRecord,
  warnOfConflict,
} from './record.ts';

export default defineCommand({
  summary: 'Change, enable, or disable a case trigger',
  description: 'Runs that are working on cases continue.',
  arguments: { agent: agentArgument, trigger: triggerArgument },
  options: {
    enabled: toggle('Whether the agent takes cases'),
    queue: text('QUEUE', 'The new queue, by ID or name', { complete: 'queues' }),
    concurrency: concurrencyOption,
  },
  operations: ['listAgents', 'listQueues', 'listAgentCaseTriggers', 'updateAgentCaseTrigger'],
  mutates: true,
  examples: [{ command: 'aops agents triggers update invoice-check --no-enabled', text: 'Stop taking cases' }],
  result: returns('updateAgentCaseTrigger.case_trigger'),
  output: recordOutput<CaseTrigger>(triggerRecord),
  async run(context, input) {
    const client = await context.client();
    const { enabled, queue, concurrency } = input;
    if (enabled === undefined && queue === undefined && concurrency === undefined)
      throw new UsageError('There is nothing to change.', 'Pass --enabled, --no-enabled, --queue, or --concurrency.');
    const params = await triggerParams(context, input.agent, input.trigger);
    const case_queue_id = queue === undefined ? undefined : await queueId(context, queue);
    const body = omitUndefined({ enabled, case_queue_id, concurrency: concurrencyOf(concurrency) });
    const { case_trigger: trigger } = await client.call('updateAgentCaseTrigger', { params, body });
    warnOfConflict(context, trigger);
    return trigger;
  },
});
