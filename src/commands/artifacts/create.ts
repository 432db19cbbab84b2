import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, texts } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { readBack } from '../../cli/kit/secondary-requests.ts';
import { findConnection } from '../../cli/records/connection.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactStart } from '../../watch/watch-artifact.ts';
import { followArtifact, watchExits, watchFlags, watchOptions } from './follow.ts';
import { artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Create a page from team data, described in words',
  description:
    'Returns once the generation has started; with --watch, once it has ended. --answers and --on-request imply --watch. docs/artifacts.md describes what the generator of the local service understands.',
  arguments: { message: argument('What the page should contain; @FILE reads it from a file, - from standard input') },
  options: { connection: texts('CONNECTION', 'Attach this connection, by name or ID; can be repeated'), ...watchFlags },
  operations: ['listConnections', 'createArtifact', 'getArtifact', 'listArtifactMessages', 'answerArtifactQuestion'],
  mutates: true,
  exits: watchExits,
  examples: [
    {
      command: "aops artifacts create 'title Week; runs of the last 7 days by status; open human requests' --watch",
      text: 'Create a page and wait until it is ready',
    },
    {
      command: 'aops artifacts create @report.txt --answers answers.yaml -o id',
      text: 'Answer the questions from a file and print only the ID',
    },
  ],
  result: returns('getArtifact.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input): Promise<Artifact | undefined> {
    const follow = await watchOptions(context, input);
    const message = await readContent(context, input.message, length(1, 10_000), 'MESSAGE');
    const client = await context.client();
    const connection_ids: string[] = [];
    for (const connection of input.connection) connection_ids.push((await findConnection(context, connection)).id);
    const body = { message, ...(connection_ids.length === 0 ? {} : { connection_ids }) };
    const { artifact_id: artifactId, user_message } = await client.call('createArtifact', { body });
    if (follow) return followArtifact(context, artifactId, artifactStart(user_message.id), follow);
    // The ID must not be lost: repeating the command would create another artifact.
    const read = client.call('getArtifact', { params: { artifactId } }).then(({ artifact }) => artifact);
    return readBack(context, read, { id: artifactId } as Artifact, 'The artifact was created');
  },
});
