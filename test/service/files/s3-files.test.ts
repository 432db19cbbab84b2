/** Files in a bucket whose requests fail, are cut off, or are answered with something else. */
import { Buffer } from 'node:buffer';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { FileStore } from '../../../src/service/files/file-store.ts';
import { bucketUrl } from '../../../src/service/files/s3/s3-client.ts';
import { S3Files, usualPartLength } from '../../../src/service/files/s3/s3-files.ts';
import type { StoredFile } from '../../../src/service/files/stored-file.ts';
import { bucket, credentials, type Fault, S3Server } from '../../support/s3-server.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { openBucket, partLength } from './stores.ts';

/** More than two parts, which differ. */
const large = Buffer.concat([Buffer.alloc(partLength, 'a'), Buffer.alloc(partLength, 'b'), Buffer.from('the end')]);

async function contentOf(store: FileStore, file: StoredFile, range?: { start: number; end: number }): Promise<Buffer | undefined> {
  const stream = await store.open(file, range);
  return stream === undefined ? undefined : buffer(stream);
}

const unavailable: Fault = { status: 503, code: 'SlowDown' };

describe('a file that is put into a bucket', () => {
  it('is uploaded in parts if it is large', async () => {
    const server = await S3Server.start();
    const store = openBucket(server);
    const file = await store.put('run/large', large);
    const part = 'PUT /aops/run/large?uploadId&partNumber';
    expect(server.requests).toEqual([
      'POST /aops/run/large?uploads',
      part,
      part,
      part,
      'POST /aops/run/large?uploadId',
      'HEAD /aops/run/large',
    ]);
    expect(server.objects.get('aops/run/large')?.equals(large)).toBe(true);
    expect((await contentOf(store, file, { start: partLength - 1, end: partLength }))?.toString()).toBe('ab');
    await store.put('run/one-part', Buffer.alloc(partLength));
    expect(server.requests.at(-1)).toBe('PUT /aops/run/one-part');
  });

  it('has parts that S3 accepts', async () => {
    const server = await S3Server.start();
    const clock = { now: () => Date.now(), sleep: async () => undefined };
    const store = new FileStore(new S3Files({ ...{ bucket, prefix: '', endpoint: server.endpoint, region: 'auto' }, credentials, clock }));
    await store.put('run/large', Buffer.alloc(usualPartLength + 1));
    expect(server.objects.get('run/large')?.length).toBe(usualPartLength + 1);
    await store.close();
  });

  it.each<[string, RegExp, Fault]>([
    ['no answer', /^PUT/, 'cut'],
    ['an answer that is lost', /^PUT/, 'lost'],
    ['500', /^PUT/, { status: 500 }],
    ['503', /^PUT/, unavailable],
    ['a digest that does not match', /^PUT/, { status: 400, code: 'BadDigest' }],
    ['no answer to the beginning of an upload', /^POST .*uploads$/, 'cut'],
    ['503 for a part', /^PUT .*partNumber$/, unavailable],
    ['a part whose answer is lost', /^PUT .*partNumber$/, 'lost'],
    ['a completion that fails', /^POST .*uploadId$/, unavailable],
    ['a completion that fails after its answer has begun', /^POST .*uploadId$/, 'late error'],
    ['a completion whose answer is lost', /^POST .*uploadId$/, 'lost'],
    ['no answer to the check of the size', /^HEAD/, 'cut'],
  ])('is complete in spite of %s', async (_, pattern, fault) => {
    const server = await S3Server.start();
    const store = openBucket(server);
    server.fail(pattern, fault, 2);
    const file = await store.put('run/large', large);
    const small = await store.put('run/small', Buffer.from('small'));
    expect((await contentOf(store, file))?.equals(large)).toBe(true);
    expect((await contentOf(store, small))?.toString()).toBe('small');
  });

  it.each<[string, RegExp, Fault, string]>([
    [
      'a part is refused',
      /^PUT .*partNumber$/,
      { status: 403, code: 'AccessDenied' },
      'the bucket answered PUT with 403 AccessDenied: the credentials do not permit it',
    ],
    ['every attempt fails', /^PUT .*partNumber$/, unavailable, 'the bucket answered PUT with 503 SlowDown'],
    ['no attempt is answered', /^PUT .*partNumber$/, 'cut', 'the bucket did not answer PUT'],
    [
      'the completion is refused',
      /^POST .*uploadId$/,
      { status: 400, code: 'InvalidPart' },
      'the bucket answered POST with 400 InvalidPart',
    ],
    [
      'the bucket has stored something else',
      /^HEAD/,
      { status: 200, headers: { 'content-length': '5' } },
      `the bucket has stored 5 of ${large.length} bytes`,
    ],
    ['the bucket has lost it', /^HEAD/, { status: 404 }, 'the bucket has not kept a file that was uploaded in parts'],
  ])('does not exist if %s, and leaves no parts behind', async (_, pattern, fault, message) => {
    const server = await S3Server.start();
    server.fail(pattern, fault, 5);
    await expect(openBucket(server).put('run/large', large)).rejects.toThrow(message);
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it('is not sent again after a refusal, and its message contains no text of the server', async () => {
    const server = await S3Server.start();
    server.fail(/^PUT/, { status: 403, code: 'AccessDenied' }, 5);
    const error = await openBucket(server)
      .put('run/small', Buffer.from('small'))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.not.stringContaining('from the server'), code: 'FILES_UNAVAILABLE' });
    expect(server.requests).toEqual(['PUT /aops/run/small']);
  });

  it('is abandoned when its upload was removed by another node', async () => {
    const server = await S3Server.start();
    const [store, other] = [openBucket(server), openBucket(server)];
    const data = async function* (): AsyncGenerator<Uint8Array> {
      yield large;
      await other.deleteUnfinished(['run/large']);
      yield Buffer.alloc(partLength);
    };
    await expect(store.put('run/large', data())).rejects.toThrow('the upload was removed before it was complete');
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });
});

