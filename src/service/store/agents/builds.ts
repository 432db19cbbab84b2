/** Revisions of agents; the interface's field names call them builds. */
import type { Insertable, Updateable } from 'kysely';
import { BoundedCache } from '../../../base/bounded-cache.ts';
import { changesOf } from '../database/cached.ts';
import type { Changes } from '../database/changes.ts';
import type { Queries } from '../database/database.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import { preparedQuery } from '../database/prepared.ts';
import { isShared, lockRows } from '../database/row-locks.ts';
import type { BuildRow, BuildsTable } from '../database/schema.ts';

/** Inserts a revision with the agent's next number. Call it in a transaction. */
export async function insertBuild(db: Queries, build: Omit<Insertable<BuildsTable>, 'revision_number'>): Promise<BuildRow> {
  await lockRows(db, 'agents', [build.agent_id]);
  const { last } = await db
    .selectFrom('builds')
    .select((select) => select.fn.max('revision_number').as('last'))
    .where('agent_id', '=', build.agent_id)
    .executeTakeFirstOrThrow();
  return db
    .insertInto('builds')
    .values({ ...build, revision_number: Number(last ?? 0) + 1 })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** A revision of an agent of the team, unless the agent has been deleted. A transaction that decides on it locks the agent. */
export async function findBuild(db: Queries, teamId: string, id: string): Promise<BuildRow | undefined> {
  if (db.isTransaction && isShared(db)) {
    const { agent_id } = (await byId.first(db, { teamId, id })) ?? {};
    if (agent_id !== undefined) await lockRows(db, 'agents', [agent_id]);
  }
  return byId.first(db, { teamId, id });
}

const byId = preparedQuery((db, { teamId, id }: { teamId: string; id: string }) =>
  db
    .selectFrom('builds')
    .innerJoin('agents', 'agents.id', 'builds.agent_id')
    .selectAll('builds')
    .where('builds.id', '=', id)
    .where('agents.team_id', '=', teamId)
    .where('agents.deleted_at', 'is', null),
);

export async function updateBuildRow(db: Queries, id: string, changes: Updateable<BuildsTable>): Promise<BuildRow> {
  return db.updateTable('builds').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

/** Newest first; fewer than `limit` if they are large (see `fittingCount`). */
export async function listBuildRows(
  db: Queries,
  agentId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: BuildRow[]; total: number }> {
  const query = db.selectFrom('builds').where('agent_id', '=', agentId);
  const pageQuery = query.orderBy('revision_number', 'desc').offset(page.offset);
  const sizes = await pageQuery.select(bytesOf('config').as('bytes')).limit(page.limit).execute();
  const rows = await pageQuery
    .selectAll()
    .limit(fittingCount(sizes.map(({ bytes }) => bytes)))
    .execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

/** The latest revision of each agent that has any. */
export async function latestBuilds(db: Queries, agentIds: string[]): Promise<Map<string, BuildRow>> {
  if (agentIds.length === 0) return new Map();
  const rows = await latestOf(db, agentIds).selectAll().execute();
  return new Map(rows.map((row) => [row.agent_id, row]));
}

/** The size of the configuration in the latest revision, by agent, in bytes. */
export async function latestBuildSizes(db: Queries, agentIds: string[]): Promise<Map<string, number>> {
  if (agentIds.length === 0) return new Map();
  const rows = await latestOf(db, agentIds)
    .select(['agent_id', bytesOf('config').as('bytes')])
    .execute();
  return new Map(rows.map((row) => [row.agent_id, row.bytes]));
}

const latestOf = (db: Queries, agentIds: string[]) =>
  db
    .selectFrom('builds')
    .where('agent_id', 'in', agentIds)
    .where('revision_number', '=', (where) =>
      where
        .selectFrom('builds as other')
        .select((select) => select.fn.max('other.revision_number').as('last'))
        .whereRef('other.agent_id', '=', 'builds.agent_id'),
    );

/** Stores a procedure text under its hash; identical texts are stored once. */
export async function keepProcedure(db: Queries, hash: string, text: string): Promise<void> {
  if (!storedTexts(db)?.has(hash)) await insertProcedure.send(db, { hash, text });
}

const insertProcedure = preparedQuery((db, { hash, text }: { hash: string; text: string }) =>
  db
    .insertInto('procedures')
    .values({ hash, text })
    .onConflict((conflict) => conflict.column('hash').doNothing()),
);

/** Outside of transactions, so that what is cached is durable. A procedure is never removed, and its text never changes. */
export async function procedureText(db: Queries, hash: string): Promise<string> {
  const cache = storedTexts(db) ?? sharedTexts;
  const cachedText = cache.get(hash);
  if (cachedText !== undefined) return cachedText;
  const { text } = await ofHash.only(db, { hash });
  cache.set(hash, text);
  return text;
}

/** The maximum length of all cached texts of a database together, in characters. */
const maxCached = 4_000_000;
const newCache = () => new BoundedCache<string>(maxCached, (_, text) => text.length);
const texts = new WeakMap<Changes, BoundedCache<string>>();
/** Of databases that other processes change as well. It does not show what is stored where, but a hash has the same text everywhere. */
const sharedTexts = newCache();

function storedTexts(db: Queries): BoundedCache<string> | undefined {
  const changes = changesOf(db);
  if (changes === undefined) return undefined;
  const cache = texts.get(changes) ?? newCache();
  texts.set(changes, cache);
  return cache;
}

const ofHash = preparedQuery((db, { hash }: { hash: string }) => db.selectFrom('procedures').select('text').where('hash', '=', hash));
