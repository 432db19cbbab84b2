/** What was asked of people, and what is settled, numbered 1, 2, 3 ... in each team. */
import { sql } from 'kysely';
import type { Queries } from './database.ts';
import { prepared } from './prepared.ts';
import type { HumanRequestRow } from './schema.ts';

/** A change of a request, with the request as it is now and what a list shows of its run. */
export interface RequestChange {
  number: number;
  change: 'asked' | 'settled';
  row: HumanRequestRow & { run_title: string; run_number: number; agent_id: string; agent_name: string };
}

/** Changes that are read at once. */
const page = 100;

/** Notes a change, in the transaction that makes it. The team's row is locked until then, so numbers are committed in order. */
export async function noteRequestChange(
  trx: Queries,
  { id, run_id }: Pick<HumanRequestRow, 'id' | 'run_id'>,
  change: RequestChange['change'],
): Promise<void> {
  const team = await trx
    .updateTable('teams')
    .set((set) => ({ last_request_event: set('last_request_event', '+', 1) }))
    .where('id', '=', (select) => select.selectFrom('runs').select('team_id').where('runs.id', '=', run_id))
    .returning(['id', 'last_request_event'])
    .executeTakeFirstOrThrow();
  await trx
    .insertInto('request_events')
    .values({ team_id: team.id, number: team.last_request_event, run_id, request_id: id, change })
    .execute();
}

/** Number of the latest change in a team; 0 before there is one. */
export const lastRequestEvent = async (db: Queries, teamId: string): Promise<number> =>
  Number((await last.first(db, { teamId }))?.number ?? 0);

const last = prepared((db, { teamId }: { teamId: string }) =>
  db.selectFrom('teams').select('last_request_event as number').where('id', '=', teamId),
);

/** Changes of a team after a number, oldest first. */
export async function requestChanges(db: Queries, teamId: string, after: number): Promise<RequestChange[]> {
  const rows = await changesAfter.all(db, { teamId, after });
  return rows.map(({ number, change, ...row }) => ({ number, change, row }));
}

const changesAfter = prepared((db, { teamId, after }: { teamId: string; after: number }) =>
  shown(db)
    .where('request_events.team_id', '=', teamId)
    .where('request_events.number', '>', after)
    .orderBy('request_events.number')
    .limit(page),
);

/** Requests that are pending now and were asked with a number in a range, oldest first. */
export async function pendingAfter(
  db: Queries,
  teamId: string,
  { after, upTo }: { after: number; upTo: number },
): Promise<RequestChange[]> {
  const rows = await pending.all(db, { teamId, after, upTo });
  return rows.map(({ number, change, ...row }) => ({ number, change, row }));
}

const pending = prepared((db, { teamId, after, upTo }: { teamId: string; after: number; upTo: number }) =>
  shown(db)
    .where('request_events.team_id', '=', teamId)
    .where('request_events.number', '>', after)
    .where('request_events.number', '<=', upTo)
    .where('request_events.change', '=', 'asked')
    // Spelled out: only then does SQLite use the index of pending requests, of which there are few.
    .where(sql<boolean>`human_requests.status = 'pending'`)
    .orderBy('request_events.number')
    .limit(page),
);

const shown = (db: Queries) =>
  db
    .selectFrom('request_events')
    .innerJoin('human_requests', 'human_requests.id', 'request_events.request_id')
    .innerJoin('runs', 'runs.id', 'request_events.run_id')
    .innerJoin('agents', 'agents.id', 'runs.agent_id')
    .selectAll('human_requests')
    .select(['request_events.number', 'request_events.change', 'runs.title as run_title', 'runs.run_number', 'runs.agent_id'])
    .select('agents.name as agent_name');
