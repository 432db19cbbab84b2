/** Which sandboxes are removed, and when: none that a run still uses, and none that was uploaded for a run to come. */
import { type Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import {
  endedSandboxes,
  expireSandbox,
  expiryOf,
  findSandbox,
  firstEnd,
  keepSandbox,
  removeEndedSandbox,
  reviveSandbox,
} from '../../../../src/service/store/runs/sandboxes.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

let db: Kysely<Database>;
beforeEach(async () => {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const openedDatabase = await openDatabase(directory);
  afterTest(() => openedDatabase.destroy());
  db = openedDatabase;
  // Rows of other tables are left out.
  await sql`pragma foreign_keys = off`.execute(db);
});

const [now, earlier, later] = ['2026-08-01T00:00:00.000Z', '2026-07-31T23:59:59.999Z', '2026-08-01T00:00:00.001Z'];

const sandbox = (id: string, { expires = null, removed = null }: { expires?: string | null; removed?: string | null } = {}) =>
  sql`insert into sandboxes (id, team_id, created_at, expires_at, removed_at) values (${id}, 't', '', ${expires}, ${removed})`.execute(db);

let runs = 0;
async function run(sandboxId: string, completedAt: string | null): Promise<void> {
  runs += 1;
  await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
    turn, submitted_prompt_count, resume_count, created_at, updated_at, completed_at)
    values (${`r${runs}`}, 't', 'a', 'b', ${runs}, '', '', 'completed', 'api', ${sandboxId}, 'script', 'h', 1, 0, 0, '', '', ${completedAt})`.execute(
    db,
  );
}

const removeExpired = async (): Promise<string[]> =>
  (await db.selectFrom('sandboxes').select('id').where('removed_at', 'is not', null).orderBy('id').execute()).map(({ id }) => id);

describe('a sandbox without a run', () => {
  it('is removed when it expires, and not before', async () => {
    await sandbox('s', { expires: now });
    await sandbox('other', { expires: now });
    expect(await expiryOf(db, 's')).toBe(Date.parse(now));
    expect(await expireSandbox(db, 's', earlier)).toBe(false);
    expect(await removeExpired()).toEqual([]);
    expect(await expireSandbox(db, 's', now)).toBe(true);
    expect(await removeExpired()).toEqual(['s']);
    expect(await expiryOf(db, 's')).toBeUndefined();
    // It is removed only once.
    expect(await expireSandbox(db, 's', later)).toBe(false);
  });

  it('does not expire once a run has taken it', async () => {
    await sandbox('s', { expires: now });
    await sandbox('other', { expires: now });
    await keepSandbox(db, 's');
    expect([await expiryOf(db, 's'), await expireSandbox(db, 's', later)]).toEqual([undefined, false]);
    expect([await expiryOf(db, 'other'), await expireSandbox(db, 'other', later)]).toEqual([Date.parse(now), true]);
    expect(await removeExpired()).toEqual(['other']);
  });

  it('is found only in its team, and until it is removed', async () => {
    await sandbox('s');
    await sandbox('gone', { removed: now });
    expect(await findSandbox(db, 't', 's')).toMatchObject({ id: 's' });
    expect(await findSandbox(db, 'other', 's')).toBeUndefined();
    expect(await findSandbox(db, 't', 'gone')).toBeUndefined();
    expect(await findSandbox(db, 't', 'missing')).toBeUndefined();
  });
});

describe('the sandbox of runs that have ended', () => {
  /** Sandboxes of which only the first two can be removed at `now`. */
  async function sandboxes(): Promise<void> {
    for (const id of ['ended', 'ended now', 'ended later', 'partly later', 'active', 'partly active', 'unused']) await sandbox(id);
    await sandbox('staged', { expires: earlier });
    await sandbox('removed', { removed: earlier });
    for (const [id, completedAt] of [
      ['ended', earlier],
      ['ended now', earlier],
      ['ended now', now],
      ['ended later', later],
      ['partly later', earlier],
      ['partly later', later],
      ['active', null],
      ['partly active', earlier],
      ['partly active', null],
      ['staged', earlier],
      ['removed', earlier],
    ] as const)
      await run(id, completedAt);
  }

  it('can be removed if all of its runs ended long enough ago, and nothing else needs it', async () => {
    await sandboxes();
    expect((await endedSandboxes(db, now, 10)).sort()).toEqual(['ended', 'ended now']);
    expect(await endedSandboxes(db, now, 1)).toHaveLength(1);
  });

  it('is removed only if that is still so', async () => {
    await sandboxes();
    for (const id of ['ended later', 'partly later', 'active', 'partly active', 'unused', 'staged', 'missing'])
      expect([id, await removeEndedSandbox(db, id, now, later)]).toEqual([id, false]);
    expect(await removeExpired()).toEqual(['removed']);
    expect(await removeEndedSandbox(db, 'ended', now, later)).toBe(true);
    expect(await removeExpired()).toEqual(['ended', 'removed']);
    expect(await removeEndedSandbox(db, 'ended', now, later)).toBe(false);
    const row = await db.selectFrom('sandboxes').select('removed_at').where('id', '=', 'ended').executeTakeFirst();
    expect(row?.removed_at).toBe(later);
  });

  it('that can be removed next is the one whose last run ended first', async () => {
    expect(await firstEnd(db)).toBeUndefined();
    await sandboxes();
    expect(await firstEnd(db)).toBe(earlier);
    await removeEndedSandbox(db, 'ended', now, now);
    // Its last run counts, and sandboxes with active runs do not.
    expect(await firstEnd(db)).toBe(now);
    await removeEndedSandbox(db, 'ended now', now, now);
    expect(await firstEnd(db)).toBe(later);
    for (const id of ['ended later', 'partly later']) await removeEndedSandbox(db, id, later, later);
    expect(await firstEnd(db)).toBeUndefined();
  });

  it('no longer contains its repository once it is removed', async () => {
    await sandboxes();
    for (const id of ['ended', 'ended later'])
      await sql`insert into sandbox_repositories (sandbox_id, team_id, kind, source, branch, uncommitted_files, ready_at, created_at)
        values (${id}, 't', 'url', 'https://example.com/repo.git', 'main', 0, ${earlier}, '')`.execute(db);
    for (const id of ['ended', 'ended later']) await removeEndedSandbox(db, id, now, later);
    const rows = await db.selectFrom('sandbox_repositories').select(['sandbox_id', 'ready_at']).orderBy('sandbox_id').execute();
    expect(rows).toEqual([
      { sandbox_id: 'ended', ready_at: null },
      { sandbox_id: 'ended later', ready_at: earlier },
    ]);
  });

  it('exists again when a run continues in it', async () => {
    await sandbox('s', { removed: earlier });
    await sandbox('other', { removed: earlier });
    await reviveSandbox(db, 's');
    expect(await removeExpired()).toEqual(['other']);
    expect(await findSandbox(db, 't', 's')).toBeDefined();
  });
});
