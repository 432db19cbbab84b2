import { exitCodes } from '../../base/errors.ts';
import { isDestructive, isReadOnly, type ListedTool, listTools } from '../../client/mcp/tools.ts';
import { renderRecord } from '../../terminal/record.ts';
import { renderTable } from '../../terminal/table.ts';
import { argument, defineCommand } from '../define.ts';
import { column, documentOutput } from '../output.ts';
import { toolNamed } from './arguments.ts';
import { listedTool, type ToolArgument, toolArgumentsOf } from './schema.ts';
import { withSession } from './session.ts';

const columns = [
  column<ToolArgument>('ARGUMENT', ({ name }) => name),
  column<ToolArgument>('TYPE', ({ type }) => type, { shrink: true }),
  column<ToolArgument>('REQUIRED', ({ required }) => required),
  column<ToolArgument>('MEANING', ({ meaning }) => meaning, { shrink: true, min: 24 }),
];

export default defineCommand({
  summary: 'Show what a tool does and what it takes',
  arguments: { tool: argument('The tool, as `aops mcp tools` lists it', { complete: 'tools' }) },
  operations: ['callMcp'],
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops mcp describe start_run', text: 'Before calling it' },
    { command: 'aops mcp describe start_run --jq .inputSchema', text: 'The JSON Schema of its arguments' },
  ],
  result: listedTool,
  output: documentOutput<ListedTool>(async (tool, view) => {
    const about = [
      { label: 'Tool', value: tool.name },
      { label: 'Does', value: tool.description ?? tool.title },
      { label: 'Read-only', value: isReadOnly(tool) },
      { label: 'Destructive', value: isDestructive(tool) },
    ];
    const table = await renderTable(toolArgumentsOf(tool), columns, view);
    return `${await renderRecord(about, view)}${table !== '' && view.tty ? '\n' : ''}${table}`;
  }),
  run: (context, input) => withSession(context, async (session) => toolNamed(await listTools(session), input.tool)),
});
