/** The credentials for a bucket: fixed ones, or those in a file that somebody else keeps up to date. */
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../../base/errors.ts';
import { isAbsent, readFailure } from '../../../base/read-failure.ts';

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** Where credentials come from. The section of a file is named like a profile of the AWS command line. */
export type CredentialsSource = S3Credentials | { file: string; profile: string };

/** @throws UsageError `file_store_invalid`, AopsError `not_readable` */
export async function readCredentials(source: CredentialsSource): Promise<S3Credentials> {
  if (!('file' in source)) return source;
  const { file, profile } = source;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw isAbsent(error) ? invalid(`The file with credentials ${file} does not exist.`) : readFailure(error, file);
  });
  const values = sectionOf(text, profile);
  const accessKeyId = values?.get('aws_access_key_id');
  const secretAccessKey = values?.get('aws_secret_access_key');
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw invalid(`${file} does not contain aws_access_key_id and aws_secret_access_key in the section [${profile}].`);
  return { accessKeyId, secretAccessKey, sessionToken: values?.get('aws_session_token') };
}

/** The values of a section of a file like `~/.aws/credentials`. */
function sectionOf(text: string, name: string): Map<string, string> | undefined {
  let values: Map<string, string> | undefined;
  let current = '';
  for (const line of text.split(/\r?\n/)) {
    const [, header] = /^\s*\[\s*(.*?)\s*\]\s*$/.exec(line) ?? [];
    if (header !== undefined) current = header;
    if (current !== name) continue;
    values ??= new Map();
    const [, key, value] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined && value !== '') values.set(key.toLowerCase(), value);
  }
  return values;
}

const invalid = (message: string): UsageError =>
  new UsageError(message, 'The format is that of ~/.aws/credentials; AWS_PROFILE names the section.', 'file_store_invalid');
