/**
 * The record of the files in sandboxes, where there are several nodes. Each change raises the version of the sandbox, so that a node that
 * has the files of an earlier version reads only what is newer. Only the holder of a sandbox removes files from the record.
 */
import type { SqlBool } from 'kysely';
import type { RecordedEntry } from '../../sandbox/record/entries.ts';
import { folderOf } from '../../sandbox/record/entries.ts';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { lockRows } from '../database/row-locks.ts';
import type { WorkspaceFileRow } from '../database/schema.ts';

/** Rows, or paths, per statement. */
const pageSize = 500;
/** The same for reading a tree, of which most has at most this many. */
const treePageSize = 10_000;

function* pagesOf<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += pageSize) yield items.slice(start, start + pageSize);
}

/** The state of a sandbox. */
export interface WorkspaceState {
  /** The node that works, or has last worked, with its files. */
  holder: string | null;
  version: number;
  /** ISO 8601. */
  created_at: string;
  removed_at: string | null;
}

export const workspaceState = (db: Queries, sandboxId: string): Promise<WorkspaceState | undefined> => stateOf.first(db, { sandboxId });

const stateOf = preparedQuery((db, { sandboxId }: { sandboxId: string }) =>
  db.selectFrom('sandboxes').select(['holder', 'version', 'created_at', 'removed_at']).where('id', '=', sandboxId),
);

/** A sandbox that a run is about to use. */
export interface ClaimedWorkspace {
  version: number;
  /** Whether another node has worked with its files since this one has. */
  wasElsewhere: boolean;
}

/** The state of a sandbox that is locked, for a node that wants to execute a run in it. */
export interface WorkspaceUse {
  holder: string | null;
  version: number;
  /** Whether another node executes another run in it. */
  is_used: SqlBool;
}

/** A node that claims the job of a run. */
interface Claimant {
  jobId: string;
  node: string;
  jobKind: string;
}

/** Locks the sandbox of a run, and reads how it is used. Nothing else is waited for in between. */
export async function lockUseOfRun(trx: Queries, claimant: Claimant & { runId: string }): Promise<WorkspaceUse | undefined> {
  const [, use] = await Promise.all([lockOfRun.send(trx, claimant), useOfRun.first(trx, claimant)]);
  return use;
}

/**
 * Makes a node the holder of a sandbox, in the transaction that claims a run's job. Undefined if another node executes another run in the
 * sandbox: there must not be two copies that both change.
 * @param use the result of `lockUseOfRun` in this transaction, if it is known
 */
export async function holdWorkspace(
  trx: Queries,
  sandboxId: string,
  claimant: Claimant,
  use?: WorkspaceUse,
): Promise<ClaimedWorkspace | undefined> {
  const { node } = claimant;
  const { holder, version, is_used } = use ?? (await lockUse(trx, { ...claimant, sandboxId }));
  if (is_used) return undefined;
  if (holder !== node) await holdQuery.send(trx, { sandboxId, node });
  return { version, wasElsewhere: holder !== node };
}

async function lockUse(trx: Queries, claimant: Claimant & { sandboxId: string }): Promise<WorkspaceUse> {
  await lockRows(trx, 'sandboxes', [claimant.sandboxId]);
  // After the lock, so that this sees what its previous owner committed.
  return useOfSandbox.only(trx, claimant);
}

const useOfSandbox = preparedQuery((db, values: Claimant & { sandboxId: string }) =>
  useQuery(db, values).where('sandboxes.id', '=', values.sandboxId),
);

const useOfRun = preparedQuery((db, values: Claimant & { runId: string }) =>
  useQuery(db, values).where('sandboxes.id', '=', sandboxOf(db, values.runId)),
);

const lockOfRun = preparedQuery((db, { runId }: { runId: string }) =>
  db.selectFrom('sandboxes').select('id').where('id', '=', sandboxOf(db, runId)).forNoKeyUpdate(),
);

const sandboxOf = (db: Queries, runId: string) => db.selectFrom('runs').select('sandbox_id').where('runs.id', '=', runId);

const useQuery = (db: Queries, { jobId, node, jobKind }: Claimant) =>
  db
    .selectFrom('sandboxes')
    .select(['holder', 'version'])
    .select((select) =>
      select
        .exists(
          select
            .selectFrom('runs')
            .innerJoin('jobs', 'jobs.subject_id', 'runs.id')
            .select('jobs.id')
            .whereRef('runs.sandbox_id', '=', 'sandboxes.id')
            .where('jobs.kind', '=', jobKind)
            .where('jobs.status', '=', 'running')
            .where('jobs.id', '!=', jobId)
            .where('jobs.owner', '!=', node),
        )
        .as('is_used'),
    );

const holdQuery = preparedQuery((db, { sandboxId, node }: { sandboxId: string; node: string }) =>
  db.updateTable('sandboxes').set({ holder: node }).where('id', '=', sandboxId),
);

/** Begins a change of the record. Returns the new version; undefined if the sandbox was removed, or `holder` is no longer its holder. */
export async function raiseVersion(trx: Queries, sandboxId: string, holder?: string): Promise<number | undefined> {
  await lockRows(trx, 'sandboxes', [sandboxId]);
  const state = await workspaceState(trx, sandboxId);
  if (state === undefined || state.removed_at !== null || (holder !== undefined && state.holder !== holder)) return undefined;
  const version = state.version + 1;
  await versionQuery.send(trx, { sandboxId, version });
  return version;
}

const versionQuery = preparedQuery((db, { sandboxId, version }: { sandboxId: string; version: number }) =>
  db.updateTable('sandboxes').set({ version }).where('id', '=', sandboxId),
);

