import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactStart } from '../../watch/watch-artifact.ts';
import { followArtifact, watchExits, watchFlags, watchOptions } from './follow.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Rebuild a page from current data',
  description: 'The page becomes a new revision. To refresh it regularly, use `aops artifacts update --refresh`.',
  arguments: { artifact: artifactArgument },
  options: watchFlags,
  operations: ['listArtifacts', 'refreshArtifact', 'getArtifact', 'listArtifactMessages', 'answerArtifactQuestion'],
  mutates: true,
  exits: watchExits,
  examples: [{ command: 'aops artifacts refresh @latest --watch', text: 'Refresh the newest page and wait until it is ready' }],
  result: returns('refreshArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input): Promise<Artifact | undefined> {
    const follow = await watchOptions(context, input);
    const client = await context.client();
    const id = await artifactId(context, input.artifact);
    const artifact = await client.call('refreshArtifact', { params: { artifactId: id } });
    return follow ? followArtifact(context, id, artifactStart(undefined), follow) : artifact;
  },
});
