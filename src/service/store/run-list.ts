/** The run list with its filters. Every filter but the search is an index; the order is that of creation. */
import { sql } from 'kysely';
import type { RunStatus } from '../../interface/types.ts';
import type { Queries } from './database.ts';
import { escapeLike } from './like.ts';
import type { RunRow } from './schema.ts';

export interface RunFilter {
  teamId: string;
  agentId?: string;
  /** None matches nothing, absent matches all. */
  statuses?: readonly RunStatus[];
  /** ISO 8601 in UTC, inclusive and exclusive. */
  since?: string;
  until?: string;
  source?: string;
  /** Runs for cases of this queue. */
  caseQueueId?: string;
  /** Words in the title or the agent's name, or the beginning of an id. */
  search?: string;
}

export interface RunPage {
  limit: number;
  offset: number;
  order: 'asc' | 'desc';
}

export type ListedRun = RunRow & {
  agent_name: string;
  /** Of its case, unless that is gone. */
  case_queue_id: string | null;
  case_queue_name: string | null;
  case_title: string | null;
  postponed_to: string | null;
};

export async function listRunRows(db: Queries, filter: RunFilter, page: RunPage): Promise<ListedRun[]> {
  return filtered(db, filter)
    .leftJoin('cases', 'cases.id', 'runs.case_id')
    .leftJoin('queues', 'queues.id', 'cases.queue_id')
    .selectAll('runs')
    .select([
      'agents.name as agent_name',
      'cases.queue_id as case_queue_id',
      'queues.name as case_queue_name',
      'cases.title as case_title',
      'cases.postponed_to as postponed_to',
    ])
    .orderBy('runs.created_at', page.order)
    .orderBy('runs.run_number', page.order)
    .limit(page.limit)
    .offset(page.offset)
    .execute();
}

export async function countRuns(db: Queries, filter: RunFilter): Promise<number> {
  // The agent's name is only of interest to a search; without it the count reads one index.
  const { total } = await (filter.search === undefined ? unjoined(db, filter) : filtered(db, filter))
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(total);
}

function filtered(db: Queries, filter: RunFilter) {
  const query = unjoined(db, filter).innerJoin('agents', 'agents.id', 'runs.agent_id');
  if (filter.search === undefined) return query;
  const text = filter.search.trim().toLowerCase();
  const contains = `%${escapeLike(text)}%`;
  return query.where((where) =>
    where.or([
      sql<boolean>`runs.title_folded like ${contains} escape '\\'`,
      sql<boolean>`agents.name_folded like ${contains} escape '\\'`,
      sql<boolean>`runs.id like ${`${escapeLike(text)}%`} escape '\\'`,
    ]),
  );
}

function unjoined(db: Queries, filter: RunFilter) {
  let query = db.selectFrom('runs').where('runs.team_id', '=', filter.teamId);
  if (filter.agentId !== undefined) query = query.where('runs.agent_id', '=', filter.agentId);
  if (filter.statuses !== undefined) query = query.where('runs.status', 'in', [...filter.statuses]);
  if (filter.since !== undefined) query = query.where('runs.created_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('runs.created_at', '<', filter.until);
  if (filter.source !== undefined) query = query.where('runs.source', '=', filter.source);
  const { caseQueueId } = filter;
  if (caseQueueId !== undefined) {
    query = query.where('runs.case_id', 'in', (where) => where.selectFrom('cases').select('id').where('queue_id', '=', caseQueueId));
  }
  return query;
}
