/** Where files are kept, as the operator of the service has chosen. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { wordList } from '../../base/word-list.ts';
import type { CredentialsSource } from './s3/credentials.ts';

export interface BucketSetting {
  kind: 's3';
  bucket: string;
  /** Precedes all keys; empty, or with `/` at its end. */
  prefix: string;
  /** `https://host`, without a path; undefined for AWS. */
  endpoint: string | undefined;
  region: string;
  credentials: CredentialsSource;
}

export type FileStoreSetting =
  /** A folder that all nodes share. */
  | { kind: 'folder'; path: string }
  /** The Postgres database. */
  | { kind: 'database' }
  /** A bucket of S3, or of a service with the same API. */
  | BucketSetting;

/** What a setting means depends on these. */
export interface SettingContext {
  /** The variables of the environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  directory: string;
}

const forms = 'folder:PATH, database, or s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION]';
const parameterNames = ['endpoint', 'region', 'credentials-file'];

/** Reads `folder:PATH`, `database`, or `s3://BUCKET[/PREFIX][?…]`. @throws UsageError `file_store_invalid` */
export function parseFileStore(text: string, context: SettingContext): FileStoreSetting {
  if (text === 'database') return { kind: 'database' };
  if (text.startsWith('folder:')) return folder(text.slice('folder:'.length), context);
  if (text.startsWith('s3://')) return bucket(text, context);
  // The text is not repeated: it may be the URL of a bucket with a password, in a form that is not known here.
  throw invalid('A file store is a folder, the database, or a bucket.', `Use ${forms}.`);
}

/** The setting in words, for messages. It contains no secret. */
export function describeFileStore(setting: FileStoreSetting): string {
  if (setting.kind === 'database') return 'the database';
  if (setting.kind === 'folder') return `the folder ${setting.path}`;
  const { bucket, prefix, endpoint } = setting;
  return `the bucket ${bucket}${prefix === '' ? '' : ` (${prefix})`}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
}

function folder(text: string, { directory }: SettingContext): FileStoreSetting {
  if (text === '') throw invalid('The folder of the file store is missing.', 'Use folder:PATH, for example folder:/mnt/aops.');
  return { kind: 'folder', path: path.resolve(directory, text) };
}

function bucket(text: string, context: SettingContext): BucketSetting {
  // Without the query, in which only known parameters are read, nothing that follows can contain a secret.
  const [, place = '', query = ''] = /^s3:\/\/([^?]*)(?:\?(.*))?$/s.exec(text) ?? [];
  if (place.includes('@') || place.includes(':'))
    throw invalid(
      'The URL of a bucket must not contain credentials.',
      'Put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or into a file (credentials-file=PATH).',
    );
  const [name = '', ...folders] = place.split('/').filter((part, index) => part !== '' || index === 0);
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name))
    throw invalid(`"${name}" cannot be the name of a bucket.`, 'It has 3 to 63 lower-case letters, digits, dots, and hyphens.');
  const unusable = folders.find((part) => !/^[\w-][\w.-]*$/.test(part));
  if (unusable !== undefined)
    throw invalid(`The prefix of the file store cannot contain "${unusable}".`, 'Use letters, digits, `-`, `_`, and `.` between slashes.');
  const parameters = parametersOf(query);
  const { env } = context;
  const region = parameters.get('region') ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1';
  if (!/^[a-z0-9-]{1,40}$/.test(region)) throw invalid(`"${region}" is not a region.`, 'Regions look like eu-central-1, or auto.');
  return {
    ...{ kind: 's3', bucket: name, region },
    prefix: folders.map((part) => `${part}/`).join(''),
    endpoint: endpointOf(parameters.get('endpoint') ?? undefined),
    credentials: credentialsOf(parameters.get('credentials-file') ?? undefined, context),
  };
}

function parametersOf(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (parameterNames.includes(name)) continue;
    const suggestion = nearest(name, parameterNames);
    const advice = suggestion === undefined ? `Use ${wordList(parameterNames, 'or')}.` : `Did you mean "${suggestion}"?`;
    throw invalid(`A bucket has no parameter "${name}".`, advice);
  }
  return parameters;
}

function endpointOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const advice = 'Use for example endpoint=https://s3.example.com.';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) throw invalid('The endpoint of the bucket is not a URL.', advice);
  if (url.username !== '' || url.password !== '') throw invalid('The endpoint of the bucket must not contain credentials.', advice);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw invalid('The endpoint of the bucket must not have a path: the name of the bucket is added to it.', advice);
  return url.origin;
}

function credentialsOf(fileParameter: string | undefined, { env, directory }: SettingContext): CredentialsSource {
  const profile = env.AWS_PROFILE ?? 'default';
  if (fileParameter !== undefined) return { file: path.resolve(directory, fileParameter), profile };
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = env;
  if (accessKeyId !== '' && secretAccessKey !== '')
    return { accessKeyId, secretAccessKey, sessionToken: env.AWS_SESSION_TOKEN || undefined };
  if (env.AWS_SHARED_CREDENTIALS_FILE) return { file: path.resolve(directory, env.AWS_SHARED_CREDENTIALS_FILE), profile };
  const missing = accessKeyId === '' ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY';
  throw invalid(
    `The credentials of the bucket are missing: ${missing} is not set.`,
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file with them: s3://BUCKET?credentials-file=PATH.',
  );
}

const invalid = (message: string, hint: string): UsageError => new UsageError(message, hint, 'file_store_invalid');
