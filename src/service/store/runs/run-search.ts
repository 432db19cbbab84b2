/**
 * Finds the runs whose title or ID contains a text with an index of sequences of three characters (migration 0031). The index only
 * selects candidates; the conditions of the filter decide.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';

/** The candidates for a search. */
export interface Matches {
  /** What the index is searched for. */
  phrase: string | undefined;
  /** The LIKE pattern for names of agents. */
  contains: string | undefined;
}

/** How many characters the sequences have. */
const sequenceLength = 3;

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** How many sequences a search is for at most. */
const maxSequences = 64;

/**
 * What to search the index for. A short text is found by all sequences that begin with it; every character of a title begins one,
 * because the ID follows. Undefined if there are too many.
 */
export async function phraseOf(db: Queries, text: string): Promise<string | undefined> {
  if ([...text].length >= sequenceLength) return quoted(text);
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

/** The condition that a run is a candidate: the index has it, or the name of its agent matches. */
export const matchingRows = ({ phrase, contains }: Partial<Matches>): RawBuilder<SqlBool> =>
  sql<SqlBool>`runs.rowid in (select rowid from run_search where run_search match ${phrase}
    union all select runs.rowid from runs where agent_id in (select id from agents where name_folded like ${contains} escape '\\'))`;

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

/** Whether a phrase has more candidates than these. */
export async function hasMoreCandidates(db: Queries, phrase: string, count: number): Promise<boolean> {
  return (await candidateAt.first(db, { phrase, count })) !== undefined;
}

const candidateAt = preparedQuery((db, { phrase, count }: { phrase: string; count: number }) =>
  db.selectFrom('run_search').where(sql<boolean>`run_search match ${phrase}`).select('rowid').limit(1).offset(count),
);
