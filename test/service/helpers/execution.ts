/** An execution of a run, without a worker or a runtime. */
import path from 'node:path';
import { sql } from 'kysely';
import { BackupHolds } from '../../../src/service/engine/backup/backup-hold.ts';
import { RunSession, type SessionEngine } from '../../../src/service/engine/runs/run-session.ts';
import { localWorkspaces } from '../../../src/service/engine/workspaces/local-workspaces.ts';
import { FileStore } from '../../../src/service/files/file-store.ts';
import { FolderFiles } from '../../../src/service/files/folder-files.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { fileCopies } from '../../../src/service/store/database/sqlite/file-hold.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { enqueueJob, takeJob } from '../../../src/service/store/jobs/jobs.ts';
import { type ExecutedRun, executedRun } from '../../../src/service/store/runs/held-runs.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from './clock.ts';

/** A run of a case in progress, and an execution that owns its job. */
export async function startExecution() {
  const folder = await temporaryDirectory();
  await putEmptyDatabase(folder);
  const db = await openDatabase(folder);
  const clock = new ManualClock();
  // Rows of the tables in between are left out.
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into teams (id, name, created_at) values ('t', 'Team', '')`.execute(db);
  await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at) values ('a', 't', 'Agent', 'agent', '', '')`.execute(
    db,
  );
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Queue', '', '')`.execute(db);
  await sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, claimed_by_run_id, created_at, updated_at)
    values ('c', 'q', 1, 'Case', '{}', '', 'pending', 0, 'r', '', '')`.execute(db);
  await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
    turn, submitted_prompt_count, resume_count, case_id, webhook_url, created_at, updated_at)
    values ('r', 't', 'a', 'b', 1, '', '', 'running', 'api', 's', 'script', 'h', 1, 0, 0, 'c', 'http://127.0.0.1:9/', '2026-07-01T00:00:00.000Z', '')`.execute(
    db,
  );
  await enqueueJob(db, { kind: 'run', subjectId: 'r', dueAt: 0 });
  const queuedJob = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  const claimant = { owner: 'first', now: clock.now(), lease: 1_000 };
  const claim = await takeJob(db, queuedJob, claimant);
  const files = new FileStore(new FolderFiles(path.join(folder, 'files')));
  const backups = new BackupHolds({ copies: fileCopies(db), clock, log: () => undefined });
  afterTest(async () => {
    backups.close();
    await db.destroy();
  });
  let wakes = 0;
  const wake = (): void => {
    wakes += 1;
  };
  const engine = {
    ...{ store: db, clock, files, backups, containment: hostLauncher, browsing: { policy: 'off' as const, searchPath: '' } },
    log: () => undefined,
    worker: { wake, woken: () => new Promise(() => undefined), isWaitedFor: () => false, abort: () => undefined },
  } as unknown as SessionEngine;
  const controller = new AbortController();
  const claimed = { version: 0, wasElsewhere: false };
  const workspaces = localWorkspaces(new SandboxStore(path.join(folder, 'sandboxes')), engine);
  const workspace = await workspaces.open('s', claimed, { created: undefined, signal: controller.signal });
  /** Another session of the same execution, which reads what was recorded. */
  const reload = async (): Promise<RunSession> => {
    const session = new RunSession({
      ...{ engine, procedure: '', interruptions: 0, signal: controller.signal, workspace },
      claim: claim as NonNullable<typeof claim>,
      run: (await executedRun(db, claim as NonNullable<typeof claim>)) as ExecutedRun,
    });
    await session.load();
    return session;
  };
  const session = await reload();
  return {
    db,
    engine,
    session,
    reload,
    files: path.join(folder, 'files'),
    abort: () => controller.abort(),
    /** How often the worker was woken. */
    wakes: () => wakes,
    takeOver: () => takeJob(db, claim as NonNullable<typeof claim>, { ...claimant, owner: 'second' }),
  };
}

export type Execution = Awaited<ReturnType<typeof startExecution>>;
