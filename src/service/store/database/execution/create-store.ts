/** Makes a store of a database that executes transactions. */
import type { Dialect, DialectAdapter, Driver, QueryCompiler } from 'kysely';
import type { KeyedSlots } from '../../../../base/slots.ts';
import type { Changes } from '../changes.ts';
import type { Queries, Store, UnitHooks, UnitOfWork } from '../database.ts';
import { type Access, type Connected, DirectDatabase } from './access.ts';
import { driverOf, type QueryRunner, storeAccess, type Transactions, UnitTransaction } from './drivers.ts';

/** A database that a store can be made of. */
export interface StoreParts<Open> {
  readonly transactions: Transactions<Open>;
  readonly dialect: Dialect;
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly changes: Changes;
  /** Limits reads that may take long, by team; undefined if these keep nobody waiting. */
  readonly slowReads?: KeyedSlots;
  /** Whether `changes` counts all changes, because no other process changes the database. */
  readonly isExclusive: boolean;
  /** Closes the database. */
  destroy(): Promise<void>;
}

export function createStore<Open>(parts: StoreParts<Open>): Store {
  const { transactions, changes, slowReads } = parts;
  const readSlowly: Store['readSlowly'] = (teamId, read) => (slowReads === undefined ? read() : slowReads.run(teamId, read));
  return Object.assign(
    databaseOf(parts, storeAccess(transactions), () => parts.destroy()),
    {
      changes,
      readSlowly,
      async atomically<Result>(work: (unit: UnitOfWork) => Promise<Result>, hooks: UnitHooks = {}): Promise<Result> {
        const transaction = new UnitTransaction(transactions, async (run) => hooks.begin?.(queriesOf(parts, run)), hooks.teamId);
        const effects: (() => void)[] = [];
        const undos: (() => Promise<void>)[] = [];
        const effectsOfUnit: Omit<UnitOfWork, 'store'> = {
          afterCommit: (act) => void effects.push(act),
          onRollback: (undo) => void undos.unshift(undo),
        };
        const store: Store = Object.assign(
          databaseOf(parts, transaction.access(), async () => undefined),
          {
            changes,
            readSlowly,
            atomically: <Result>(action: (unit: UnitOfWork) => Promise<Result>) => action({ store, ...effectsOfUnit }),
          },
        );
        let result: Result;
        try {
          result = await runAttempt(work({ store, ...effectsOfUnit }), transaction, hooks);
        } catch (error) {
          for (const undo of undos) await undo();
          throw error;
        }
        for (const act of effects) act();
        return result;
      },
    },
  );
}

/** Commits a transaction when its work is done, and rolls it back if the work fails. Rejects if nothing of it remains. */
async function runAttempt<Result, Open>(work: Promise<Result>, transaction: UnitTransaction<Open>, hooks: UnitHooks): Promise<Result> {
  let result: Result;
  try {
    result = await work;
  } catch (error) {
    await transaction.rollBack();
    throw error;
  }
  try {
    await transaction.commit();
  } catch (error) {
    if ((await hooks.wasCommitted?.(error)) !== true) throw error;
  }
  return result;
}

function databaseOf<Open>(parts: StoreParts<Open>, access: Access, destroy: () => Promise<void>): DirectDatabase {
  return new DirectDatabase(access, connectedBy(parts, driverOf(access, destroy)));
}

function connectedBy<Open>({ dialect, compiler, adapter, changes, isExclusive }: StoreParts<Open>, driver: Driver): Connected {
  return { dialect, compiler, adapter, driver, changes: isExclusive ? changes : undefined };
}

/** Queries of a transaction, which is neither committed nor rolled back by them. */
function queriesOf<Open>(parts: StoreParts<Open>, run: QueryRunner): Queries {
  const begin = async (): Promise<never> => Promise.reject(new Error('This is part of a transaction.'));
  return databaseOf(parts, { runSingle: run, begin }, async () => undefined);
}
