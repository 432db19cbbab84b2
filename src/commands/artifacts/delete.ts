import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { artifactArgument, artifactId } from './record.ts';

export default defineCommand({
  summary: 'Delete an artifact, with its revisions and messages',
  arguments: { artifact: artifactArgument },
  operations: ['listArtifacts', 'getArtifact', 'deleteArtifact'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops artifacts delete ARTIFACT --yes', text: 'Delete an artifact without confirmation' }],
  result: returns('deleteArtifact', { id: 'uuid', title: 'string|null' }),
  output: textOutput<{ id: string; title: string | null }>(({ id, title }) => `Deleted ${title === null ? id : `"${title}"`}.`),
  async run(context, input) {
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    const { id, title } = (await client.call('getArtifact', { params })).artifact;
    await confirm(context, `Delete ${title === null ? `the artifact ${id}` : `"${title}"`} with its revisions?`);
    return { id, title, ...(await client.call('deleteArtifact', { params })) };
  },
});
