/**
 * Finds the runs whose title or ID contains a text with an index of sequences of three characters (migration 0031). The index only
 * selects candidates; the conditions of the filter decide.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { namesOf, preparedQuery } from '../database/prepared.ts';

/** The candidates for a search. */
export interface Matches {
  /** What the index is searched for. */
  phrase: string | undefined;
  /** The LIKE pattern for names of agents. */
  contains: string | undefined;
  /** Whether the runs of agents with such a name are candidates, too. */
  withAgents: true | undefined;
  /** Limits the candidates of the index to rows after the first and up to the second. */
  afterRow: number | undefined;
  untilRow: number | undefined;
}

/** How many characters a text must have to be found in the index. */
const minCharacters = 3;

/** Whether a text is too short to be found as a phrase. */
const isShort = (text: string): boolean => [...text].length < minCharacters;

/** The phrase for a folded text; undefined if the index does not contain the text as a phrase. */
export const phraseOf = (text: string): string | undefined => (isShort(text) ? undefined : quoted(text));

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** How many sequences a search is for at most. */
const maxSequences = 64;

/**
 * The same for a text of any length: a short one is found by all sequences that begin with it. Every character of a title begins one,
 * because the ID follows. Undefined as well if there are too many.
 */
export async function phraseOfAny(db: Queries, text: string): Promise<string | undefined> {
  if (!isShort(text)) return quoted(text);
  const sequences = await sequencesFrom.all(db, { first: text, last: `${text}\u{10ffff}`, limit: maxSequences + 1 });
  if (sequences.length > maxSequences) return undefined;
  // An empty phrase matches nothing.
  return sequences.length === 0 ? quoted('') : sequences.map(({ term }) => quoted(term)).join(' OR ');
}

/** The sequences in the index from one text to another. Each is looked up, because reading from one to the next reads all that contain it. */
const sequencesFrom = preparedQuery((db, { first, last, limit }: { first: string; last: string; limit: number }) =>
  db
    .withRecursive('found(term)', (from) =>
      from
        .selectNoFrom(sql<string | null>`(select term from run_search_terms where term >= ${first} and term <= ${last} limit 1)`.as('term'))
        .unionAll((next) =>
          next
            .selectFrom('found')
            .select(
              sql<string | null>`(select later.term from run_search_terms as later
              where later.term >= found.term || char(1) and later.term <= ${last} limit 1)`.as('term'),
            )
            .where('found.term', 'is not', null),
        ),
    )
    .selectFrom('found')
    .select('term')
    .where('term', 'is not', null)
    .limit(limit)
    .$narrowType<{ term: string }>(),
);

/** The condition that a run is a candidate. `values` determines which of the parameters exist. */
export function matchingRows(parameters: Partial<Matches>, values: Partial<Matches>): RawBuilder<SqlBool> {
  const after = values.afterRow === undefined ? sql`` : sql`and rowid > ${parameters.afterRow}`;
  const until = values.untilRow === undefined ? sql`` : sql`and rowid <= ${parameters.untilRow}`;
  const ofAgents = sql`union all select runs.rowid from runs
    where agent_id in (select id from agents where name_folded like ${parameters.contains} escape '\\')`;
  return sql<SqlBool>`runs.rowid in (select rowid from run_search where run_search match ${parameters.phrase} ${after} ${until}
    ${values.withAgents ? ofAgents : sql``})`;
}

/** How many runs the agents of a team have whose name contains a text. */
export async function countRunsOfNamedAgents(db: Queries, { teamId, contains }: { teamId: string; contains: string }): Promise<number> {
  return Number((await runsOfAgents.only(db, { teamId, contains })).total);
}

const runsOfAgents = preparedQuery((db, { teamId, contains }: { teamId: string; contains: string }) =>
  db
    .selectFrom('run_totals')
    .where('team_id', '=', teamId)
    .where('agent_id', 'in', (from) =>
      from.selectFrom('agents').select('id').where('team_id', '=', teamId).where(sql<boolean>`name_folded like ${contains} escape '\\'`),
    )
    .select((select) => select.fn.sum<number | null>('runs').as('total')),
);

/** The row of the candidate after this many others; undefined if there are fewer. */
export async function rowAfter(db: Queries, phrase: string, skipCount: number, afterRow?: number): Promise<number | undefined> {
  return (await matchAt.first(db, { phrase, afterRow, skipCount }))?.row;
}

const matchAt = preparedQuery(
  (db, parameters: { phrase: string; afterRow: number | undefined; skipCount: number }, values) => {
    const matches = db.selectFrom('run_search').where(sql<boolean>`run_search match ${parameters.phrase}`);
    return (values.afterRow === undefined ? matches : matches.where('rowid', '>', parameters.afterRow as number))
      .select('rowid as row')
      .orderBy('rowid')
      .limit(1)
      .offset(parameters.skipCount);
  },
  (values) => namesOf(values).join(),
);
