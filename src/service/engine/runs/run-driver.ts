/** Executes a `run` job: prepares the sandbox, lets the runtime advance the run, and records the outcome. */
import { messageOf } from '../../../base/errors.ts';
import { hostTrouble } from '../../host-trouble.ts';
import { errorFields } from '../../log.ts';
import type { Outcome } from '../../runtimes/run-host.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { procedureText } from '../../store/agents/builds.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockLateRow, lockRows } from '../../store/database/row-locks.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { type ClaimedJob, deferJob, holdsJob, releaseJob, yieldJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { type ExecutedRun, executedRun } from '../../store/runs/held-runs.ts';
import { claimRunJob } from '../../store/runs/run-queue.ts';
import { changeReadRun, isTerminal, runById } from '../../store/runs/runs.ts';
import { reviveSandbox } from '../../store/runs/sandboxes.ts';
import type { ClaimedWorkspace } from '../../store/runs/workspace-files.ts';
import type { HasClock, HasLog, HasRepositories, HasRunConcurrency, HasRuntimes, HasStore, HasWorker, HasWorkspaces } from '../engine.ts';
import { defineJob, type JobClaim } from '../jobs/job.ts';
import { isShutdown } from '../jobs/leave.ts';
import { unlessAborted } from '../jobs/unless-aborted.ts';
import type { RunWorkspace } from '../run-workspaces.ts';
import { recordRunEvents, runEvent } from '../webhooks/run-events.ts';
import { WorkspaceLostError } from '../workspaces/workspace-lost.ts';
import { countInterruptions } from './interruptions.ts';
import { RunLostError } from './run-record.ts';
import { RunSession, type SessionEngine } from './run-session.ts';
import { prepareRepository } from './workspace-repository.ts';

/** The parts of the engine that are needed to execute a run. */
type DriverEngine = SessionEngine & HasWorkspaces & HasRepositories & HasRuntimes;

/** A claimed run. If nothing has to be prepared, it is `running` since the claim. */
type RunClaim = ClaimedJob & {
  readonly begun?: { readonly run: ExecutedRun; readonly sandbox: Sandbox; readonly shouldWake: boolean };
  /** Undefined if there is nothing to execute. */
  readonly workspace?: ClaimedWorkspace;
};

/** Milliseconds after which a run is tried again whose sandbox is in use by a run on another node. */
const sandboxDelay = 1_000;

/**
 * Takes the next run. It is `running` from then on, unless it has to wait for its files, which can be listed once it has started: then it
 * is `starting` until the driver has opened its sandbox.
 */
const claimRun: JobClaim<DriverEngine> = async (engine, trx, kind, claimant): Promise<RunClaim | 'locked' | undefined> => {
  const claimed = await claimRunJob(trx, kind, claimant);
  if (claimed === undefined || claimed === 'locked') return claimed;
  const { run, use, ...job } = claimed;
  if (!isExecutable(run)) return job;
  if (run.status === 'pending' && run.started_at !== null) await reviveSandbox(trx, run.sandbox_id);
  const workspace = await engine.workspaces.claim(trx, run.sandbox_id, job.id, use);
  if (workspace === undefined) {
    await deferJob(trx, job, claimant.now + sandboxDelay);
    return claimRun(engine, trx, kind, { ...claimant, hasClaimed: true });
  }
  if (run.status !== 'pending') return { ...job, workspace };
  // An abandoned run was found by its job, and is not locked yet.
  await lockLateRow(trx, 'runs', run.id);
  const sandbox = job.wasInterrupted ? undefined : engine.workspaces.newSandbox(run.sandbox_id, workspace);
  if (sandbox !== undefined) {
    const { run: begunRun, shouldWake } = await begin(engine, trx, run);
    return { ...job, workspace, begun: { run: begunRun, sandbox, shouldWake } };
  }
  await changeReadRun(trx, run, { status: 'starting', updated_at: isoTime(claimant.now) });
  return { ...job, workspace };
};

/** Changes the status of a run, which the transaction has read, to `running`. With `shouldWake`, wake the worker after the commit. */
async function begin<Run extends RunRow>(engine: HasClock, trx: Queries, run: Run): Promise<{ run: Run; shouldWake: boolean }> {
  const now = isoTime(engine.clock.now());
  const changes = { status: 'running' as const, started_at: run.started_at ?? now, updated_at: now };
  const changedRun = await changeReadRun(trx, run, changes);
  if (changedRun === undefined) throw new Error('the run has changed within the transaction');
  const isFirst = run.started_at === null;
  const shouldWake = isFirst && (await recordRunEvents(engine.clock, trx, changedRun, [runEvent(trx, 'run.started', changedRun)]));
  return { run: changedRun, shouldWake };
}

/** Advances a run as far as it can go. Throws only errors that are not the run's own failure. */
export const runJob = defineJob<DriverEngine & HasRunConcurrency>({
  kind: jobKinds.run,
  concurrency: ({ runConcurrency }) => runConcurrency,
  run: driveRun,
  claim: claimRun,
  onStop: releaseProcesses,
});

