/** Transactions that are executed twice, as after a deadlock. */
import type { Queries, Store } from '../../../src/service/store/database/database.ts';

/**
 * A store whose transactions are executed twice: the first execution is taken back.
 * @param between is called before the second execution of each transaction
 */
export function repeating(store: Store, between: () => Promise<void> = async () => undefined): Store {
  const isTakenBack = new Error('taken back');
  const execute = async <Result>(work: (trx: Queries) => Promise<Result>): Promise<Result> => {
    const first = store.transaction().execute(async (trx) => {
      await work(trx);
      throw isTakenBack;
    });
    await first.catch((error: unknown) => {
      if (error !== isTakenBack) throw error;
    });
    await between();
    return store.transaction().execute(work);
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'transaction') return () => ({ execute });
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
