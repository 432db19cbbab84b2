/** Resolves names to IDs: agents, queues and other things. Runs are in resolve-run.ts. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { type FetchPage, pagedRows } from '../../client/paging.ts';
import { isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';

/** A kind of thing that has names, and how to list all of them. */
interface NamedItem<Item> {
  /** `agent`; its plural ends with s. */
  word: string;
  /** Rows to request at a time. */
  pageSize: number;
  fetchPage: FetchPage<Item>;
}

type Source<Item> = () => Promise<NamedItem<Item>>;
type Page = FetchPage<{ id: string; name: string }>;

/**
 * The ID of an agent, from its ID or name.
 * @throws AopsError `agent_not_found` (exit 3), UsageError when several agents have the name
 */
export async function agentId(context: Context, idOrName: string): Promise<string> {
  return idByName(idOrName, async () => {
    const client = await context.client();
    const params = { teamId: context.teamId() };
    const fetchPage: Page = async (limit, offset) => {
      const page = await client.call('listAgents', { params, query: { limit, offset } });
      return { items: page.agents, total: page.total };
    };
    return { word: 'agent', pageSize: 100, fetchPage };
  });
}

/**
 * The ID of a queue, from its ID or name.
 * @throws AopsError `queue_not_found` (exit 3)
 */
export async function queueId(context: Context, idOrName: string): Promise<string> {
  return idByName(idOrName, async () => {
    const client = await context.client();
    const params = { teamId: context.teamId() };
    const fetchPage: Page = async (limit, offset) => {
      const page = await client.call('listQueues', { params, query: { limit, offset } });
      return { items: page.queues, total: page.total };
    };
    return { word: 'queue', pageSize: 250, fetchPage };
  });
}

async function idByName(idOrName: string, source: Source<{ id: string; name: string }>): Promise<string> {
  if (isUuid(idOrName)) return idOrName.toLowerCase();
  return (await findByName(idOrName, source, ({ name }) => name)).id;
}

/**
 * The item with this name.
 * @throws AopsError `…_not_found` (exit 3) with similar names, UsageError when several items have the name
 */
export async function findByName<Item extends { id: string }>(
  searchedName: string,
  source: Source<Item>,
  nameOf: (item: Item) => string | null,
): Promise<Item> {
  const { word, pageSize, fetchPage } = await source();
  const matches: Item[] = [];
  const names: string[] = [];
  for await (const item of pagedRows(fetchPage, pageSize)) {
    const name = nameOf(item);
    if (name === null) continue;
    if (name === searchedName) matches.push(item);
    names.push(name);
  }
  const [match, ...others] = matches;
  if (match === undefined) return notFound(word, searchedName, names);
  if (others.length === 0) return match;
  throw new UsageError(
    `${matches.length} ${word}s are called "${searchedName}".`,
    `Use the ID of one of them: ${matches.map(({ id }) => id).join(', ')}`,
  );
}

function notFound(word: string, idOrName: string, names: readonly string[]): never {
  const similar = nearest(idOrName, names);
  const suggestions = similar === undefined ? names.filter((name) => name.toLowerCase().includes(idOrName.toLowerCase())) : [similar];
  throw new AopsError(`There is no ${word} "${idOrName}".`, {
    code: `${word}_not_found`,
    exit: exitCodes.notFound,
    hint: suggestions.length > 0 ? `Did you mean ${suggestions.slice(0, 3).join(', ')}?` : `See the ${word}s with \`aops ${word}s list\`.`,
  });
}
