/** What a run changed in its repository, and the patch of it. */
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import { type ResolvedRun, resolveRun } from '../../../cli/names/resolve-run.ts';
import { ServiceAnswerError } from '../../../client/errors.ts';
import { download } from '../../../client/transfers/download.ts';
import type { ChangedFile, RunChanges } from '../../../interface/types.ts';

export const changesOperations = ['getRunChanges', 'getRun', 'listAgents'] as const;

/**
 * The changes of a run.
 * @param agent only accept a run of this agent
 * @param advice what to do if the run has no repository
 * @throws UsageError if it has none; AopsError `run_not_found` for a run of another agent, `sandbox_not_found` if its files were removed
 */
export async function readRunChanges(
  context: Context,
  name: string,
  { agent, advice }: { agent?: string | undefined; advice: string },
): Promise<{ run: ResolvedRun; changes: RunChanges }> {
  const client = await context.client();
  const run = await resolveRun(context, name);
  const params = { run_id: run.id };
  if (agent !== undefined) await requireAgent(context, run.id, agent);
  try {
    return { run, changes: (await client.call('getRunChanges', { params })).data };
  } catch (error) {
    if (!(error instanceof ServiceAnswerError)) throw error;
    if (error.code === 'changes_not_found') throw new UsageError('The run was started without a repository.', advice);
    if (error.code !== 'sandbox_not_found') throw error;
    const hint = 'Its messages are still available: `aops runs messages RUN`.';
    throw new AopsError(error.message, { code: error.code, exit: exitCodes.notFound, hint, details: error.details, cause: error });
  }
}

async function requireAgent(context: Context, run_id: string, agent: string): Promise<void> {
  const client = await context.client();
  const { run } = await client.call('getRun', { params: { run_id } });
  if (run.agent_id === (await agentId(context, agent))) return;
  throw new AopsError(`There is no run ${run_id} of the agent ${agent}.`, { code: 'run_not_found', exit: exitCodes.notFound });
}

/** The bytes of the patch; none if nothing has changed. */
export async function* patchBytes(context: Context, { patch_url, patch_size }: RunChanges): AsyncGenerator<Uint8Array, void, undefined> {
  if (patch_url !== null) yield* download(await context.client(), patch_url, { signal: context.signal, size: patch_size });
}

/** A changed file, and the part of the patch that belongs to it. */
export class PatchedFile implements ChangedFile {
  readonly path: string;
  readonly change: ChangedFile['change'];
  readonly old_path: string | null;
  readonly size_before: number | null;
  readonly size_after: number | null;
  readonly mode_before: string | null;
  readonly mode_after: string | null;
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  readonly #patch: string | undefined;

  constructor(file: ChangedFile, patch: string | undefined) {
    this.path = file.path;
    this.change = file.change;
    this.old_path = file.old_path;
    this.size_before = file.size_before;
    this.size_after = file.size_after;
    this.mode_before = file.mode_before;
    this.mode_after = file.mode_after;
    this.lines_added = file.lines_added;
    this.lines_removed = file.lines_removed;
    this.#patch = patch;
  }

  /** Undefined if it was not requested. Not part of the JSON output. */
  get patch(): string | undefined {
    return this.#patch;
  }
}
