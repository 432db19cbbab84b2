/** Refuses backups of a shared database: Postgres has its own tools, and the data directory of a node contains none of the data. */
import { UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type DatabaseInput, databaseUrl } from './database-flags.ts';

const hints = {
  'backed up':
    'Run `pg_dump --format=custom --file=aops.dump --dbname=URL`. Then copy the files of runs, and store the key for secrets separately. docs/several-nodes.md explains it; `aops local export` moves a service elsewhere.',
  restored:
    'Run `createdb aops` and `pg_restore --dbname=URL aops.dump`, copy the files of runs back, and start the nodes with the same key for secrets.',
};

/**
 * @param input a data directory that was passed takes precedence over AOPS_DATABASE_URL
 * @throws UsageError `database_has_own_tools`
 */
export function refuseDatabase(
  context: Context,
  input: DatabaseInput & { dataDir: string | undefined },
  purpose: keyof typeof hints,
): void {
  if (input.databaseUrl === undefined && input.dataDir !== undefined) return;
  if (databaseUrl(context, input) === undefined) return;
  throw new UsageError(`A Postgres database is ${purpose} with its own tools.`, hints[purpose], 'database_has_own_tools');
}
