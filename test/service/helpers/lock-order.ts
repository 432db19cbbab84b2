/** In which order transactions on Postgres lock rows (src/service/store/database/row-locks.ts). */
import { vi } from 'vitest';
import { type OpenTransaction, PostgresTransactions } from '../../../src/service/store/database/postgres/transactions.ts';
import type { HintedQuery } from '../../../src/service/store/database/prepared.ts';
import { jobKinds } from '../../../src/service/store/jobs/kinds.ts';
import { afterTest } from '../../support/temporary.ts';

/** The job of a run, which is locked with it. */
const jobOfRun = 'its job';
/** Tables, each followed by the jobs that are about it. The jobs of a run that are not listed are only locked after the run itself. */
const order = [
  ...['teams', 'runs', jobOfRun, 'remind', 'agents', 'schedules', 'schedule', 'queues', 'cases', 'dispatch_cases'],
  ...['artifacts', 'artifact', 'refresh_artifact', 'builder_runs', 'builder_run', 'sandboxes', 'push', 'deliver'],
];
/** What a job is about is locked before the job that makes sure that it is still its own. */
const subjects = ['teams', 'runs', 'artifacts', 'schedules', 'builder_runs'];
const ownJob = 'own job';
const kinds: readonly unknown[] = Object.values(jobKinds);

/** Whether a statement does not wait for locks of others. */
const isImmediate = ({ sql }: HintedQuery): boolean => sql.endsWith(' skip locked');

/** What a statement locks. */
function lockedBy({ sql, parameters }: HintedQuery, insertedIds: ReadonlySet<unknown>): string[] {
  const changed = /^(?:update|delete from) "(\w+)"|^insert into "(jobs)" .* on conflict/.exec(sql);
  const selected = / for (?:no key )?update(?: skip locked)?$/.test(sql)
    ? /^select .*? from ((?:"\w+"(?:, )?)+)/.exec(sql)?.[1]
    : undefined;
  const tables = changed === null ? [...(selected?.matchAll(/\w+/g) ?? [])].map(([name]) => name) : [changed[1] ?? changed[2]];
  // Nobody else can see rows that the transaction has inserted.
  const ids = parameters.filter((value) => typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value));
  const isOwn = (id: unknown): boolean => insertedIds.has(id);
  if (changed?.[2] === undefined ? ids.length > 0 && ids.every(isOwn) : ids.some(isOwn)) return [];
  return tables.map((table) =>
    table === 'jobs'
      ? String(parameters.find((value) => kinds.includes(value)) ?? (tables.includes('runs') ? jobOfRun : ownJob))
      : (table as string),
  );
}

/** The IDs of rows that a statement inserts, apart from jobs: these may exist already. */
function idsInsertedBy({ sql, parameters }: HintedQuery): unknown[] {
  const columns = /^insert into "(?!jobs")\w+" \(([^)]*)\)/.exec(sql)?.[1]?.split(', ') ?? [];
  return parameters.filter((_, index) => columns[index % columns.length] === '"id"');
}

const { run } = PostgresTransactions.prototype;

/** Watches the transactions from now on. Returns what was locked too late, each with the statement and what was locked before. */
export function lateLocks(): ReadonlySet<string> {
  const late = new Set<string>();
  const transactions = new WeakMap<OpenTransaction, { locked: string[]; insertedIds: Set<unknown> }>();
  const spy = vi.spyOn(PostgresTransactions.prototype, 'run').mockImplementation(function (this: PostgresTransactions, transaction, query) {
    const { locked, insertedIds } = transactions.get(transaction) ?? { locked: [], insertedIds: new Set() };
    transactions.set(transaction, { locked, insertedIds });
    for (const id of idsInsertedBy(query)) insertedIds.add(id);
    for (const table of lockedBy(query, insertedIds)) {
      if (locked.includes(table)) continue;
      const isAfter = (earlier: string): boolean =>
        earlier === ownJob ? subjects.includes(table) : order.includes(table) && order.indexOf(earlier) > order.indexOf(table);
      if (!isImmediate(query) && locked.some(isAfter)) late.add(`${table} after ${locked.join(', ')}: ${query.sql}`);
      locked.push(table);
    }
    return run.call(this, transaction, query);
  });
  afterTest(async () => spy.mockRestore());
  return late;
}
