import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { isReadOnly, type ListedTool, listTools } from '../../client/mcp/tools.ts';
import { listedTool } from './schema.ts';
import { withSession } from './session.ts';

export default defineCommand({
  summary: 'List the tools of the service',
  description:
    'Lists the tools that an assistant sees when it is connected to the service. A credential with scopes sees only the tools it can use. With --json, each tool includes the schema of its arguments.',
  operations: ['callMcp'],
  examples: [
    { command: 'aops mcp tools', text: 'List the tools' },
    { command: 'aops mcp tools --jq \'.data[] | select(.name == "start_run") | .inputSchema\'', text: 'Print the input schema of a tool' },
  ],
  result: listedTool,
  output: listOutput<ListedTool>({
    columns: [
      column('NAME', (tool) => tool.name),
      column('READ-ONLY', isReadOnly),
      column('SUMMARY', summaryOf, { shrink: true, min: 24 }),
    ],
    empty: 'The service has no tools.',
  }),
  run: (context) => withSession(context, async (session) => wholeList(await listTools(session))),
});

/** The first sentence of the description. */
function summaryOf({ description, title, annotations, name }: ListedTool): string {
  return /^[\s\S]*?\.(?=\s|$)/.exec(description ?? '')?.[0] ?? description ?? title ?? annotations?.title ?? name;
}
