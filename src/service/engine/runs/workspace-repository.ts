/** The repository that a run works on, which is recorded when the run is created and checked out before the run begins. */
import { pluralize } from '../../../base/pluralize.ts';
import { ServiceError } from '../../errors.ts';
import {
  type Base,
  describeSource,
  type FilledWorkspace,
  finishCheckOut,
  type RepositorySource,
  shortCommit,
} from '../../repositories/repositories.ts';
import type { RuntimeEvent } from '../../runtimes/run-host.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Queries } from '../../store/database/database.ts';
import type { SandboxRepositoryRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { findRepository, insertRepository, recordCheckOut } from '../../store/runs/sandbox-repositories.ts';
import type { HasClock, HasRepositories, HasStore } from '../engine.ts';

/** A source that `Repositories.check` accepted. */
export interface RequestedRepository {
  source: RepositorySource;
  /** The commit of a folder; undefined for a URL, which is resolved later. */
  base: Base | undefined;
}

/** Adds a repository to a sandbox. Throws 409 `sandbox_has_repository` if it already has one. */
export async function addRepository(
  trx: Queries,
  { source, base }: RequestedRepository,
  { sandboxId, teamId, number, now }: { sandboxId: string; teamId: string; number: number; now: string },
): Promise<void> {
  if ((await findRepository(trx, sandboxId)) !== undefined) {
    const message = 'The sandbox already has a repository, on which the run would continue to work. Start the run without another one.';
    throw new ServiceError(409, 'sandbox_has_repository', message);
  }
  await insertRepository(trx, {
    sandbox_id: sandboxId,
    team_id: teamId,
    kind: source.kind,
    source: source.location,
    ref: source.ref ?? null,
    commit_id: base?.commit ?? null,
    base_branch: base?.branch ?? null,
    branch: `aops/run-${number}`,
    uncommitted_files: base?.uncommitted ?? 0,
    ready_at: null,
    created_at: now,
  });
}

/** The parts of a run's execution that are needed here. */
interface Execution {
  readonly sandbox: Sandbox;
  readonly signal: AbortSignal;
  emit(events: RuntimeEvent[]): Promise<void>;
  recordFiles(write: (trx: Queries) => Promise<void>): Promise<void>;
}

/** Milliseconds between messages about the progress. */
const progressInterval = 15_000;

/** Checks out the repository of the run's sandbox, if any and if not yet done. Throws a ServiceError that says what to do. */
export async function prepareRepository(engine: HasStore & HasClock & HasRepositories, execution: Execution): Promise<void> {
  const { store, repositories, clock } = engine;
  const { sandbox, signal } = execution;
  // Most runs have no repository, so they do not have to wait for each other.
  if (!isPending(await findRepository(store, sandbox.id))) return;
  await repositories.prepare(sandbox, async (fill) => {
    // Another run in the same sandbox might have done it in the meantime.
    const row = await findRepository(store, sandbox.id);
    if (!isPending(row)) return;
    const source: RepositorySource = { kind: row.kind, location: row.source, ref: row.ref ?? undefined };
    const order = { teamId: row.team_id, source, commit: row.commit_id, sourceBranch: row.base_branch, branch: row.branch };
    const workspace = await fill(order, { signal, onProgress: progressMessages(engine, execution, source) });
    await execution.recordFiles((trx) =>
      recordCheckOut(trx, sandbox.id, {
        commit_id: workspace.commit,
        base_branch: workspace.sourceBranch ?? null,
        ready_at: isoTime(clock.now()),
      }),
    );
    await finishCheckOut(sandbox);
    await execution.emit([{ kind: 'text', id: 'repository', text: describe(row, source, workspace) }]);
  });
}

const isPending = (row: SandboxRepositoryRow | undefined): row is SandboxRepositoryRow => row !== undefined && row.ready_at === null;

/** Reports progress as messages, but not more often than people want to read them. */
function progressMessages({ clock }: HasClock, execution: Execution, source: RepositorySource): (line: string) => void {
  let last = clock.now();
  let count = 0;
  return (line) => {
    const now = clock.now();
    if (now - last < progressInterval) return;
    last = now;
    count += 1;
    // If the run is no longer executed here, other calls report that.
    execution
      .emit([{ kind: 'text', id: `repository-progress-${count}`, text: `Reading ${describeSource(source)}: ${line}` }])
      .catch(() => undefined);
  };
}

const maxListedSubmodules = 10;

/** Describes what was checked out, and what is missing in it. */
function describe(row: SandboxRepositoryRow, source: RepositorySource, { commit, sourceBranch, gaps }: FilledWorkspace): string {
  const from = describeSource({ ...source, ref: source.ref ?? sourceBranch });
  const { files, submodules, usesLargeFileStorage, isShallow } = gaps;
  const listedNames = submodules.slice(0, maxListedSubmodules).join(', ');
  const unlistedCount = submodules.length - maxListedSubmodules;
  return [
    `Checked out ${from} (${shortCommit(commit)}) on the branch ${row.branch}: ${pluralize(files, 'file')}.`,
    row.uncommitted_files > 0 ? `Uncommitted work in ${pluralize(row.uncommitted_files, 'file')} is not included.` : undefined,
    submodules.length > 0
      ? `Submodules are not checked out, so their folders are empty: ${listedNames}${unlistedCount > 0 ? `, and ${unlistedCount} more` : ''}.`
      : undefined,
    usesLargeFileStorage ? 'Files in Git LFS contain pointers instead of their content.' : undefined,
    isShallow ? 'The history is incomplete, because the source is a shallow clone.' : undefined,
  ]
    .filter((line) => line !== undefined)
    .join('\n');
}
