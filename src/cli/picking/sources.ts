/**
 * The values that shell completion reads from the service: IDs and names, by source. To add a source, define it here and set
 * `complete: 'NAME'` on the argument or option. Some values belong to the agent or queue in front of them on the line.
 */
import { pluralize } from '../../base/pluralize.ts';
import { timesInWords } from '../../base/schedule-fields.ts';
import { version } from '../../base/version.ts';
import type { Client } from '../../client/client.ts';
import type { RunListItem } from '../../interface/types.ts';
import { isUuid } from '../kit/checks.ts';
import type { RemoteSource } from '../kit/flags.ts';
import { labelText } from '../names/label.ts';
import { runWord } from '../names/run-names.ts';
import { isOwned, type OwnedSource, ownerOf } from './owned-sources.ts';

/** A word and its description. */
export type Word = [word: string, summary: string];

/** Maximum number of values per source. */
const limit = 50;

type ReadWords = (client: Client, teamId: string) => Promise<Word[]>;

/** Sources that read their words with one request. */
export const remoteSources = {
  runs: async (client: Client, teamId: string): Promise<Word[]> => {
    const { data } = await client.call('listRuns', { params: { teamId }, query: { limit } });
    const describe = (run: RunListItem): string => `${run.status}  ${run.agent_name}: ${run.title}`;
    const numbers = data.filter((run) => runWord(run) !== run.id).map((run): Word => [runWord(run), describe(run)]);
    return [...numbers, ...data.map((run): Word => [run.id, describe(run)])];
  },
  agents: async (client: Client, teamId: string): Promise<Word[]> => {
    const { agents } = await client.call('listAgents', { params: { teamId }, query: { limit } });
    return agents.map(({ id, name }) => [name, id]);
  },
  queues: async (client: Client, teamId: string): Promise<Word[]> => {
    const { queues } = await client.call('listQueues', { params: { teamId }, query: { limit } });
    return queues.map(({ id, name, description }) => [name, description ?? id]);
  },
  /** `NAME@live`, `NAME@latest` and the newest numbers of each agent. */
  revisions: async (client: Client, teamId: string): Promise<Word[]> => {
    const { agents } = await client.call('listAgents', { params: { teamId }, query: { limit } });
    return agents.flatMap(({ name, latest_build: latest }) => {
      const newest = latest?.revision_number;
      if (!newest) return [];
      const numbers = Array.from({ length: Math.min(newest, numbersOffered) }, (_, index) => newest - index);
      return [
        [`${name}@live`, 'used by new runs'],
        [`${name}@latest`, `revision ${newest}`],
        ...numbers.map((number): Word => [`${name}@${number}`, `revision ${number}`]),
      ] as Word[];
    });
  },
  artifacts: async (client: Client): Promise<Word[]> => {
    const { artifacts } = await client.call('listArtifacts', { query: { limit } });
    return artifacts.map(({ id, status, title }) => [id, title ? `${status}  ${title}` : status]);
  },
  connections: async (client: Client, teamId: string): Promise<Word[]> => {
    const { integrations } = await client.call('listConnections', { params: { teamId }, query: { limit } });
    return integrations.map(({ id, name, server_url }) => [name, server_url ?? id]);
  },
  webhooks: async (client: Client, teamId: string): Promise<Word[]> => {
    const { webhooks } = await client.call('listTeamWebhooks', { params: { teamId } });
    return webhooks.map(({ id, url }) => [id, url]);
  },
  tools: async (client: Client): Promise<Word[]> => {
    const [{ McpSession }, { listTools }] = await Promise.all([import('../../client/mcp/session.ts'), import('../../client/mcp/tools.ts')]);
    const session = new McpSession(client, { name: 'aops', version });
    const tools = await listTools(session).finally(() => session.close());
    return tools.map(({ name, title, description }) => [name, title ?? description ?? '']);
  },
} as const satisfies Partial<Record<RemoteSource, ReadWords>>;

/** Number of revisions of an agent that are offered by number. */
const numbersOffered = 5;

type ReadOf = (client: Client, owner: string) => Promise<Word[]>;

/** Sources whose words belong to the argument in front of them on the line; two requests each if that is a name. */
const ownedSources: Readonly<Record<OwnedSource, ReadOf>> = {
  labels: async (client, queue_id) => {
    const { labels } = await client.call('listQueueLabels', { params: { queue_id }, query: { limit } });
    return labels.map((label): Word => [labelText(label), pluralize(label.case_count, 'case')]);
  },
  schedules: async (client, agent_id) => {
    const { schedules } = await client.call('listAgentSchedules', { params: { agent_id } });
    return schedules.map((schedule): Word => [schedule.id, timesInWords(schedule)]);
  },
  rubrics: async (client, agentId) => {
    const { rubrics } = await client.call('getEvalRubrics', { params: { agentId } });
    return rubrics.map(({ slug, description }): Word => [slug, description]);
  },
  memory: async (client, agent_id) => {
    const { files } = await client.call('listAgentMemoryFiles', { params: { agent_id } });
    return files.map(({ path, updated_at }): Word => [path, updated_at ?? '']);
  },
};

/** The names of all sources. */
export const remoteSourceNames: readonly string[] = [...Object.keys(remoteSources), ...Object.keys(ownedSources)];

export const isRemoteSource = (name: string | undefined): name is RemoteSource => name !== undefined && remoteSourceNames.includes(name);

/** The words of a source. @param ownerName the agent or queue, by ID or name, for words that belong to one; without it they are empty */
export async function readWords(source: RemoteSource, client: Client, teamId: string, ownerName: string | undefined): Promise<Word[]> {
  if (!isOwned(source)) return remoteSources[source](client, teamId);
  if (ownerName === undefined) return [];
  const id = isUuid(ownerName) ? ownerName : (await owners[ownerOf[source]](client, teamId)).find(({ name }) => name === ownerName)?.id;
  return id === undefined ? [] : ownedSources[source](client, id);
}

const owners = {
  agents: async (client: Client, teamId: string) => (await client.call('listAgents', { params: { teamId }, query: { limit: 100 } })).agents,
  queues: async (client: Client, teamId: string) => (await client.call('listQueues', { params: { teamId }, query: { limit: 250 } })).queues,
};
