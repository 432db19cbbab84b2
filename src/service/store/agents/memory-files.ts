/** Memory files of agents. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { MemoryFileRow, MemoryFilesTable } from '../database/schema.ts';

/** A file without its content. */
export type ListedMemoryFile = Omit<MemoryFileRow, 'content'>;

const listColumns = [
  'agent_id',
  'path',
  'size',
  'generation',
  'source_type',
  'source_run_id',
  'source_user_id',
  'created_at',
  'updated_at',
] as const satisfies (keyof MemoryFilesTable)[];

/** Sorted by path. */
export async function listMemoryFiles(db: Queries, agentId: string): Promise<ListedMemoryFile[]> {
  return db
    .selectFrom('memory_files')
    .select([...listColumns])
    .where('agent_id', '=', agentId)
    .orderBy('path')
    .execute();
}

export async function findMemoryFile(db: Queries, agentId: string, path: string): Promise<MemoryFileRow | undefined> {
  return db.selectFrom('memory_files').selectAll().where('agent_id', '=', agentId).where('path', '=', path).executeTakeFirst();
}

/** The contents of all files, by path. */
export async function memoryTexts(db: Queries, agentId: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom('memory_files').select(['path', 'content']).where('agent_id', '=', agentId).orderBy('path').execute();
  return new Map(rows.map((row) => [row.path, row.content]));
}

export async function countMemoryFiles(db: Queries, agentId: string): Promise<number> {
  const { total } = await db
    .selectFrom('memory_files')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('agent_id', '=', agentId)
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** Writes a file, and replaces an existing one. */
export async function putMemoryFile(db: Queries, file: Omit<Insertable<MemoryFilesTable>, 'generation' | 'created_at'>): Promise<void> {
  const { agent_id: _, path: __, ...changes } = file;
  await db
    .insertInto('memory_files')
    .values({ ...file, generation: 1, created_at: file.updated_at })
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'path']).doUpdateSet((set) => ({ ...changes, generation: set('memory_files.generation', '+', 1) })),
    )
    .execute();
}

export async function deleteMemoryFiles(db: Queries, agentId: string): Promise<void> {
  await db.deleteFrom('memory_files').where('agent_id', '=', agentId).execute();
}
