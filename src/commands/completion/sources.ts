/**
 * What shell completion offers from the service: ids and names, by source. To add one, name it here with its rows and give the
 * argument or option `complete: 'NAME'`.
 */
import { version } from '../../base/version.ts';
import type { Client } from '../../client/client.ts';

/** A word, and what it stands for. */
export type Word = [word: string, summary: string];

/** How many of each are offered. */
const limit = 50;

/** Reads the words of a source; one request each. */
export const remoteSources = {
  runs: async (client: Client, teamId: string): Promise<Word[]> => {
    const { data } = await client.call('listRuns', { params: { teamId }, query: { limit } });
    return data.map(({ id, status, agent_name, title }) => [id, `${status}  ${agent_name}: ${title}`]);
  },
  agents: async (client: Client, teamId: string): Promise<Word[]> => {
    const { agents } = await client.call('listAgents', { params: { teamId }, query: { limit } });
    return agents.map(({ id, name }) => [name, id]);
  },
  queues: async (client: Client, teamId: string): Promise<Word[]> => {
    const { queues } = await client.call('listQueues', { params: { teamId }, query: { limit } });
    return queues.map(({ id, name, description }) => [name, description ?? id]);
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
} as const;

export type RemoteSource = keyof typeof remoteSources;

export const isRemoteSource = (name: string | undefined): name is RemoteSource => name !== undefined && Object.hasOwn(remoteSources, name);
