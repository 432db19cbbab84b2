/** Shared by tokens and OAuth clients of the local service: the flags that describe one, and how it is displayed. */
import { parseDuration } from '../../base/duration.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isUuid, length } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, choices, duration } from '../../cli/kit/flags.ts';
import { type RowList, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, time, timeColumn } from '../../cli/kit/output.ts';
import { pagedRows } from '../../client/paging.ts';
import { scopes } from '../../interface/scopes.ts';
import type { Body, LocalCredential } from '../../interface/types.ts';
import { allTeams, requireTeam } from './teams.ts';

export type Managed = 'token' | 'client';

const operations = {
  token: { list: 'listLocalTokens', rows: 'tokens' },
  client: { list: 'listLocalClients', rows: 'clients' },
} as const;

export const credentialArguments = { name: argument('A name that says what it is for', { check: length(1, 100) }) };

export const credentialOptions = {
  scope: choices(scopes, 'SCOPE', 'What it can do (default: everything in its team)'),
  expires: duration('Expire after this time (default: never)'),
};

interface CredentialInput {
  name: string;
  scope: readonly (typeof scopes)[number][];
  expires: string | undefined;
}

/** The body of a create operation. The team is the one from `--team`, by ID or name, or else that of the owner. */
export async function newCredential(context: Context, { name, scope, expires }: CredentialInput): Promise<Body<'createLocalToken'>> {
  const seconds = expires === undefined ? undefined : Math.ceil((parseDuration(expires) ?? 0) / 1_000);
  if (seconds === 0) throw new UsageError('--expires must be at least one second.');
  const team = context.flags.team;
  return {
    name,
    ...(team === undefined ? {} : { team_id: isUuid(team) ? team.toLowerCase() : (await requireTeam(context, team)).id }),
    ...(scope.length === 0 ? {} : { scopes: [...new Set(scope)] }),
    ...(seconds === undefined ? {} : { expires_in_seconds: seconds }),
  };
}

export const scopeWords = (scopes: readonly string[] | null): string => scopes?.join(' ') ?? 'full access';

export const credentialRecord = (row: LocalCredential) => ({
  ID: row.id,
  Name: row.name,
  Team: row.team_id,
  Scopes: scopeWords(row.scopes),
  Expires: row.expires_at === null ? 'never' : time(row.expires_at),
});

/** A credential with the name of its team. */
export type CredentialListRow = LocalCredential & { team: string };

export const credentialListOutput = (empty: string) =>
  listOutput<CredentialListRow>({
    columns: [
      idColumn((row) => row.id),
      column('NAME', (row) => row.name, { shrink: true }),
      column('TEAM', (row) => row.team, { shrink: true }),
      column('SCOPES', (row) => scopeWords(row.scopes), { shrink: true }),
      timeColumn('EXPIRES', (row) => row.expires_at),
    ],
    empty,
  });

interface ListInput {
  limit?: number | undefined;
  offset?: number | undefined;
  all?: boolean;
}

/** The credentials of a kind, of all teams or of the one from `--team`. */
export async function listCredentials(context: Context, kind: Managed, input: ListInput): Promise<RowList<CredentialListRow>> {
  const client = await context.client();
  const teams = new Map((await allTeams(context)).map(({ id, name }) => [id, name]));
  const team = context.flags.team === undefined ? {} : { team_id: (await requireTeam(context, context.flags.team)).id };
  return rowList(input, async (limit, offset) => {
    const page = await fetchPage(client, kind, { limit, offset, ...team });
    return { items: page.items.map((row) => ({ ...row, team: teams.get(row.team_id) ?? row.team_id })), total: page.total };
  });
}

/** The credential with this ID or name. @throws AopsError `token_not_found` or `client_not_found`, UsageError when several have this name */
export async function requireCredentialNamed(context: Context, kind: Managed, idOrName: string): Promise<LocalCredential> {
  const client = await context.client();
  const id = isUuid(idOrName) ? idOrName.toLowerCase() : undefined;
  const credentials: LocalCredential[] = [];
  for await (const row of pagedRows((limit, offset) => fetchPage(client, kind, { limit, offset }), 100))
    if (id === undefined ? row.name === idOrName : row.id === id) credentials.push(row);
  if (credentials.length === 1) return credentials[0] as LocalCredential;
  const ids = credentials.map(({ id }) => id).join(', ');
  if (credentials.length > 1)
    throw new UsageError(`There are ${credentials.length} ${operations[kind].rows} named "${idOrName}".`, `Specify the ID of one: ${ids}`);
  throw new AopsError(`There is no ${kind} "${idOrName}".`, {
    code: `${kind}_not_found`,
    exit: exitCodes.notFound,
    hint: `List the ${operations[kind].rows} with \`aops local ${kind} list\`.`,
  });
}

async function fetchPage(
  client: Awaited<ReturnType<Context['client']>>,
  kind: Managed,
  query: { limit: number; offset: number; team_id?: string },
): Promise<{ items: LocalCredential[]; total: number }> {
  if (kind === 'token') {
    const { tokens, total } = await client.call('listLocalTokens', { query });
    return { items: tokens, total };
  }
  const { clients, total } = await client.call('listLocalClients', { query });
  return { items: clients, total };
}
