import { defineCommand } from '../define.ts';
import { listFlags, rowList } from '../list.ts';
import { runId } from '../resolve-run.ts';
import { returns } from '../result.ts';
import { runArgument } from '../run-names.ts';
import { messageList } from './message-list.ts';

export default defineCommand({
  summary: 'List the messages of a run, the oldest first',
  arguments: { run: runArgument },
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
  output: messageList,
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
