import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Copy a page to a new private artifact',
  description: 'The copy belongs to you. It has the current page, without its messages and earlier revisions.',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'duplicateArtifact'],
  mutates: true,
  examples: [{ command: 'aops artifacts duplicate ARTIFACT -o id', text: 'Print the ID of the copy' }],
  result: returns('duplicateArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const client = await context.client();
    return client.call('duplicateArtifact', { params: { artifactId: await artifactId(context, input.artifact) } });
  },
});
