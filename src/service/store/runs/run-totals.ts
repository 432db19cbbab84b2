/**
 * The number of runs of each team, agent, status and source, updated with every change of a run: counting the runs themselves takes
 * longer the more there are, and every page of a list contains the total.
 */
import type { RunStatus } from '../../../interface/types.ts';
import { atEnd, type EndWrite, endOrder, waitsForEnd } from '../database/at-end.ts';
import type { Queries } from '../database/database.ts';
import { namesOf, preparedQuery } from '../database/prepared.ts';
import type { RunRow } from '../database/schema.ts';

type RunGroup = Pick<RunRow, 'team_id' | 'agent_id' | 'source'> & { status: RunStatus };

/** How many runs are added to a group, or with a negative number removed from it. */
type GroupChange = RunGroup & { runs: number };

const groupColumns = ['team_id', 'agent_id', 'source', 'status', 'runs'] as const;

/** One statement, which locks the rows of the groups in this order. */
async function add(trx: Queries, changes: readonly GroupChange[]): Promise<void> {
  const values: Record<string, unknown> = {};
  for (const [index, change] of changes.entries()) for (const column of groupColumns) values[`${column}${index}`] = change[column];
  await addQuery.send(trx, values);
}

/** The values have the names of the columns, followed by the number of the group. */
const addQuery = preparedQuery(
  (db, parameters: Record<string, unknown>, values) =>
    db
      .insertInto('run_totals')
      .values(
        Array.from({ length: countOf(values) }, (_, index) =>
          Object.fromEntries(groupColumns.map((column) => [column, parameters[`${column}${index}`]])),
        ) as GroupChange[],
      )
      .onConflict((conflict) =>
        conflict
          .columns(['team_id', 'agent_id', 'status', 'source'])
          .doUpdateSet((set) => ({ runs: set('run_totals.runs', '+', set.ref('excluded.runs')) })),
      ),
  (values) => String(countOf(values)),
);

const countOf = (values: object): number => Object.keys(values).length / groupColumns.length;

/** How many groups one statement changes at most: each number of groups is a statement of its own. */
const maxGroups = 8;

/** How the totals change, by group, until the transaction ends: most transactions change them. */
const atEndOfTransaction: EndWrite<Map<string, GroupChange>> = {
  order: endOrder.runTotals,
  begin: () => new Map(),
  async write(trx, groups) {
    const sorted = [...groups].sort(([first], [second]) => (first < second ? -1 : 1)).map(([, change]) => change);
    const changes = sorted.filter(({ runs }) => runs !== 0);
    for (let start = 0; start < changes.length; start += maxGroups) await add(trx, changes.slice(start, start + maxGroups));
  },
};

function addAtEnd(trx: Queries, { team_id, agent_id, status, source }: RunGroup, runs: number): void {
  const changes = atEnd(trx, atEndOfTransaction);
  const key = JSON.stringify([team_id, agent_id, status, source]);
  changes.set(key, { team_id, agent_id, status, source, runs: (changes.get(key)?.runs ?? 0) + runs });
}

/** Counts new runs, or with a negative number removed ones. Call it in the transaction of the change. */
export async function addToTotals(trx: Queries, { team_id, agent_id, source, status }: RunGroup, runs: number): Promise<void> {
  if (waitsForEnd(trx)) addAtEnd(trx, { team_id, agent_id, source, status }, runs);
  else await add(trx, [{ team_id, agent_id, source, status, runs }]);
}

/** Counts a run whose status has changed. Call it in the transaction of the change. */
export async function moveInTotals(trx: Queries, run: RunGroup, from: RunStatus): Promise<void> {
  if (from === run.status) return;
  const { team_id, agent_id, source, status } = run;
  const changes = [
    { team_id, agent_id, source, status: from, runs: -1 },
    { team_id, agent_id, source, status, runs: 1 },
  ];
  if (waitsForEnd(trx)) for (const change of changes) addAtEnd(trx, change, change.runs);
  else await add(trx, changes);
}

/** How many runs match all of the filters. */
export async function sumTotals(
  db: Queries,
  { teamId, agentId, source, statuses }: { teamId: string; agentId?: string; statuses?: readonly RunStatus[]; source?: string },
): Promise<number> {
  const rows = await totals.all(db, { teamId, agentId, source });
  let sum = 0;
  for (const { status, runs } of rows) if (statuses === undefined || statuses.includes(status)) sum += Number(runs);
  return sum;
}

const totals = preparedQuery(
  (db, { teamId, agentId, source }: { teamId: string; agentId: string | undefined; source: string | undefined }, values) => {
    let query = db.selectFrom('run_totals').where('team_id', '=', teamId);
    if (values.agentId !== undefined) query = query.where('agent_id', '=', agentId as string);
    if (values.source !== undefined) query = query.where('source', '=', source as string);
    return query.select((select) => ['status', select.fn.sum<number>('runs').as('runs')]).groupBy('status');
  },
  (values) => namesOf(values).join(),
);

/** All totals of a team as one text, which changes when a run is added, removed, or changes its status. */
export async function totalsOfTeam(db: Queries, teamId: string): Promise<string> {
  return JSON.stringify(await ofTeam.all(db, { teamId }));
}

const ofTeam = preparedQuery((db, { teamId }: { teamId: string }) =>
  db
    .selectFrom('run_totals')
    .select(['agent_id', 'status', 'source', 'runs'])
    .where('team_id', '=', teamId)
    .orderBy('agent_id')
    .orderBy('status')
    .orderBy('source'),
);
