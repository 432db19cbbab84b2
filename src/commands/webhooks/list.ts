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
    { command: 'aops webhooks list', text: 'All of them, with how they do' },
    { command: "aops webhooks list --jq '.data[] | select(.enabled | not)'", text: 'Those that were disabled' },
  ],
  result: returns('listTeamWebhooks.webhooks[]'),
  output: listOutput<Webhook>({
    columns: webhookColumns,
    empty: 'No webhooks. Create one with `aops webhooks create URL`.',
  }),
  run: async (context) => wholeList(await allWebhooks(context)),
});
