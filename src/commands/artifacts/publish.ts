import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { publishPermissions, publishVisibilities } from '../../interface/artifact-words.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Change who can see or edit an artifact',
  arguments: { artifact: artifactArgument },
  options: {
    visibility: choice(publishVisibilities, 'Who can see it (default: team)'),
    permission: choice(publishPermissions, 'What they can do with it (default: unchanged)'),
  },
  operations: ['listArtifacts', 'publishArtifact'],
  mutates: true,
  examples: [
    { command: 'aops artifacts publish ARTIFACT', text: 'Let the team view it' },
    { command: 'aops artifacts publish ARTIFACT --permission edit', text: 'Let the team edit it' },
    { command: 'aops artifacts publish ARTIFACT --visibility private', text: 'Make it private again' },
  ],
  result: returns('publishArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const client = await context.client();
    const body = { visibility: input.visibility ?? ('team' as const), ...omitUndefined({ permission: input.permission }) };
    return client.call('publishArtifact', { params: { artifactId: await artifactId(context, input.artifact) }, body });
  },
});
