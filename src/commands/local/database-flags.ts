/** The flags for a Postgres database that several nodes share. */
import { UsageError } from '../../base/errors.ts';
import { readText } from '../../cli/input/body.ts';
import type { Context } from '../../cli/kit/context.ts';
import { integer, text } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

export const databaseOptions = {
  databaseUrl: text('URL', 'Use this Postgres database, which several nodes can share (default: $AOPS_DATABASE_URL, if it is set)', {
    check: withoutSecret,
  }),
} as const;

export const nodeOptions = {
  ...databaseOptions,
  databaseConnections: integer('N', 'Connections to the database that this node may use for queries (default: 10)', {
    minimum: 2,
    maximum: 1_000,
  }),
  secretKeyFile: text('FILE', 'With a database, the key for secrets, the same on all nodes (default: $AOPS_SECRET_KEY)', {
    complete: 'files',
  }),
  fileStore: text(
    'PLACE',
    'With a database, where files of runs are stored, the same on all nodes: database (the default), folder:PATH for a folder that all nodes share, or s3://BUCKET[/PREFIX]',
  ),
  nodeName: text('NAME', 'With a database, the name of this node (default: the name of the machine)', { check: nodeName }),
} as const;

export interface DatabaseInput {
  databaseUrl: string | undefined;
}

export interface NodeInput extends DatabaseInput {
  databaseConnections: number | undefined;
  secretKeyFile: string | undefined;
  fileStore: string | undefined;
  nodeName: string | undefined;
}

/** The parameters of the URL that libpq also reads from the environment, and these variables. */
const tlsVariables = { sslmode: 'PGSSLMODE', sslrootcert: 'PGSSLROOTCERT', sslcert: 'PGSSLCERT', sslkey: 'PGSSLKEY' } as const;

/**
 * The URL of the database; undefined for the one in the data directory. What the URL leaves out is taken from the variables of libpq.
 * @throws UsageError for a URL that is not valid
 */
export function databaseUrl({ env, terminal }: Context, { databaseUrl: argument }: DatabaseInput): string | undefined {
  const text = argument ?? (env.AOPS_DATABASE_URL || undefined);
  if (text === undefined) return undefined;
  const url = parsedUrl(text, argument === undefined ? 'AOPS_DATABASE_URL' : '--database-url');
  for (const [name, variable] of Object.entries(tlsVariables)) {
    const value = env[variable];
    if (value !== undefined && value !== '' && !url.searchParams.has(name)) url.searchParams.set(name, value);
  }
  if (url.password === '' && !url.searchParams.has('password') && env.PGPASSWORD) url.searchParams.set('password', env.PGPASSWORD);
  for (const secret of [decodeURIComponent(url.password), url.searchParams.get('password'), url.searchParams.get('sslpassword')])
    if (secret !== null && secret !== '') terminal.protect(secret);
  return url.href;
}

/**
 * The options for a service on the database; none for one with the database in its data directory.
 * @throws UsageError `secret_key_required`, `file_store_invalid`, and for options that need a database
 */
export async function nodeSettings(context: Context, input: NodeInput): Promise<Pick<ServiceOptions, 'database' | 'files'>> {
  const url = databaseUrl(context, input);
  if (url === undefined) {
    for (const [name, value] of Object.entries({
      '--database-connections': input.databaseConnections,
      '--secret-key-file': input.secretKeyFile,
      '--file-store': input.fileStore,
      '--node-name': input.nodeName,
    }))
      if (value !== undefined) throw new UsageError(`${name} needs a database: pass --database-url too, or set AOPS_DATABASE_URL.`);
    return {};
  }
  const { databaseConnections: maxConnections, nodeName, fileStore } = input;
  const { parseFileStore } = await import('../../service/service.ts');
  return {
    database: {
      ...{ url, secretKey: await secretKey(context, input) },
      ...(maxConnections === undefined ? {} : { maxConnections }),
      ...(nodeName === undefined ? {} : { nodeName }),
    },
    ...(fileStore === undefined ? {} : { files: parseFileStore(fileStore, { env: context.env, directory: context.cwd }) }),
  };
}

async function secretKey(context: Context, input: NodeInput): Promise<{ text: string; source: string }> {
  const key = await optionalSecretKey(context, input);
  if (key === undefined)
    throw new UsageError(
      'Nodes that share a database need the same key for secrets, such as the tokens of connections.',
      'Create one with `openssl rand -base64 32`, store it safely, and pass it to each node with --secret-key-file or AOPS_SECRET_KEY.',
      'secret_key_required',
    );
  return key;
}

/** The key for secrets from the file or the variable; undefined if none was passed. */
export async function optionalSecretKey(
  context: Context,
  { secretKeyFile: file }: Pick<NodeInput, 'secretKeyFile'>,
): Promise<{ text: string; source: string } | undefined> {
  const text = file === undefined ? context.env.AOPS_SECRET_KEY : await readText(context, file);
  if (text === undefined || text === '') return undefined;
  context.terminal.protect(text.trim());
  return { text, source: file ?? 'AOPS_SECRET_KEY' };
}

/** All users of a machine can read the arguments of its processes. */
function withoutSecret(value: string, name: string): string {
  const { password, searchParams } = parsedUrl(value, name);
  if (password === '' && !searchParams.has('password') && !searchParams.has('sslpassword')) return value;
  throw new UsageError(
    `${name} must not contain a password, because other users of this machine can read the arguments of a process.`,
    'Put the whole URL into AOPS_DATABASE_URL, or the password into PGPASSWORD or a password file (PGPASSFILE).',
    'secret_in_arguments',
  );
}

/** @throws UsageError that does not repeat the text, which may contain a password */
function parsedUrl(value: string, name: string): URL {
  // Without a host, which libpq permits, the URL of a user would not be valid.
  const text = value.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#]|$)/, '$1localhost');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^postgres(ql)?:$/.test(url.protocol)) return url;
  throw new UsageError(`${name} must be the URL of a Postgres database, such as postgres://aops@db.example.com/aops?sslmode=verify-full.`);
}

function nodeName(value: string, name: string): string {
  // Postgres cuts the names of connections off after 63 bytes.
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,57}$/.test(value)) return value;
  throw new UsageError(`${name} must consist of letters, digits, dots, dashes, and underscores, and have at most 58 characters.`);
}
