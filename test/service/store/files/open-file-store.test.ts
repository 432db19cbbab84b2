/** Which file store a service uses, and what it says if that cannot be used. */
import { Buffer } from 'node:buffer';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileStoreSetting } from '../../../../src/service/files/setting.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { openFileStore } from '../../../../src/service/store/files/open-file-store.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { bucket, credentials, S3Server } from '../../../support/s3-server.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { openNode } from '../../helpers/postgres.ts';
import { startApi } from '../../helpers/service.ts';

const bucketSetting = (endpoint: string, name = bucket): FileStoreSetting => ({
  ...{ kind: 's3', bucket: name, prefix: 'aops/', endpoint, region: 'eu-central-1', credentials },
});

describe('a service with SQLite', () => {
  it('keeps files in its data directory', async () => {
    const dataDirectory = await temporaryDirectory();
    const store = await openDatabase(dataDirectory);
    afterTest(() => store.destroy());
    const files = await openFileStore(undefined, { store, dataDirectory });
    await files.put('run/file', Buffer.from('content'));
    expect(existsSync(path.join(dataDirectory, 'files', 'run', 'file'))).toBe(true);
  });

  it('accepts no other file store, because backups would not include it', async () => {
    const refusal = { code: 'file_store_needs_database', exit: 2 };
    await expect(startApi({ files: { kind: 'folder', path: await temporaryDirectory() }, database: undefined })).rejects.toMatchObject(
      refusal,
    );
  });
});

describeNeeding(needsPostgres, 'a node with Postgres', () => {
  it('keeps files in the database, unless a folder or a bucket was chosen, which it leaves as it was', async () => {
    const store = await openNode(await newDatabase());
    const [dataDirectory, shared] = [await temporaryDirectory(), await temporaryDirectory()];
    const server = await S3Server.start();
    const open = async (setting: FileStoreSetting | undefined) => {
      const files = await openFileStore(setting, { store, dataDirectory });
      afterTest(() => files.close());
      return files.kind;
    };
    expect(await open(undefined)).toBe('database');
    expect(await open({ kind: 'database' })).toBe('database');
    expect(await open({ kind: 'folder', path: shared })).toBe('folder');
    expect(await open(bucketSetting(server.endpoint))).toBe('s3');
    expect([await readdir(dataDirectory), await readdir(shared), server.objects.size]).toEqual([[], [], 0]);
    expect(await store.selectFrom('files').selectAll().execute()).toEqual([]);
  });

  it('says what is wrong with a file store', async () => {
    const store = await openNode(await newDatabase());
    const dataDirectory = await temporaryDirectory();
    const server = await S3Server.start();
    const file = path.join(dataDirectory, 'file');
    await writeFile(file, '');
    for (const [setting, message, hint] of [
      [
        { kind: 'folder', path: path.join(file, 'files') },
        `Files cannot be stored in the folder ${file}/files: ENOTDIR`,
        'this user may write to it',
      ],
      [
        bucketSetting(server.endpoint, 'another'),
        `in the bucket another (aops/) at ${server.endpoint}: the bucket answered PUT with 404 NoSuchBucket: the bucket does not exist.`,
        'Check the bucket',
      ],
    ] as const) {
      await expect(openFileStore(setting, { store, dataDirectory })).rejects.toMatchObject({
        ...{ code: 'file_store_unusable', exit: 8, message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
      });
    }
  });
});
