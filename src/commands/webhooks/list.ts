import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Webhook } from '../../interface/types.ts';
import { allWebhooks, webhookColumns } from './record.ts';

export default defineCommand({
  summary: 'List the webhooks of the team',
  operations: ['listTeamWebhooks'],
  examples: [
    { command: 'aops webhooks list', text: 'List webhooks and their status' },
    { command: "aops webhooks list --jq '.data[] | select(.enabled | not)'", text: 'Print the webhooks that are disabled' },
  ],
  result: returns('listTeamWebhooks.webhooks[]'),
  output: listOutput<Webhook>({
    columns: webhookColumns,
    empty: 'There are no webhooks. Create one with `aops webhooks create URL`.',
  }),
  run: async (context) => wholeList(await allWebhooks(context)),
});
