/**
 * The URL of a Postgres database: where it is, and how its connections are encrypted. The parameters for TLS have the meaning that
 * libpq gives them (https://www.postgresql.org/docs/current/libpq-ssl.html). The driver gives some of them another one, so it does not
 * get to see them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { UsageError } from '../../../../base/errors.ts';
import { readFailure } from '../../../../base/read-failure.ts';

export interface DatabaseAddress {
  /** For the driver: the URL without the parameters for TLS. */
  readonly connectionString: string;
  /** The ways to connect, in the order in which they are tried; false stands for a connection without TLS. */
  readonly encryption: readonly (TlsOptions | false)[];
  /** A name or address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** `host:port/database`, without the user and the password. */
  readonly inWords: string;
  /** Whether the connections stay on this machine. */
  readonly isLocal: boolean;
}

const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'ssl'] as const;
const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof modes)[number];

const defaultPort = 5_432;

/**
 * Reads the URL of a database, and the files for TLS that it names.
 * @throws UsageError `database_url_invalid`, AopsError `not_readable`
 */
export function databaseAddress(text: string): DatabaseAddress {
  const url = parsed(text);
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.searchParams.get('port') || url.port || defaultPort);
  if (host.includes(',')) throw invalid('The URL of the database names several hosts.', 'Specify the one that accepts changes.');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw invalid('The port in the URL of the database is not valid.');
  const database = decodeURIComponent(url.pathname.slice(1));
  const isSocket = host.startsWith('/');
  const encryption = isSocket ? [false as const] : encryptionOf(url.searchParams);
  for (const name of tlsParameters) url.searchParams.delete(name);
  return {
    ...{ connectionString: url.href, encryption, host, port, database },
    inWords: isSocket ? `${host}/${database}` : `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`,
    isLocal: isSocket || host === '' || host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host),
  };
}

function parsed(text: string): URL {
  // Without a host, which libpq permits, the URL of a user would not be valid.
  const complete = text.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#]|$)/, '$1localhost');
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url !== undefined && /^postgres(ql)?:$/.test(url.protocol)) return url;
  // The text itself may contain a password.
  throw invalid('The URL of the database is not valid.');
}

function encryptionOf(parameters: URLSearchParams): readonly (TlsOptions | false)[] {
  const mode = (parameters.get('sslmode') ?? 'prefer') as Mode;
  if (!modes.includes(mode)) throw invalid('The sslmode of the database is not valid.', `Use one of these values: ${modes.join(', ')}.`);
  if (mode === 'disable') return [false];
  const { key, cert, ca } = {
    key: fileOf(parameters, 'sslkey'),
    cert: fileOf(parameters, 'sslcert'),
    ca: parameters.get('sslrootcert') === 'system' ? undefined : fileOf(parameters, 'sslrootcert'),
  };
  if ((key === undefined) !== (cert === undefined)) throw invalid('sslcert and sslkey must be used together.');
  const passphrase = parameters.get('sslpassword');
  const files = {
    ...(key === undefined ? {} : { key, cert }),
    ...(passphrase === null ? {} : { passphrase }),
    ...(ca === undefined ? {} : { ca }),
  };
  if (mode === 'verify-full' || parameters.get('sslrootcert') === 'system') return [files];
  if (mode === 'verify-ca' && ca === undefined)
    throw invalid('sslmode=verify-ca requires sslrootcert.', 'Name the file with the certificate authority, or use sslmode=verify-full.');
  // Any name is accepted, but only of this authority.
  if (mode === 'verify-ca' || (mode === 'require' && ca !== undefined)) return [{ ...files, checkServerIdentity: () => undefined }];
  const unverified = { ...files, rejectUnauthorized: false };
  return mode === 'require' ? [unverified] : [unverified, false];
}

function fileOf(parameters: URLSearchParams, name: 'sslrootcert' | 'sslcert' | 'sslkey'): string | undefined {
  const file = parameters.get(name);
  if (file === null || file === '') return undefined;
  try {
    return readFileSync(path.resolve(file), 'utf8');
  } catch (error) {
    throw readFailure(error, file);
  }
}

const invalid = (message: string, hint = 'It is written as postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full.'): UsageError =>
  new UsageError(message, hint, 'database_url_invalid');