describe('a file that is read from a bucket', () => {
  it('is continued where the connection broke, as often as that happens', async () => {
    const server = await S3Server.start();
    const store = openBucket(server);
    const file = await store.put('run/large', large);
    server.fail(/^GET/, 'cut body', 4);
    expect((await contentOf(store, file))?.equals(large)).toBe(true);
    expect(server.requests.filter((request) => request.startsWith('GET'))).toHaveLength(5);
    server.fail(/^GET/, 'cut body', 2);
    expect((await contentOf(store, file, { start: 5, end: 50_000 }))?.equals(large.subarray(5, 50_001))).toBe(true);
  });

  it('fails if it cannot be continued', async () => {
    const server = await S3Server.start();
    const store = openBucket(server);
    const file = await store.put('run/large', large);
    server.fail(/^GET/, 'cut body');
    server.fail(/^GET/, 'cut', 5);
    await expect(contentOf(store, file)).rejects.toThrow('the bucket did not answer GET');
  });

  it('is opened in spite of temporary failures, and not if they last', async () => {
    const server = await S3Server.start();
    const store = openBucket(server);
    const file = await store.put('run/small', Buffer.from('small'));
    server.fail(/^GET/, unavailable, 4);
    expect((await contentOf(store, file))?.toString()).toBe('small');
    server.fail(/^GET/, unavailable, 5);
    await expect(store.open(file)).rejects.toThrow('the bucket answered GET with 503 SlowDown');
  });

  it('is noticed if its body is shorter than the file, whatever its headers say', async () => {
    const server = await S3Server.start();
    const store = openBucket(server);
    const file = await store.put('run/small', Buffer.from('small'));
    server.fail(/^GET/, 'short body', 2);
    await expect(contentOf(store, file)).rejects.toThrow('is damaged: it ends after 2 of 5 bytes');
    await expect(contentOf(store, file, { start: 1, end: 4 })).rejects.toThrow('is damaged: it ends after 2 of 4 bytes');
  });

  it('is not missing if only its bucket is', async () => {
    const server = await S3Server.start();
    const store = openBucket(server, { bucket: 'another' });
    const refusal = 'the bucket answered GET with 404 NoSuchBucket';
    await expect(store.open({ key: 'run/small', size: 5, sha256: '' })).rejects.toThrow(refusal);
    await expect(store.check()).rejects.toThrow(`${refusal}: the bucket does not exist`);
  });
});

describe('the requests to a bucket', () => {
  it('are signed, and say what is wrong with the credentials', async () => {
    const server = await S3Server.start();
    const check = (change: object) => openBucket(server, { credentials: { ...credentials, ...change } }).check();
    await expect(check({})).resolves.toBeUndefined();
    await expect(check({ secretAccessKey: 'another' })).rejects.toThrow('403 SignatureDoesNotMatch: the secret access key is wrong');
    await expect(check({ sessionToken: undefined })).rejects.toThrow('403 InvalidToken: the session token is not valid');
    await expect(check({ accessKeyId: 'ANOTHER' })).rejects.toThrow('403 AccessDenied');
    server.fail(/^GET/, { status: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'us-west-2' } });
    await expect(check({})).rejects.toThrow('the bucket is in the region us-west-2');
  });

  it('use the credentials that are in a file at the moment', async () => {
    const server = await S3Server.start();
    const file = path.join(await temporaryDirectory(), 'credentials');
    const store = openBucket(server, { credentials: { file, profile: 'work' } });
    await expect(store.check()).rejects.toMatchObject({
      code: 'file_store_invalid',
      message: `The file with credentials ${file} does not exist.`,
    });
    const write = async (secret: string): Promise<void> => {
      const values = `aws_access_key_id = AKIDTEST\r\naws_secret_access_key = ${secret}\naws_session_token=${credentials.sessionToken}\n`;
      await writeFile(`${file}.new`, `[default]\naws_access_key_id=A\n\n[work]\n# for aops\n${values}\n[other]\naws_access_key_id=B\n`);
      await rename(`${file}.new`, file);
    };
    await write('old');
    await expect(store.check()).rejects.toThrow('SignatureDoesNotMatch');
    await write(credentials.secretAccessKey);
    await expect(store.check()).resolves.toBeUndefined();
    await expect(openBucket(server, { credentials: { file, profile: 'default' } }).check()).rejects.toThrow('in the section [default]');
  });

  it('go to the host of the bucket at AWS, unless no certificate covers its name', () => {
    const urlOf = (bucket: string, region: string): string => bucketUrl({ bucket, region, endpoint: undefined });
    expect([urlOf('files', 'eu-central-1'), urlOf('files.example', 'eu-central-1'), urlOf('files', 'cn-north-1')]).toEqual([
      'https://files.s3.eu-central-1.amazonaws.com',
      'https://s3.eu-central-1.amazonaws.com/files.example',
      'https://files.s3.cn-north-1.amazonaws.com.cn',
    ]);
  });
});
