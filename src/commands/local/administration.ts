/** Commands of the owner: for the service of the profile, or directly on a database that several nodes share. */
import { UsageError } from '../../base/errors.ts';
import { newClient } from '../../cli/connect/connection.ts';
import { networkTo } from '../../cli/connect/network.ts';
import type { Context } from '../../cli/kit/context.ts';
import { RowList } from '../../cli/kit/list.ts';
import { bearerCredential } from '../../client/access/credential.ts';
import type { Administration } from '../../service/service.ts';
import { type DatabaseInput, databaseUrl } from './database-flags.ts';

/** What a command of the owner works with. */
export interface Administered {
  /** Its client leads to the service of the profile, or to the database. */
  readonly context: Context;
  /** Where other clients reach the service. @throws UsageError if it is not known, because no node is running */
  serviceUrl(): Promise<string>;
}

/**
 * Runs the rest of a command on the database from --database-url or AOPS_DATABASE_URL, or else on the service of the profile. A profile
 * that was passed takes precedence over the variable.
 */
export async function administered<Result>(
  context: Context,
  input: DatabaseInput,
  work: (administered: Administered) => Promise<Result>,
): Promise<Result> {
  const url = requestedDatabase(context, input);
  if (url === undefined) return work({ context, serviceUrl: async () => (await context.client()).baseUrl });
  const administration = await openAdministration(context, url);
  try {
    return await onDatabase(context, administration, work);
  } finally {
    await administration.close();
  }
}

/** The URL of the database that a command is about; undefined for the service of the profile. */
export const requestedDatabase = (context: Context, input: DatabaseInput): string | undefined =>
  context.flags.profile !== undefined && input.databaseUrl === undefined ? undefined : databaseUrl(context, input);

/** Opens the database for the operations of the owner. The caller closes it. */
export async function openAdministration(context: Context, url: string): Promise<Administration> {
  const { startAdministration } = await import('../../service/service.ts');
  return startAdministration({ url, publicUrl: context.flags.baseUrl });
}

async function onDatabase<Result>(
  context: Context,
  { url, token, publicUrl }: Administration,
  work: (administered: Administered) => Promise<Result>,
): Promise<Result> {
  context.terminal.protect(token);
  const network = await networkTo(context, { urls: [url], isStored: true });
  const client = await newClient(context, url, bearerCredential(token), network);
  const serviceUrl = async (): Promise<string> => {
    if (publicUrl !== undefined) return publicUrl;
    throw new UsageError(
      'No node is running on the database, so the address of the service is not known.',
      'Pass it with --base-url URL, or start a node with `aops serve` first.',
    );
  };
  try {
    const result = await work({ context: { ...context, client: async () => client }, serviceUrl });
    // The rows are printed after the client was closed.
    return result instanceof RowList ? ((await result.load()) as Result) : result;
  } finally {
    await client.close();
  }
}
