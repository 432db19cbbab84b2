import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Plugin } from '../../interface/types.ts';

export default defineCommand({
  summary: 'List the plugin catalogue',
  operations: ['listPluginCatalog'],
  examples: [
    { command: 'aops plugins list', text: 'List all plugins' },
    {
      command: 'aops plugins list --jq \'.data[] | select(.type == "runtime") | .name\'',
      text: 'Print the possible values of `models.agent.model`',
    },
  ],
  result: returns('listPluginCatalog.plugins[]'),
  output: listOutput<Plugin>({
    columns: [
      column('NAME', (plugin) => plugin.name),
      column('TYPE', (plugin) => plugin.type),
      column('DESCRIPTION', (plugin) => plugin.description, { shrink: true, min: 12 }),
    ],
    empty: 'The catalogue is empty.',
  }),
  async run(context) {
    const client = await context.client();
    return wholeList((await client.call('listPluginCatalog', {})).plugins);
  },
});
