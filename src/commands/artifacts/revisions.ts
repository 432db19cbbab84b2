import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { ArtifactRevision } from '../../interface/types.ts';
import { artifactArgument, artifactId } from './record.ts';

type Row = ArtifactRevision & { current: boolean; parent_version: number | null };

/** What a revision is based on. */
const origin = ({ restored_from_version: restoredVersion, parent_version: parent }: Row): string =>
  restoredVersion === null ? (parent === null ? '' : `changes ${parent}`) : `restores ${restoredVersion}`;

export default defineCommand({
  summary: 'List the revisions of a page, newest first',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'listArtifactRevisions'],
  examples: [
    { command: 'aops artifacts revisions @latest', text: 'List all revisions' },
    { command: 'aops artifacts revisions ARTIFACT --jq .data[0].version', text: 'Print the newest version' },
  ],
  result: returns('listArtifactRevisions.revisions[]', { current: 'boolean', parent_version: 'integer|null' }),
  output: listOutput<Row>({
    columns: [
      column('VERSION', (row) => row.version, { align: 'right' }),
      column('', (row) => (row.current ? 'current' : '')),
      column('FROM', origin),
      timeColumn('CREATED', (row) => row.created_at),
      column('ID', (row) => row.id),
    ],
    empty: 'There are no revisions: no page has been generated yet.',
  }),
  async run(context, input) {
    const client = await context.client();
    const { revisions, current_revision_id: current } = await client.call('listArtifactRevisions', {
      params: { artifactId: await artifactId(context, input.artifact) },
    });
    const versions = new Map(revisions.map(({ id, version }) => [id, version]));
    return wholeList(
      revisions.map(
        (row): Row => ({ ...row, current: row.id === current, parent_version: versions.get(row.parent_revision_id ?? '') ?? null }),
      ),
    );
  },
});
