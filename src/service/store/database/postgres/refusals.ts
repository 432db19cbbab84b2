/** Why a database cannot be opened, in words that say what to do. */
import { isIP } from 'node:net';
import { AopsError, type ExitCode, exitCodes, UsageError } from '../../../../base/errors.ts';
import type { DatabaseAddress } from './address.ts';
import { queryError, stateOf } from './errors.ts';

interface Refusal {
  code: string;
  message: string;
  hint: string;
  exit?: ExitCode;
}

/** What the driver reports if the server answers that it does not use TLS. */
export const isWithoutTls = (error: unknown): boolean => rootOf(error).message === 'The server does not support SSL connections';

/** Converts an error of the first query on a database. */
export function openingFailure(error: unknown, address: DatabaseAddress): AopsError {
  if (error instanceof AopsError) return error;
  const cause = rootOf(error);
  if (isOfPooler(cause)) return poolerRefusal('it does not accept the limits of a session');
  const { hint, code, message, exit = exitCodes.unavailable } = refusalOf(cause, address);
  return new AopsError(message, { code, exit, hint, cause });
}

/** The error for a database that could be reached but does not fit. */
export const unsuitable = (message: string, hint: string): AopsError => new UsageError(message, hint, 'database_unsuitable');

/** The error for a pooler between this process and the database that does not keep sessions. */
export const poolerRefusal = (evidence: string): AopsError =>
  new UsageError(
    `There is a pooler between this process and the database that does not keep a session for each client: ${evidence}.`,
    'Use the address of the database itself; "Poolers" in docs/several-nodes.md says how PgBouncer has to be configured otherwise.',
    'database_pooler_unsuitable',
  );

/** PgBouncer refuses the limits of a session unless it is configured to ignore them, and then they would not be in force. */
const isOfPooler = ({ message }: Error): boolean => message.includes('unsupported startup parameter');

function refusalOf(cause: Error, address: DatabaseAddress): Refusal {
  return networkRefusal(cause, address) ?? tlsRefusal(cause, address) ?? serverRefusal(cause, address) ?? otherRefusal(cause, address);
}

function networkRefusal(cause: Error, { host, port, inWords }: DatabaseAddress): Refusal | undefined {
  const code = 'database_unreachable';
  switch (stateOf(cause)) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        code,
        message: `The host ${host} of the database is not known.`,
        hint: 'Check the host in the URL, and the name servers of this machine.',
      };
    case 'ECONNREFUSED':
      return {
        ...{ code, message: `Nothing accepts connections at ${host}, port ${port}.` },
        hint: 'Check the port in the URL, whether the server is running, and its listen_addresses.',
      };
    case 'ENOENT':
      return {
        code,
        message: `There is no socket of a database in ${host} for port ${port}.`,
        hint: 'Check the folder and the port in the URL.',
      };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return unanswered(inWords);
  }
  return /timeout/i.test(cause.message) && !('severity' in cause) ? unanswered(inWords) : undefined;
}

const unanswered = (inWords: string): Refusal => ({
  ...{ code: 'database_unreachable', message: `The database at ${inWords} does not answer.` },
  hint: 'Check the host and the port in the URL, and the firewalls between this machine and the database.',
});

function tlsRefusal(cause: Error, { host, isLocal }: DatabaseAddress): Refusal | undefined {
  const code = 'database_tls_failed';
  const state = stateOf(cause);
  if (isWithoutTls(cause))
    return {
      ...{ code, message: `The database at ${host} does not use TLS.` },
      hint: isLocal
        ? 'Turn TLS on in the server (ssl = on), or use sslmode=disable, because the connection does not leave this machine.'
        : 'Turn TLS on in the server (ssl = on). With sslmode=disable, everybody on the network could read the data.',
    };
  if (state === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      ...{ code, message: `The certificate of the database is not for ${host}.` },
      hint: `Use the name in the certificate as the host of the URL${isIP(host) === 0 ? '' : ' instead of an address'}, or sslmode=verify-ca with its certificate authority in sslrootcert.`,
    };
  if (state === 'CERT_HAS_EXPIRED')
    return { code, message: 'The certificate of the database has expired.', hint: 'Renew it on the server, and reload the server.' };
  if (/^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_)/.test(state))
    return {
      ...{ code, message: `The certificate of the database is not from a trusted authority (${state}).` },
      hint: 'Name the file with the certificate of its authority: sslrootcert=FILE in the URL.',
    };
  if (/^ERR_(TLS|SSL|OSSL)_|^EPROTO$/.test(state))
    return {
      ...{ code, message: `The TLS connection to the database failed (${state}).` },
      hint: 'Check sslcert, sslkey, and sslrootcert in the URL, and the certificate of the server.',
    };
  return undefined;
}

const passwordHint = 'Set PGPASSWORD, name a password file with PGPASSFILE, or put the whole URL into AOPS_DATABASE_URL.';

function serverRefusal(cause: Error, { database }: DatabaseAddress): Refusal | undefined {
  const state = stateOf(cause);
  if (/client password must be a/.test(cause.message))
    return { code: 'database_access_denied', message: 'The database requires a password, and none was specified.', hint: passwordHint };
  if (state === '28P01')
    return { code: 'database_access_denied', message: 'The database did not accept the user and the password.', hint: passwordHint };
  if (state === '28000')
    return {
      ...{ code: 'database_access_denied', message: `The database does not accept this user from this machine: ${cause.message}.` },
      hint: /no encryption|SSL off/.test(cause.message)
        ? 'It may accept only encrypted connections: add sslmode=require to the URL. Otherwise allow the user in its pg_hba.conf.'
        : 'Allow the user, the database, and the address of this machine in pg_hba.conf of the server.',
    };
  if (state === '3D000')
    return {
      ...{ code: 'database_missing', message: `The server has no database "${database}".`, exit: exitCodes.notFound },
      hint: `Create it with \`createdb ${database || 'aops'}\`, or correct the name at the end of the URL.`,
    };
  if (state === '42501')
    return {
      ...{ code: 'database_access_denied', message: `The user of the database lacks a permission: ${cause.message}.` },
      hint: 'Let it own the database: `ALTER DATABASE name OWNER TO user`.',
    };
  if (state === '53300')
    return {
      ...{ code: 'database_connections_too_few', message: 'All connections of the database are in use.', exit: exitCodes.conflict },
      hint: 'Raise max_connections of the database, or use fewer connections in each node with --database-connections.',
    };
  if (state === '57P03')
    return { code: 'database_unreachable', message: 'The database is starting or stopping.', hint: 'Try again when it is ready.' };
  return undefined;
}

const otherRefusal = (cause: Error, { inWords }: DatabaseAddress): Refusal => ({
  ...{ code: 'database_unreachable', message: `The database at ${inWords} cannot be used: ${cause.message}.` },
  hint: 'Check the URL, and that the database accepts connections from this machine.',
});

/** The error of the driver or the server. */
function rootOf(error: unknown): Error {
  const { cause = error } = queryError(error) as Error;
  return cause instanceof Error ? cause : new Error(String(cause));
}
