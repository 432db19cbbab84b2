import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Response } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRevision } from './record.ts';

export default defineCommand({
  summary: 'Restore an earlier revision as a new revision',
  arguments: { artifact: artifactArgument, revision: argument('The revision: its version or ID') },
  operations: ['listArtifacts', 'listArtifactRevisions', 'restoreArtifactRevision'],
  mutates: true,
  examples: [{ command: 'aops artifacts restore @latest 2', text: 'Restore version 2' }],
  result: returns('restoreArtifactRevision'),
  output: textOutput<Response<'restoreArtifactRevision'>>(({ current_version }) => `The current version is now ${current_version}.`),
  async run(context, input) {
    const client = await context.client();
    const id = await artifactId(context, input.artifact);
    const { id: revisionId } = await artifactRevision(context, id, input.revision);
    return client.call('restoreArtifactRevision', { params: { artifactId: id, revisionId } });
  },
});
