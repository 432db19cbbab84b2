/** The record of the files in sandboxes: who may change it, and which stored files it no longer refers to. */
import { type Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RecordedEntry } from '../../../../src/service/sandbox/record/entries.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { changeRecord, raiseVersion, recordedEntries } from '../../../../src/service/store/runs/workspace-files.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

let db: Kysely<Database>;
beforeEach(async () => {
  const openedDatabase = await openDatabase(await temporaryDirectory());
  afterTest(() => openedDatabase.destroy());
  db = openedDatabase;
  await sql`insert into teams (id, name, created_at) values ('t', 't', '')`.execute(db);
  for (const [id, holder, removed] of [
    ['free', null, null],
    ['held', 'node', null],
    ['removed', null, '2026-08-01T00:00:00.000Z'],
  ])
    await sql`insert into sandboxes (id, team_id, created_at, holder, removed_at) values (${id}, 't', '', ${holder}, ${removed})`.execute(
      db,
    );
});

const file = (path: string, key: string): RecordedEntry => ({
  ...{ type: 'file', path, mode: 0o644, modifiedAt: 0, size: 1, sha256: 'x', isText: true },
  stored: { key, position: 0 },
});

describe('a change of the record', () => {
  it('begins with the next version', async () => {
    expect([await raiseVersion(db, 'free'), await raiseVersion(db, 'free')]).toEqual([1, 2]);
    expect([await raiseVersion(db, 'held'), await raiseVersion(db, 'held', 'node')]).toEqual([1, 2]);
  });

  it('is refused to a node that is not the holder, and for a sandbox that was removed or does not exist', async () => {
    expect(await raiseVersion(db, 'held', 'other')).toBeUndefined();
    expect(await raiseVersion(db, 'removed')).toBeUndefined();
    expect(await raiseVersion(db, 'missing')).toBeUndefined();
  });

  it('returns the stored files to which nothing refers any more', async () => {
    const change = async (version: number, entries: RecordedEntry[], removed: string[] = []): Promise<string[]> =>
      (await changeRecord(db, 'free', { version, entries, removed })).sort();
    // Small files share one stored file.
    expect(await change(1, [file('a', 'one'), file('b', 'one'), file('c', 'two')])).toEqual([]);
    expect(await change(2, [file('a', 'three')])).toEqual([]);
    expect(await change(3, [file('b', 'three')], ['c', 'never there'])).toEqual(['one', 'two']);
    expect((await recordedEntries(db, 'free')).map(({ path }) => path).sort()).toEqual(['a', 'b']);
    expect((await recordedEntries(db, 'free', 2)).map(({ path }) => path)).toEqual(['b']);
  });
});
