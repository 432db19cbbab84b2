import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { describeTool } from '../../cli/kit/tool-arguments.ts';
import { isDestructive, isReadOnly, type ListedTool, listTools } from '../../client/mcp/tools.ts';
import { toolNamed } from './arguments.ts';
import { listedTool } from './schema.ts';
import { withSession } from './session.ts';

export default defineCommand({
  summary: 'Show the description and arguments of a tool',
  arguments: { tool: argument('The name of the tool', { complete: 'tools' }) },
  operations: ['callMcp'],
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops mcp describe start_run', text: 'Show a tool before calling it' },
    { command: 'aops mcp describe start_run --jq .inputSchema', text: 'Print the JSON Schema of its arguments' },
  ],
  result: listedTool,
  output: documentOutput<ListedTool>((tool, view) => {
    const about = [
      { label: 'Tool', value: tool.name },
      { label: 'Does', value: tool.description ?? tool.title },
      { label: 'Read-only', value: isReadOnly(tool) },
      { label: 'Destructive', value: isDestructive(tool) },
    ];
    return describeTool(about, tool.inputSchema, view);
  }),
  run: (context, input) => withSession(context, async (session) => toolNamed(await listTools(session), input.tool)),
});
