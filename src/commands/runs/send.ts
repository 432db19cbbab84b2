import type { RunMessage } from '../../interface/types.ts';
import { readContent } from '../body.ts';
import { length } from '../checks.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput, time } from '../output.ts';
import { runId } from '../resolve.ts';
import { returns } from '../result.ts';

export default defineCommand({
  summary: 'Post a message to a run',
  description: 'A run that waits, has completed or was interrupted goes on with it.',
  arguments: {
    run: argument('The run, or @latest', { complete: 'runs' }),
    message: argument('The message; @FILE reads it from a file, - from standard input'),
  },
  operations: ['postRunMessage'],
  mutates: true,
  examples: [
    { command: "aops runs send RUN 'Use the March figures'", text: 'Tell a run something' },
    { command: 'aops runs send @latest - < notes.txt', text: 'Send a long message' },
  ],
  result: returns('postRunMessage.message'),
  output: recordOutput<RunMessage>((message) => ({ Sent: message.text_content, At: time(message.timestamp), ID: message.id })),
  async run(context, input) {
    const client = await context.client();
    const message = await readContent(context, input.message, length(1), 'MESSAGE');
    return (await client.call('postRunMessage', { params: { run_id: await runId(context, input.run) }, body: { message } })).message;
  },
});
