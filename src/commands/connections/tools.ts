import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionArgument, findConnection } from '../../cli/records/connection.ts';
import { askingOperations, askServer, toolList, toolOutput } from './tool-list.ts';

export default defineCommand({
  summary: 'List the tools of a connection, as its server has them now',
  description:
    'An argument with a question mark may be left out. `aops connections describe` shows one with all that is known of it, and --json all of them.',
  arguments: { connection: connectionArgument },
  operations: askingOperations,
  examples: [
    { command: 'aops connections tools crm', text: 'What a procedure may call' },
    { command: 'aops connections tools crm --jq \'.data[] | select(.name == "create_ticket").input_schema\'', text: 'What one takes' },
  ],
  result: returns('listConnectionTools.tools[]'),
  output: toolOutput,
  async run(context, input) {
    return toolList(await askServer(context, await findConnection(context, input.connection)));
  },
});
