import { readBeforeWatching } from '../../cli/following/outage.ts';
import { followFlags, followOptions } from '../../cli/following/responder.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { openResumption } from '../../cli/following/resumption.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Artifact } from '../../interface/types.ts';
import { foreignToken, pointOf } from '../../watch/resume/token.ts';
import { artifactStart } from '../../watch/watch-artifact.ts';
import { followArtifact, watchExits } from './follow.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Watch the generation of a page, and answer its questions',
  description:
    'Continues where `create --watch` or `send --watch` was interrupted: with --resume exactly there, otherwise after the last request. Ctrl-C detaches; the generation continues. The exit code is the outcome of the generation, even if it ended earlier.',
  arguments: { artifact: artifactArgument },
  options: { ...followFlags, resume: resumeFlag },
  operations: ['listArtifacts', 'getArtifact', 'listArtifactMessages', 'answerArtifactQuestion'],
  exits: watchExits,
  examples: [
    { command: 'aops artifacts watch @latest', text: 'Watch the generation of the newest page' },
    { command: 'aops artifacts watch ARTIFACT -o ndjson --resume auto', text: 'Print the events since the last one that was printed' },
  ],
  result: returns('getArtifact.artifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input): Promise<Artifact | undefined> {
    const options = await followOptions(context, input, 'artifact_id');
    const id = await readBeforeWatching(context, (reading) => artifactId(reading, input.artifact));
    const { point, ...resumption } = await openResumption(context, input.resume, { stream: 'artifact', id }, (token) => {
      const read = pointOf(token, 'artifact', `artifact ${id}`);
      if (read.artifactId !== id) throw foreignToken(read, `artifact ${id}`);
      return read;
    });
    try {
      const start = point === undefined ? artifactStart(await lastRequest(context, id)) : { seq: point.seq, position: point };
      return await followArtifact(context, id, start, options, resumption);
    } finally {
      resumption.positions?.close();
    }
  },
});

/** The last message that a person sent. */
const lastRequest = (context: Context, artifactId: string): Promise<string | undefined> =>
  readBeforeWatching(context, async (reading) => {
    const client = await reading.client();
    const { data } = await client.call('listArtifactMessages', { params: { artifactId }, query: { limit: 100 } });
    return data.findLast(({ role }) => role === 'user')?.id;
  });
