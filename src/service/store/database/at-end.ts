/**
 * Writes that a transaction makes at its end. On a database that several processes change, rows that most transactions change, such as
 * totals, are locked only then: for a short time, and in one order. So transactions do not end each other with deadlocks, although each
 * of them has locked other rows before. With SQLite, whose transactions are serial, these writes happen immediately.
 */
import type { Queries } from './database.ts';
import { isShared } from './row-locks.ts';

/** A kind of such writes. */
export interface EndWrite<State> {
  /** Writes of a lower number come first. */
  readonly order: number;
  /** What there is to write, before anything was added to it. */
  readonly begin: () => State;
  /** Writes everything that was added. */
  readonly write: (trx: Queries, state: State) => Promise<void>;
}

/** The order of all kinds. The rows that they lock come after all others (row-locks.ts). */
export const endOrder = { runTotals: 1, events: 2 } as const;

type Pending = Map<EndWrite<unknown>, unknown>;

/** By the executor of the transaction. */
const pendingWrites = new WeakMap<object, Pending>();

/** Whether writes have to wait for the end of a transaction. */
export const waitsForEnd = (db: Queries): boolean => db.isTransaction && isShared(db);

/** What there is to write of a kind, to add to it. Only for a transaction for which `waitsForEnd`. */
export function atEnd<State>(trx: Queries, kind: EndWrite<State>): State {
  const executor = trx.getExecutor();
  const pending = pendingWrites.get(executor) ?? new Map();
  pendingWrites.set(executor, pending);
  const state = pending.has(kind as EndWrite<unknown>) ? (pending.get(kind as EndWrite<unknown>) as State) : kind.begin();
  pending.set(kind as EndWrite<unknown>, state);
  return state;
}

/** Makes the writes of a transaction that is about to be committed. */
export async function writeAtEnd(trx: Queries): Promise<void> {
  const pending = pendingWrites.get(trx.getExecutor());
  if (pending === undefined) return;
  const kinds = [...pending.keys()].sort((first, second) => first.order - second.order);
  for (const kind of kinds) await kind.write(trx, pending.get(kind));
}
