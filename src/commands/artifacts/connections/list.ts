import { defineCommand } from '../../../cli/kit/command.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { ArtifactConnection } from '../../../interface/types.ts';
import { artifactArgument, artifactId } from '../record.ts';

export default defineCommand({
  summary: 'List the connections attached to an artifact',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'listArtifactConnections'],
  examples: [{ command: 'aops artifacts connections list @latest', text: 'List the connections of the newest artifact' }],
  result: returns('listArtifactConnections.connections[]'),
  output: listOutput<ArtifactConnection>({
    columns: [
      column('CONNECTION', (row) => row.connection_id),
      column('TYPE', (row) => row.type, { shrink: true }),
      timeColumn('ATTACHED', (row) => row.created_at),
    ],
    empty: 'No connections are attached.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    return wholeList((await client.call('listArtifactConnections', { params })).connections);
  },
});
