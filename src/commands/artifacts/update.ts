import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { refreshFrequencies } from '../../interface/artifact-words.ts';
import type { Artifact } from '../../interface/types.ts';
import { artifactArgument, artifactId, artifactRecord } from './record.ts';

export default defineCommand({
  summary: 'Change the title or refresh schedule of an artifact',
  arguments: { artifact: artifactArgument },
  options: {
    title: text('TITLE', 'New title, also shown on the page (at most 120 characters)', { check: length(1, 120) }),
    refresh: choice(
      [...refreshFrequencies, 'never'],
      `How often to rebuild the page from new data: ${refreshFrequencies.join(', ')}, or never`,
      {
        metavar: 'FREQUENCY',
      },
    ),
  },
  operations: ['listArtifacts', 'updateArtifact'],
  mutates: true,
  examples: [
    { command: 'aops artifacts update @latest --title "The week" --refresh daily', text: 'Rename an artifact and refresh it daily' },
    { command: 'aops artifacts update ARTIFACT --refresh never', text: 'Stop refreshing it' },
  ],
  result: returns('updateArtifact'),
  output: recordOutput<Artifact>(artifactRecord),
  async run(context, input) {
    const refresh_frequency = input.refresh === 'never' ? null : input.refresh;
    const body = omitUndefined({ title: input.title, refresh_frequency });
    if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change.', 'Pass --title or --refresh.');
    const client = await context.client();
    return client.call('updateArtifact', { params: { artifactId: await artifactId(context, input.artifact) }, body });
  },
});
