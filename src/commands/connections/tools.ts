import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionArgument, findConnection } from '../../cli/records/connection.ts';
import { askingOperations, askServer, toolList, toolOutput } from './tool-list.ts';

export default defineCommand({
  summary: 'List the current tools of a connection',
  description:
    'Arguments with a question mark are optional. `aops connections describe` shows a tool in detail, and --json shows all of them.',
  arguments: { connection: connectionArgument },
  operations: askingOperations,
  examples: [
    { command: 'aops connections tools crm', text: 'List the tools that a procedure can call' },
    {
      command: 'aops connections tools crm --jq \'.data[] | select(.name == "create_ticket").input_schema\'',
      text: 'Print the input schema of a tool',
    },
  ],
  result: returns('listConnectionTools.tools[]'),
  output: toolOutput,
  async run(context, input) {
    return toolList(await askServer(context, await findConnection(context, input.connection)));
  },
});
