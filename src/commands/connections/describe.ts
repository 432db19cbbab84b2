import { AopsError, exitCodes } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { describeTool } from '../../cli/kit/tool-arguments.ts';
import { connectionArgument, findConnection } from '../../cli/records/connection.ts';
import type { ConnectionTool } from '../../interface/types.ts';
import { askingOperations, askServer, requireTools } from './tool-list.ts';

export default defineCommand({
  summary: 'Show the description and arguments of a tool',
  arguments: { connection: connectionArgument, tool: argument('The name of the tool') },
  operations: askingOperations,
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops connections describe crm create_ticket', text: 'Show a tool' },
    { command: 'aops connections describe crm create_ticket --jq .input_schema', text: 'Print the JSON Schema of its arguments' },
  ],
  result: returns('listConnectionTools.tools[]'),
  output: documentOutput<ConnectionTool>((tool, view) =>
    describeTool(
      [
        { label: 'Tool', value: tool.name },
        { label: 'Does', value: tool.description },
      ],
      tool.input_schema,
      view,
    ),
  ),
  async run(context, input) {
    const connection = await findConnection(context, input.connection);
    const tools = requireTools(await askServer(context, connection));
    return tools.find((tool) => tool.name === input.tool) ?? unknownTool(connection.name, input.tool, tools);
  },
});

function unknownTool(connection: string, toolName: string, tools: readonly ConnectionTool[]): never {
  const similar = nearest(
    toolName,
    tools.map(({ name }) => name),
  );
  throw new AopsError(`${connection} has no tool "${toolName}".`, {
    code: 'tool_not_found',
    exit: exitCodes.notFound,
    hint: similar === undefined ? `List the tools with \`aops connections tools ${connection}\`.` : `Did you mean ${similar}?`,
  });
}
