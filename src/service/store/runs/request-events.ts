/** New and settled human requests and reminders of them, numbered 1, 2, 3 ... in each team. */
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { HumanRequestRow } from '../database/schema.ts';

/** A change of a request, with its current state and the parts of its run that a list shows. */
export interface RequestChange {
  number: number;
  change: 'asked' | 'settled' | 'reminded';
  row: HumanRequestRow & { run_title: string; run_number: number; agent_id: string; agent_name: string };
}

/** How many changes are read at a time; fewer if they are large. */
const maxRows = 100;

/** Records a change, in the transaction that makes it. The team's row is locked until its end, so numbers are committed in order. */
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

/** The number of the latest change in a team; 0 before the first one. */
export const lastRequestEvent = async (db: Queries, teamId: string): Promise<number> =>
  Number((await last.first(db, { teamId }))?.number ?? 0);

const last = preparedQuery((db, { teamId }: { teamId: string }) =>
  db.selectFrom('teams').select('last_request_event as number').where('id', '=', teamId),
);

/** Changes of a team after a number, oldest first: as many as fit on a page (see `fittingCount`). */
export async function requestChanges(db: Queries, teamId: string, after: number): Promise<RequestChange[]> {
  const sizes = await changeSizes.all(db, { teamId, after, limit: maxRows });
  return sizes.length === 0 ? [] : (await changeRows.all(db, { teamId, after, limit: pageOf(sizes) })).map(asChange);
}

/** Pending requests whose number is in a range, oldest first: as many as fit on a page. */
export async function pendingAfter(db: Queries, teamId: string, range: { after: number; upTo: number }): Promise<RequestChange[]> {
  const sizes = await pendingSizes.all(db, { teamId, ...range, limit: maxRows });
  return sizes.length === 0 ? [] : (await pendingRows.all(db, { teamId, ...range, limit: pageOf(sizes) })).map(asChange);
}

const asChange = ({ number, change, ...row }: RequestChange['row'] & Pick<RequestChange, 'number' | 'change'>): RequestChange => ({
  number,
  change,
  row,
});
const pageOf = (sizes: readonly { bytes: number }[]): number => fittingCount(sizes.map(({ bytes }) => bytes));

interface Range {
  teamId: string;
  after: number;
  limit: number;
}

const bytes = () => bytesOf('human_requests.title', 'human_requests.description', 'human_requests.questions').as('bytes');

const changes = (db: Queries, { teamId, after, limit }: Range) =>
  db
    .selectFrom('request_events')
    .innerJoin('human_requests', 'human_requests.id', 'request_events.request_id')
    .innerJoin('runs', 'runs.id', 'request_events.run_id')
    .innerJoin('agents', 'agents.id', 'runs.agent_id')
    .where('request_events.team_id', '=', teamId)
    .where('request_events.number', '>', after)
    .orderBy('request_events.number')
    .limit(limit);

/**
 * Begins with the pending requests, which are always few. In SQLite, the cross join fixes the order of the tables, the literal status
 * selects the index of pending requests, and the sum prevents a scan of all numbers of the team.
 */
const pending = (db: Queries, { teamId, after, upTo, limit }: Range & { upTo: number }) =>
  db
    .selectFrom('human_requests')
    .crossJoin('request_events')
    .innerJoin('runs', 'runs.id', 'request_events.run_id')
    .innerJoin('agents', 'agents.id', 'runs.agent_id')
    .whereRef('request_events.request_id', '=', 'human_requests.id')
    .where('request_events.change', '=', 'asked')
    .where('runs.team_id', '=', teamId)
    .where(sql<boolean>`human_requests.status = 'pending'`)
    .where(sql<boolean>`request_events.number + 0 > ${after}`)
    .where(sql<boolean>`request_events.number + 0 <= ${upTo}`)
    .orderBy('request_events.number')
    .limit(limit);

const columns = [
  'request_events.number',
  'request_events.change',
  'runs.title as run_title',
  'runs.run_number',
  'runs.agent_id',
  'agents.name as agent_name',
] as const;

const changeSizes = preparedQuery((db, range: Range) => changes(db, range).select(bytes()));
const changeRows = preparedQuery((db, range: Range) => changes(db, range).selectAll('human_requests').select(columns));
const pendingSizes = preparedQuery((db, range: Range & { upTo: number }) => pending(db, range).select(bytes()));
const pendingRows = preparedQuery((db, range: Range & { upTo: number }) => pending(db, range).selectAll('human_requests').select(columns));
