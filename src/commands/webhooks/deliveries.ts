import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, flag, text } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import { deliveryStatuses, webhookEventKinds } from '../../interface/webhook-events.ts';
import { deliveryColumns } from './record.ts';

export default defineCommand({
  summary: 'List webhook deliveries, newest first',
  options: {
    ...listFlags,
    failed: flag('Only failed deliveries (same as --status failed)'),
    status: choice(deliveryStatuses, 'Only deliveries with this status'),
    event: choice(webhookEventKinds, 'Only deliveries of this event', { metavar: 'EVENT' }),
    run: text('RUN', 'Only deliveries about this run: its number, its ID or @latest', { complete: 'runs' }),
    webhook: text('ID', 'Only deliveries of this webhook', { check: uuid }),
  },
  operations: ['listWebhookDeliveries', 'listRuns'],
  examples: [
    { command: 'aops webhooks deliveries', text: 'List the 20 newest deliveries' },
    { command: 'aops webhooks deliveries --failed --all -o id', text: 'Print the IDs of failed deliveries' },
    { command: 'aops webhooks deliveries --run @latest', text: 'List deliveries about the newest run' },
  ],
  result: returns('listWebhookDeliveries.deliveries[]'),
  output: listOutput<WebhookDelivery>({ columns: deliveryColumns, empty: 'There are no deliveries.' }),
  async run(context, input) {
    if (input.failed && input.status !== undefined) throw new UsageError('--failed and --status cannot be combined.');
    const client = await context.client();
    const filters = omitUndefined({
      status: input.failed ? ('failed' as const) : input.status,
      event: input.event,
      run_id: input.run === undefined ? undefined : await runId(context, input.run),
      subscription_id: input.webhook,
    });
    const list = rowList(input, async (limit, offset) => {
      const query = { ...filters, limit, offset };
      const page = await client.call('listWebhookDeliveries', { params: { teamId: context.teamId() }, query });
      return { items: page.deliveries, total: page.total };
    });
    list.isFiltered = Object.keys(filters).length > 0;
    return list;
  },
});