async function driveRun(engine: DriverEngine, job: RunClaim, signal: AbortSignal): Promise<void> {
  let session: RunSession | undefined;
  let isOver = false;
  // Deliveries of its beginning, which are stored since the claim was committed.
  if (job.begun?.shouldWake) engine.worker.wake();
  try {
    session = await openSession(engine, job, signal);
    if (session === undefined) return;
    const outcome = await advance(engine, session, job, signal);
    if (signal.aborted) return await releaseRun(engine, job, session, signal);
    await session.finish(outcome);
    isOver = outcome.status === 'completed' || outcome.status === 'failed';
    engine.log('info', 'run advanced', { run: job.subject_id, outcome: outcome.status });
  } catch (error) {
    void releaseProcesses(engine, job.subject_id);
    if (isLost(error) || signal.aborted) return await releaseRun(engine, job, session, signal);
    throw error;
  } finally {
    session?.workspace.close(isOver);
  }
}

const isLost = (error: unknown): boolean => error instanceof RunLostError || error instanceof WorkspaceLostError;

/** Ends what a runtime keeps for a run that it believes to be waiting. Resolves when its processes have ended. */
async function releaseProcesses({ runtimes }: HasRuntimes, runId: string): Promise<void> {
  await Promise.all([...runtimes.values()].map((runtime) => runtime.release?.(runId)));
}

/** Prepares everything that the runtime needs. Returns undefined if there is nothing to execute. */
async function openSession(engine: DriverEngine, job: RunClaim, signal: AbortSignal): Promise<RunSession | undefined> {
  const claimedRun = job.begun?.run ?? (await executedRun(engine.store, job));
  // Opened before the run is `running`: the files of a run that has started can be listed.
  const workspace = isExecutable(claimedRun) ? await openWorkspace(engine, job, claimedRun, signal) : undefined;
  try {
    const isEntered = claimedRun?.status === 'running' && !job.wasInterrupted;
    const interruptions = isEntered ? 0 : await enter(engine, job);
    const run = isEntered || interruptions === undefined ? claimedRun : await executedRun(engine.store, job);
    if (interruptions === undefined || run === undefined || workspace === undefined) {
      workspace?.close();
      return undefined;
    }
    const procedure = await procedureText(engine.store, run.procedure_hash);
    const session = new RunSession({ engine, claim: job, run, procedure, workspace, interruptions, signal });
    await session.load();
    return session;
  } catch (error) {
    workspace?.close();
    throw error;
  }
}

async function openWorkspace(
  engine: DriverEngine,
  job: RunClaim,
  run: ExecutedRun,
  signal: AbortSignal,
): Promise<RunWorkspace | undefined> {
  const claimed = job.workspace ?? (await claimWorkspace(engine, job, run));
  if (claimed === undefined) return undefined;
  // The process of an agent that waits here would continue with files, and with a session, of the past.
  if (claimed.wasElsewhere) await releaseProcesses(engine, run.id);
  return engine.workspaces.open(run.sandbox_id, claimed, { created: job.begun?.sandbox, signal });
}

/** For a job that something else than `claimRun` has claimed. */
const claimWorkspace = (engine: DriverEngine, job: ClaimedJob, run: ExecutedRun): Promise<ClaimedWorkspace | undefined> =>
  engine.store
    .transaction()
    .execute(async (trx) => ((await holdsJob(trx, job)) ? engine.workspaces.claim(trx, run.sandbox_id, job.id) : undefined));

type ExecutableStatus = 'not_started' | 'pending' | 'starting' | 'running';

const isExecutable = <Run extends RunRow>(run: Run | undefined): run is Run & { status: ExecutableStatus } =>
  run !== undefined && !isTerminal(run.status) && run.status !== 'waiting';

/**
 * Changes the status of a run to `running`. Returns how often the run has been interrupted since it last made progress, or undefined,
 * with the job released, if there is nothing to execute.
 */
async function enter(engine: HasStore & HasClock & HasWorker, job: ClaimedJob): Promise<number | undefined> {
  let shouldWake = false;
  const interruptions = await engine.store.transaction().execute(async (trx) => {
    await lockRows(trx, 'runs', [job.subject_id]);
    const run = (await holdsJob(trx, job)) ? await runById(trx, job.subject_id) : undefined;
    if (!isExecutable(run)) {
      await releaseJob(trx, job, { status: run?.status === 'waiting' ? 'parked' : 'done' });
      return undefined;
    }
    if (run.status === 'pending' || run.status === 'starting') ({ shouldWake } = await begin(engine, trx, run));
    return countInterruptions(trx, job, run);
  });
  if (shouldWake) engine.worker.wake();
  return interruptions;
}

async function advance(
  engine: HasStore & HasClock & HasLog & HasRepositories & HasRuntimes,
  session: RunSession,
  job: ClaimedJob,
  signal: AbortSignal,
): Promise<Outcome> {
  const runtime = engine.runtimes.get(session.runtime);
  if (runtime === undefined) return { status: 'failed', error: `The runtime "${session.runtime}" is not available in this service.` };
  try {
    if (session.hasRepository) await unlessAborted(prepareRepository(engine, session), signal);
    return await unlessAborted(runtime.advance(session), signal);
  } catch (error) {
    if (isLost(error) || signal.aborted || hostTrouble(error) !== undefined) throw error;
    engine.log('warn', 'a run failed with an error of its runtime', { run: job.subject_id, ...errorFields(error) });
    return { status: 'failed', error: messageOf(error) };
  }
}

/**
 * After an abort: at shutdown, the job is released so that the run continues at the next start, or on another node. A stopped or lost job
 * must not be touched.
 */
async function releaseRun(
  engine: HasStore & HasClock,
  job: ClaimedJob,
  session: RunSession | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) await session?.workspace.salvage();
  if (isShutdown(signal)) await yieldJob(engine.store, job, engine.clock.now());
}
