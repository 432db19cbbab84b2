/** The repositories of sandboxes. Their files are in the workspaces. */
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { SandboxRepositoryRow } from '../database/schema.ts';

export async function insertRepository(trx: Queries, repository: SandboxRepositoryRow): Promise<void> {
  await trx.insertInto('sandbox_repositories').values(repository).execute();
}

const ofSandbox = preparedQuery((db, { sandboxId }: { sandboxId: string }) =>
  db.selectFrom('sandbox_repositories').selectAll().where('sandbox_id', '=', sandboxId),
);

export const findRepository = (db: Queries, sandboxId: string): Promise<SandboxRepositoryRow | undefined> =>
  ofSandbox.first(db, { sandboxId });

/** Records that the repository has been checked out. */
export async function recordCheckOut(
  db: Queries,
  sandboxId: string,
  values: { commit_id: string; base_branch: string | null; ready_at: string },
): Promise<void> {
  await db.updateTable('sandbox_repositories').set(values).where('sandbox_id', '=', sandboxId).execute();
}

/** Records that the workspace no longer exists: a run that continues gets the repository again, at the same commit. */
export async function forgetCheckOut(trx: Queries, sandboxId: string): Promise<void> {
  await trx.updateTable('sandbox_repositories').set({ ready_at: null }).where('sandbox_id', '=', sandboxId).execute();
}
