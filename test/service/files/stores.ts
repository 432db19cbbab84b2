/** The kinds of file stores, as tests of all of them open and damage them. */
import { Buffer } from 'node:buffer';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { FileStore } from '../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../src/service/files/folder-files.ts';
import { S3Files } from '../../../src/service/files/s3/s3-files.ts';
import { chunkLength, DatabaseFiles } from '../../../src/service/store/files/database-files.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import type { Missing } from '../../support/requirements.ts';
import { bucket, credentials, S3Server } from '../../support/s3-server.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { openNode } from '../helpers/postgres.ts';

/** A place for files that several stores can share. */
export interface Place {
  /** Another store in the same place, as another process would open it. */
  open(): Promise<FileStore>;
  /** Replaces the content of a file behind the back of the store. */
  replace(key: string, content: Uint8Array): Promise<void>;
  /** How many files and parts of files there are, complete or not. */
  remains(): Promise<number>;
}

export interface Kind {
  name: string;
  missing: Missing;
  /** Bytes that are stored at a time. */
  pieceLength: number;
  newPlace(): Promise<Place>;
}

const folder: Kind = {
  name: 'a folder',
  missing: undefined,
  pieceLength: 1,
  async newPlace() {
    const root = path.join(await temporaryDirectory(), 'files');
    return {
      open: async () => new FileStore(new FolderFiles(root)),
      replace: (key, content) => writeFile(path.join(root, key), content),
      remains: async () => (await readdir(root, { recursive: true })).length,
    };
  },
};

const database: Kind = {
  name: 'a database',
  missing: needsPostgres,
  pieceLength: chunkLength,
  async newPlace() {
    const url = await newDatabase();
    const db = await openNode(url, 'test', 1);
    return {
      open: async () => new FileStore(new DatabaseFiles(await openNode(url, 'node', 2))),
      async replace(key, content) {
        await db.deleteFrom('files').where('key', '=', key).execute();
        await db.insertInto('files').values({ key, size: content.length }).execute();
        if (content.length > 0) await db.insertInto('file_chunks').values({ key, number: 0, content }).execute();
      },
      async remains() {
        const rows = await Promise.all((['files', 'file_chunks'] as const).map((table) => db.selectFrom(table).select('key').execute()));
        return rows.flat().length;
      },
    };
  },
};

/** Bytes of a part. Those that S3 accepts take a while to sign and to verify. */
export const partLength = 32 * 1024;

/** A store in a bucket, with small parts, and without waits between attempts. */
export function openBucket(server: S3Server, options: Partial<ConstructorParameters<typeof S3Files>[0]> = {}): FileStore {
  const { endpoint } = server;
  server.minPartLength = partLength;
  const clock = { now: () => Date.now(), sleep: async () => undefined };
  const store = new FileStore(
    new S3Files({ bucket, prefix: 'aops/', endpoint, region: 'eu-central-1', credentials, clock, partLength, ...options }),
  );
  afterTest(() => store.close());
  return store;
}

const s3: Kind = {
  name: 'a bucket',
  missing: undefined,
  pieceLength: partLength,
  async newPlace() {
    const server = await S3Server.start();
    return {
      open: async () => openBucket(server),
      replace: async (key, content) => void server.objects.set(`aops/${key}`, Buffer.from(content)),
      remains: async () => server.objects.size + server.uploads.size,
    };
  },
};

export const kinds: readonly Kind[] = [folder, database, s3];
