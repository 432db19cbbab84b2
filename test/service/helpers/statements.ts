/** The statements that databases of this process execute. */
import Libsql, { type Statement } from 'libsql';
import { vi } from 'vitest';
import { afterTest } from '../../support/temporary.ts';

export interface Statements {
  /** Called with each statement. */
  note: ((sql: string) => void) | undefined;
  /** A value of the latest database, read without noting it. */
  read(sql: string): unknown;
  /** How a query is executed. */
  plan(sql: string): string;
}

/** Notes the statements of the databases that are opened from now on. */
export function executedStatements(): Statements {
  let database: Libsql.Database | undefined;
  const listener: Statements = {
    note: undefined,
    plan(sql) {
      const statement = prepare.call(database as Libsql.Database, `explain query plan ${sql}`);
      const values = Array.from(sql.matchAll(/\?/g), () => null);
      return (statement.all(values) as { detail: string }[]).map(({ detail }) => detail).join('\n');
    },
    read: (sql) =>
      (
        prepare
          .call(database as Libsql.Database, sql)
          .raw(true)
          .get([]) as unknown[]
      )[0],
  };
  const { prepare } = Libsql.prototype;
  const spy = vi.spyOn(Libsql.prototype, 'prepare').mockImplementation(function (this: Libsql.Database, text: string) {
    database = this;
    const statement = prepare.call(this, text) as Record<'run' | 'get' | 'all', (...values: unknown[]) => unknown>;
    for (const name of ['run', 'get', 'all'] as const) {
      const execute = statement[name].bind(statement);
      statement[name] = (...values: unknown[]) => {
        listener.note?.(text);
        return execute(...values);
      };
    }
    return statement as Statement;
  });
  afterTest(async () => spy.mockRestore());
  return listener;
}
