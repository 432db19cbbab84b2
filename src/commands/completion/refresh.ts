import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, optionalArgument } from '../../cli/kit/flags.ts';
import { isRemoteSource, readWords, remoteSourceNames } from '../../cli/picking/sources.ts';
import { cacheFor } from './remote.ts';

/** Started by completion in the background: reads the words of a source and caches them for the next time. */
export default defineCommand({
  summary: 'Update the cached words for completion',
  hidden: true,
  arguments: { source: argument('The source to read'), of: optionalArgument('The agent or queue that the words belong to') },
  operations: [
    'listRuns',
    'listAgents',
    'listQueues',
    'listArtifacts',
    'listConnections',
    'listTeamWebhooks',
    'callMcp',
    'listQueueLabels',
    'listAgentSchedules',
    'getEvalRubrics',
    'listAgentMemoryFiles',
  ],
  examples: [{ command: 'aops __refresh runs', text: 'Update the cached runs' }],
  async run(context, { source, of }) {
    if (!isRemoteSource(source)) throw new UsageError(`"${source}" is not a source.`, `Sources: ${remoteSourceNames.join(', ')}.`);
    const client = await context.client();
    const words = await readWords(source, client, context.teamId(), of);
    const { profile, team, baseUrl } = context.flags;
    const place = Object.fromEntries(Object.entries({ profile, team, baseUrl }).filter(([, value]) => value !== undefined));
    await cacheFor(context, source, place, of)?.write(words, context.clock.now());
    return undefined;
  },
});
