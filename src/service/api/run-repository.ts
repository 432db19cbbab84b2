/** The repository on which a run works, and what the run changed in it. */
import type { ChangedFile, RunRepository } from '../../interface/types.ts';
import type { RequestedRepository } from '../engine/runs/workspace-repository.ts';
import { ServiceError } from '../errors.ts';
import { requireOwner } from '../http/access.ts';
import { type GroupRoutes, type HandlerInput, type RequestContext, signedUrl } from '../http/context.ts';
import { type ChangedFile as FileChange, patchName, sourceOf } from '../repositories/repositories.ts';
import type { RunRow, SandboxRepositoryRow } from '../store/database/schema.ts';
import { isTerminal } from '../store/runs/runs.ts';
import { findRepository } from '../store/runs/sandbox-repositories.ts';
import { findSandbox } from '../store/runs/sandboxes.ts';
import { requireRun } from './shared/lookups.ts';

/** The maximum number of files in a response. */
const maxFiles = 10_000;

export const runRepositoryRoutes: Pick<GroupRoutes<'sandboxes'>, 'getRunChanges'> = {
  async getRunChanges(context, { params }) {
    const { engine } = context;
    const run = await requireRun(context, params.run_id);
    const row = await requireRepository(context, run);
    if ((await findSandbox(engine.store, context.teamId, run.sandbox_id)) === undefined) throw removedError();
    if (row.ready_at === null || row.commit_id === null) throw notReady(run);
    const sandbox = await engine.workspaces.inspect(run.sandbox_id, context.lifetime.signal);
    if (sandbox === undefined) throw removedError();
    const comparison = engine.repositories.changes(sandbox, row.commit_id, context.lifetime.signal);
    const { tree, files, nestedRepositories, patchSize } = await comparison.catch(async (error: unknown) => {
      // It was removed while it was being read.
      throw (await findSandbox(engine.store, context.teamId, run.sandbox_id)) === undefined ? removedError() : error;
    });
    // The URL may be used on another node.
    if (files.length > 0) await engine.workspaces.publish(sandbox, patchName(tree));
    const grant = { kind: 'run_patch' as const, sandboxId: sandbox.id, tree };
    return {
      data: {
        repository: repositoryView(row),
        tree,
        files: files.slice(0, maxFiles).map(changedFileView),
        total_files: files.length,
        nested_repositories: nestedRepositories,
        patch_url: files.length === 0 ? null : signedUrl(context, grant).url,
        patch_size: patchSize,
      },
    };
  },
};

/**
 * The repository in the body of `startRun`. Throws 403 `owner_only` for a folder, unless the caller owns the data directory: the
 * service can read folders that the holder of a token cannot. Throws 400 and 409 for what cannot be used.
 */
export async function requestedRepository(
  context: RequestContext,
  input: NonNullable<HandlerInput<'startRun'>['body']['repository']>,
): Promise<RequestedRepository> {
  const source = sourceOf(input);
  if (source.kind === 'path') {
    const advice = 'Use the URL of the repository, or ask the owner to start the run.';
    requireOwner(context, `Only the owner of this service may let it read a folder, with the token of its data directory. ${advice}`);
  }
  return context.engine.repositories.check(source, context.lifetime.signal);
}

export const repositoryView = (row: SandboxRepositoryRow): RunRepository => ({
  kind: row.kind,
  source: row.source,
  ref: row.ref,
  commit: row.commit_id,
  base_branch: row.base_branch,
  branch: row.branch,
  uncommitted_files: row.uncommitted_files,
  ready: row.ready_at !== null,
});

async function requireRepository({ engine }: RequestContext, run: RunRow): Promise<SandboxRepositoryRow> {
  const row = await findRepository(engine.store, run.sandbox_id);
  if (row === undefined) throw new ServiceError(404, 'changes_not_found', 'The run was started without a repository.');
  return row;
}

const removedError = (): ServiceError =>
  new ServiceError(404, 'sandbox_not_found', 'The sandbox of this run has been removed, with the changes that the run made.');

const notReady = (run: RunRow): ServiceError =>
  new ServiceError(
    409,
    'repository_not_ready',
    isTerminal(run.status)
      ? `The repository was never checked out: the run is ${run.status}${run.error === null ? '' : `, because ${run.error}`}`
      : 'The repository has not been checked out yet; try again when the run has begun.',
  );

const changedFileView = (file: FileChange): ChangedFile => ({
  path: file.path,
  change: file.change,
  old_path: file.oldPath,
  size_before: file.sizeBefore,
  size_after: file.sizeAfter,
  mode_before: file.modeBefore,
  mode_after: file.modeAfter,
  lines_added: file.addedLines,
  lines_removed: file.removedLines,
});