/** The record, or what has been added to it after a version. */
export async function recordedEntries(db: Queries, sandboxId: string, afterVersion = 0): Promise<RecordedEntry[]> {
  const rows = await db
    .selectFrom('workspace_files')
    .selectAll()
    .where('sandbox_id', '=', sandboxId)
    .where('version', '>', afterVersion)
    .execute();
  return rows.map(entryOf);
}

/** The entries with these paths, as far as they exist. */
export async function entriesAt(db: Queries, sandboxId: string, paths: readonly string[]): Promise<Map<string, RecordedEntry>> {
  const entries = new Map<string, RecordedEntry>();
  for (const page of pagesOf(paths)) {
    const rows = await db.selectFrom('workspace_files').selectAll().where('sandbox_id', '=', sandboxId).where('path', 'in', page).execute();
    for (const row of rows) entries.set(row.path, entryOf(row));
  }
  return entries;
}

/** The entries in a folder, in no particular order. */
export async function entriesIn(db: Queries, sandboxId: string, folder: string): Promise<RecordedEntry[]> {
  const rows = await db
    .selectFrom('workspace_files')
    .selectAll()
    .where('sandbox_id', '=', sandboxId)
    .where('folder', '=', folder)
    .execute();
  return rows.map(entryOf);
}

/** The entries below a folder, by path. Rows that are changed meanwhile can be of different versions. */
export async function* entriesBelow(db: Queries, sandboxId: string, folder: string): AsyncGenerator<RecordedEntry, void, undefined> {
  for (let previous = `${folder}/`; ; ) {
    const rows = await db
      .selectFrom('workspace_files')
      .selectAll()
      .where('sandbox_id', '=', sandboxId)
      .where('path', '>', previous)
      // The character after the slash.
      .where('path', '<', `${folder}0`)
      .orderBy('path')
      .limit(treePageSize)
      .execute();
    yield* rows.map(entryOf);
    const last = rows.at(-1);
    if (last === undefined || rows.length < treePageSize) return;
    previous = last.path;
  }
}

/**
 * Changes the record in a transaction in which `raiseVersion` has returned this version. Returns the keys of stored files to which nothing
 * refers any more.
 */
export async function changeRecord(
  trx: Queries,
  sandboxId: string,
  { version, entries, removed = [] }: { version: number; entries: readonly RecordedEntry[]; removed?: readonly string[] },
): Promise<string[]> {
  const oldKeys = new Set<string>();
  for (const page of pagesOf([...removed, ...entries.map(({ path }) => path)])) {
    const rows = await trx
      .deleteFrom('workspace_files')
      .where('sandbox_id', '=', sandboxId)
      .where('path', 'in', page)
      .returning('file_key')
      .execute();
    for (const { file_key: key } of rows) if (key !== null) oldKeys.add(key);
  }
  for (const page of pagesOf(entries)) {
    const rows = page.map((entry) => rowOf(sandboxId, entry, version));
    await trx.insertInto('workspace_files').values(rows).execute();
  }
  for (const page of pagesOf([...oldKeys])) {
    const rows = await trx
      .selectFrom('workspace_files')
      .select('file_key')
      .distinct()
      .where('sandbox_id', '=', sandboxId)
      .where('file_key', 'in', page)
      .execute();
    for (const { file_key: key } of rows) oldKeys.delete(key as string);
  }
  return [...oldKeys];
}

/**
 * Removes the records of sandboxes, in the transaction that removes these or their files. Their holders learn of it before they use the
 * files again. Returns the keys of the stored files.
 */
export async function forgetRecords(trx: Queries, sandboxIds: readonly string[]): Promise<string[]> {
  const keys = new Set<string>();
  for (const page of pagesOf(sandboxIds)) {
    await trx
      .updateTable('sandboxes')
      .set((set) => ({ holder: null, version: set('version', '+', 1) }))
      .where('id', 'in', page)
      .execute();
    const rows = await trx.deleteFrom('workspace_files').where('sandbox_id', 'in', page).returning('file_key').execute();
    for (const { file_key: key } of rows) if (key !== null) keys.add(key);
  }
  return [...keys];
}

/** Which of these sandboxes exist, with their files. */
export async function existingSandboxes(db: Queries, ids: readonly string[]): Promise<Set<string>> {
  const existing = new Set<string>();
  for (const page of pagesOf(ids)) {
    const rows = await db.selectFrom('sandboxes').select('id').where('id', 'in', page).where('removed_at', 'is', null).execute();
    for (const { id } of rows) existing.add(id);
  }
  return existing;
}

function rowOf(sandboxId: string, entry: RecordedEntry, version: number): WorkspaceFileRow {
  const file = entry.type === 'file' ? entry : undefined;
  return {
    sandbox_id: sandboxId,
    path: entry.path,
    folder: folderOf(entry.path),
    type: entry.type,
    mode: entry.type === 'link' ? 0 : entry.mode,
    modified_at: entry.modifiedAt,
    size: file?.size ?? 0,
    sha256: file?.sha256 ?? null,
    is_text: file?.isText ? 1 : 0,
    file_key: file?.stored?.key ?? null,
    position: file?.stored?.position ?? 0,
    target: entry.type === 'link' ? entry.target : null,
    version,
  };
}

function entryOf(row: WorkspaceFileRow): RecordedEntry {
  const { path, mode, modified_at: modifiedAt } = row;
  if (row.type === 'folder') return { type: 'folder', path, mode, modifiedAt };
  if (row.type === 'link') return { type: 'link', path, modifiedAt, target: row.target as string };
  const stored = row.file_key === null ? null : { key: row.file_key, position: row.position };
  return { type: 'file', path, mode, modifiedAt, size: row.size, sha256: row.sha256 as string, isText: row.is_text === 1, stored };
}
