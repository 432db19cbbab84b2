import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { publishPermissions, publishVisibilities } from '../../interface/artifact-words.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Say who may see an artifact, and whether they may change it',
  arguments: { artifact: artifactArgument },
  options: {
    visibility: choice(publishVisibilities, 'Who may see it (default team)'),
    permission: choice(publishPermissions, 'What they may do with it (default as it is)'),
  },
  operations: ['listArtifacts', 'publishArtifact'],
  mutates: true,
  examples: [
    { command: 'aops artifacts publish ARTIFACT', text: 'For the team to look at' },
    { command: 'aops artifacts publish ARTIFACT --permission edit', text: 'For the team to change' },
    { command: 'aops artifacts publish ARTIFACT --visibility private', text: 'Take it back' },
  ],
  result: returns('publishArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const client = await context.client();
    const body = { visibility: input.visibility ?? ('team' as const), ...omitUndefined({ permission: input.permission }) };
    return client.call('publishArtifact', { params: { artifactId: await artifactId(context, input.artifact) }, body });
  },
});
