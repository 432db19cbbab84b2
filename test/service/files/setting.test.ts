/** The values of the option that chooses a file store. */
import { describe, expect, it } from 'vitest';
import { describeFileStore, parseFileStore } from '../../../src/service/files/setting.ts';

const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret-value' };
const parse = (text: string, env: Record<string, string> = keys) => parseFileStore(text, { env, directory: '/home/ann' });
const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret-value', sessionToken: undefined };

describe('a file store', () => {
  it('is the database, a folder, or a bucket', () => {
    expect(parse('database')).toEqual({ kind: 'database' });
    expect(parse('folder:/mnt/aops')).toEqual({ kind: 'folder', path: '/mnt/aops' });
    expect(parse('folder:shared/files')).toEqual({ kind: 'folder', path: '/home/ann/shared/files' });
    expect(parse('s3://my-files')).toEqual({
      ...{ kind: 's3', bucket: 'my-files', prefix: '', endpoint: undefined, region: 'us-east-1', credentials },
    });
    expect(parse('s3://my-files/aops/prod/?endpoint=https://s3.example.com:9000/&region=eu-central-1')).toMatchObject({
      ...{ prefix: 'aops/prod/', endpoint: 'https://s3.example.com:9000', region: 'eu-central-1' },
    });
  });

  it('takes the region and the credentials of a bucket from the environment, or from a file', () => {
    expect(parse('s3://my-files', { ...keys, AWS_SESSION_TOKEN: 'token', AWS_DEFAULT_REGION: 'eu-west-1' })).toMatchObject({
      ...{ region: 'eu-west-1', credentials: { ...credentials, sessionToken: 'token' } },
    });
    expect(parse('s3://my-files', { ...keys, AWS_REGION: 'eu-west-2', AWS_DEFAULT_REGION: 'eu-west-1' })).toMatchObject({
      region: 'eu-west-2',
    });
    expect(parse('s3://my-files?credentials-file=keys')).toMatchObject({ credentials: { file: '/home/ann/keys', profile: 'default' } });
    expect(parse('s3://my-files', { AWS_SHARED_CREDENTIALS_FILE: '/etc/keys', AWS_PROFILE: 'aops' })).toMatchObject({
      credentials: { file: '/etc/keys', profile: 'aops' },
    });
  });

  it('is described without secrets', () => {
    expect(
      ['database', 'folder:/mnt', 's3://my-files', 's3://my-files/a?endpoint=http://minio:9000'].map((text) =>
        describeFileStore(parse(text)),
      ),
    ).toEqual(['the database', 'the folder /mnt', 'the bucket my-files', 'the bucket my-files (a/) at http://minio:9000']);
  });

  it.each([
    [
      '',
      'A file store is a folder, the database, or a bucket.',
      'Use folder:PATH, database, or s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION].',
    ],
    ['https://AKID:secret-value@s3.example.com/files', 'A file store is a folder, the database, or a bucket.', 'Use folder:PATH'],
    ['folder:', 'The folder of the file store is missing.', 'Use folder:PATH'],
    ['s3://', '"" cannot be the name of a bucket.', 'It has 3 to 63'],
    ['s3://My_Files', '"My_Files" cannot be the name of a bucket.', 'It has 3 to 63'],
    ['s3://AKID:secret-value@files', 'The URL of a bucket must not contain credentials.', 'Put them into AWS_ACCESS_KEY_ID'],
    ['s3://files/a/../b', 'The prefix of the file store cannot contain "..".', 'Use letters'],
    ['s3://files?regoin=eu', 'A bucket has no parameter "regoin".', 'Did you mean "region"?'],
    ['s3://files?secret-value=x', 'A bucket has no parameter "secret-value".', 'Use endpoint, region, or credentials-file.'],
    ['s3://files?region=EU 1', '"EU 1" is not a region.', 'Regions look like eu-central-1, or auto.'],
    ['s3://files?endpoint=s3.example.com', 'The endpoint of the bucket is not a URL.', 'Use for example endpoint=https://s3.example.com.'],
    [
      's3://files?endpoint=https://AKID:secret-value@s3.example.com',
      'The endpoint of the bucket must not contain credentials.',
      'Use for example',
    ],
    [
      's3://files?endpoint=https://s3.example.com/files',
      'The endpoint of the bucket must not have a path: the name of the bucket is added to it.',
      'Use for example',
    ],
  ])('cannot be %s', (text, message, hint) => {
    const error = refusalOf(() => parse(text));
    expect(error).toMatchObject({ code: 'file_store_invalid', exit: 2, message, hint: expect.stringContaining(hint) });
    if (!text.includes('?secret-value')) expect(`${error.message}${error.hint}`).not.toContain('secret-value');
  });

  it.each([
    [{}, 'AWS_ACCESS_KEY_ID'],
    [{ AWS_ACCESS_KEY_ID: 'AKID' }, 'AWS_SECRET_ACCESS_KEY'],
    [{ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: 'secret-value' }, 'AWS_ACCESS_KEY_ID'],
  ])('needs credentials for a bucket; %o are not enough', (env, missing) => {
    const error = refusalOf(() => parse('s3://files', env as Record<string, string>));
    expect(error.message).toBe(`The credentials of the bucket are missing: ${missing} is not set.`);
  });
});

function refusalOf(work: () => unknown): { message: string; hint: string } {
  try {
    work();
  } catch (error) {
    return error as { message: string; hint: string };
  }
  throw new Error('It was accepted.');
}
