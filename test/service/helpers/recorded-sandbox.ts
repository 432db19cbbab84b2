/** The sandbox `s`, whose files are recorded in a database with SQLite, and stored in a folder. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { sweepFiles } from '../../../src/service/engine/files/stored-files.ts';
import { FileStore } from '../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../src/service/files/folder-files.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from './clock.ts';

const day = 24 * 60 * 60_000;

export async function recordedSandbox() {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  await sql`insert into teams (id, name, created_at) values ('t', 't', '')`.execute(store);
  await sql`insert into sandboxes (id, team_id, created_at) values ('s', 't', '2026-08-01T00:00:00.000Z')`.execute(store);
  const folder = await temporaryDirectory();
  const clock = new ManualClock();
  const logEntries: unknown[] = [];
  const engine = {
    ...{ store, clock, files: new FileStore(new FolderFiles(folder)) },
    log: (...entry: unknown[]) => void logEntries.push(entry),
  };
  return {
    engine,
    logEntries,
    /** The keys of all stored files. */
    async storedKeys(): Promise<string[]> {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
    },
    /** Removes the stored files that may be removed, two days later. */
    async sweepLater(): Promise<void> {
      clock.advance(2 * day);
      await sweepFiles(engine);
    },
  };
}

export async function* each<Piece>(pieces: Iterable<Piece> | AsyncIterable<Piece>): AsyncGenerator<Piece> {
  yield* pieces;
}
