import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { artifactScopes } from '../../interface/artifact-words.ts';
import type { Artifact } from '../../interface/types.ts';

export default defineCommand({
  summary: 'List artifacts, newest first',
  options: {
    scope: choice(artifactScopes, 'Which artifacts to list: your own, those shared with you, or those of the team'),
    ...listFlags,
  },
  operations: ['listArtifacts'],
  examples: [
    { command: 'aops artifacts list', text: 'List every artifact you can see' },
    { command: 'aops artifacts list --scope created --all -o id', text: 'Print the IDs of your own artifacts' },
  ],
  result: returns('listArtifacts.artifacts[]'),
  output: listOutput<Artifact>({
    columns: [
      idColumn((artifact) => artifact.id),
      statusColumn((artifact) => artifact.status),
      column('TITLE', (artifact) => artifact.title, { shrink: true, min: 12 }),
      column('VISIBLE', (artifact) => artifact.visibility),
      timeColumn('UPDATED', (artifact) => artifact.updated_at),
    ],
    empty: "There are no artifacts. Create one with `aops artifacts create 'runs of the last 7 days by status'`.",
  }),
  async run(context, input) {
    const client = await context.client();
    const scope = input.scope === undefined ? {} : { scope: input.scope };
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listArtifacts', { query: { limit, offset, ...scope } });
      return { items: page.artifacts, total: page.total };
    });
  },
});
