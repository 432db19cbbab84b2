import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Copy a page into a new, private artifact of your own',
  description: 'The copy has the page as it is now, without the messages and revisions that led to it.',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'duplicateArtifact'],
  mutates: true,
  examples: [{ command: 'aops artifacts duplicate ARTIFACT -o id', text: 'The id of the copy' }],
  result: returns('duplicateArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const client = await context.client();
    return client.call('duplicateArtifact', { params: { artifactId: await artifactId(context, input.artifact) } });
  },
});
