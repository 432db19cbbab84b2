import { UsageError } from '../../base/errors.ts';
import { argument, defineCommand } from '../define.ts';
import { cacheFor } from './remote.ts';
import { isRemoteSource, remoteSources } from './sources.ts';

/** Started by completion in the background: reads the words of a source and keeps them for the next time. */
export default defineCommand({
  summary: 'Bring the words of completion up to date',
  hidden: true,
  arguments: { source: argument('What to read') },
  operations: ['listRuns', 'listAgents', 'listTeamWebhooks', 'callMcp'],
  examples: [{ command: 'aops __refresh runs', text: 'The ids of runs' }],
  async run(context, { source }) {
    if (!isRemoteSource(source))
      throw new UsageError(`There is no source "${source}".`, `Sources: ${Object.keys(remoteSources).join(', ')}.`);
    const client = await context.client();
    const words = await remoteSources[source](client, context.teamId());
    const { profile, team, baseUrl } = context.flags;
    const place = Object.fromEntries(Object.entries({ profile, team, baseUrl }).filter(([, value]) => value !== undefined));
    await cacheFor(context, source, place)?.write(words, context.clock.now());
    return undefined;
  },
});
