import type { RunMessage } from '../../interface/types.ts';
import { argument, defineCommand } from '../define.ts';
import { listFlags, rowList } from '../list.ts';
import { column, listOutput, timeColumn } from '../output.ts';
import { runId } from '../resolve.ts';
import { returns } from '../result.ts';
import { messageSummary } from './transcript.ts';

export default defineCommand({
  summary: 'List the messages of a run, the oldest first',
  arguments: { run: argument('The run, or @latest', { complete: 'runs' }) },
  options: listFlags,
  operations: ['listRunMessages'],
  examples: [
    { command: 'aops runs messages @latest --all', text: 'The whole conversation of the newest run' },
    {
      command: 'aops runs messages RUN --all --jq \'.data[] | select(.role == "assistant") | .text_content\'',
      text: 'What the agent said',
    },
  ],
  result: returns('listRunMessages.messages[]'),
  output: listOutput<RunMessage>({
    columns: [
      timeColumn('TIME', (message) => message.timestamp),
      column('ROLE', (message) => message.role),
      column('MESSAGE', messageSummary, { shrink: true }),
    ],
    empty: 'No messages.',
  }),
  async run(context, input) {
    const client = await context.client();
    const id = await runId(context, input.run);
    return rowList(
      input,
      async (limit, offset) => {
        const page = await client.call('listRunMessages', { params: { run_id: id }, query: { limit, offset } });
        return { items: page.messages, total: page.total };
      },
      50,
    );
  },
});
