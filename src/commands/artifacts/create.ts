import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, texts } from '../../cli/kit/flags.ts';
import { readBack } from '../../cli/kit/offered.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import type { Artifact } from '../../interface/types.ts';
import { followArtifact, watchExits, watchFlags, watchOptions } from './follow.ts';
import { artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Make a page from what the team has, by saying what should be on it',
  description:
    'Returns when the generation has been started; with --watch when it has ended. --answers and --on-request include --watch. What the generator of the local service understands is in docs/artifacts.md.',
  arguments: { message: argument('What should be on the page; @FILE or - read it') },
  options: { connection: texts('CONNECTION', 'Attach this connection, by its name or id; may be repeated'), ...watchFlags },
  operations: ['listConnections', 'createArtifact', 'getArtifact', 'listArtifactMessages', 'answerArtifactQuestion'],
  mutates: true,
  exits: watchExits,
  examples: [
    {
      command: "aops artifacts create 'title Week; runs of the last 7 days by status; open human requests' --watch",
      text: 'Until the page is there',
    },
    { command: 'aops artifacts create @report.txt --answers answers.yaml -o id', text: 'Without a person' },
  ],
  result: returns('getArtifact.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input): Promise<Artifact | undefined> {
    const follow = await watchOptions(context, input);
    const message = await readContent(context, input.message, length(1, 10_000), 'MESSAGE');
    const client = await context.client();
    const connection_ids: string[] = [];
    for (const one of input.connection) connection_ids.push((await findConnection(context, one)).id);
    const body = { message, ...(connection_ids.length === 0 ? {} : { connection_ids }) };
    const { artifact_id: artifactId, user_message } = await client.call('createArtifact', { body });
    if (follow) return followArtifact(context, artifactId, user_message.id, follow);
    // The id must not be lost: who repeats the command creates another artifact.
    const read = client.call('getArtifact', { params: { artifactId } }).then(({ artifact }) => artifact);
    return readBack(context, read, { id: artifactId } as Artifact, 'The artifact was created');
  },
});
