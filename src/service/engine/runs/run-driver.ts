/** Executes a `run` job: prepares the sandbox, lets the runtime advance the run, and records the outcome. */
import { hostTrouble } from '../../host-trouble.ts';
import { errorFields } from '../../log.ts';
import type { Outcome } from '../../runtimes/runtime.ts';
import { procedureText } from '../../store/agents/builds.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { type ClaimedJob, holdsJob, releaseJob, yieldJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { claimRunJob } from '../../store/runs/run-queue.ts';
import { changeRun, isTerminal, runById } from '../../store/runs/runs.ts';
import { reviveSandbox } from '../../store/runs/sandboxes.ts';
import type { HasClock, HasLog, HasRepositories, HasRunConcurrency, HasRuntimes, HasSandboxes, HasStore, HasWorker } from '../engine.ts';
import { defineJob, type JobClaim } from '../jobs/job.ts';
import { isShutdown } from '../jobs/leave.ts';
import { unlessAborted } from '../jobs/unless-aborted.ts';
import { recordRunEvents, runEvent } from '../webhooks/run-events.ts';
import { countInterruptions } from './interruptions.ts';
import { RunLostError, RunSession, type SessionEngine } from './run-session.ts';
import { prepareRepository } from './workspace-repository.ts';

/** The parts of the engine that are needed to execute a run. */
type DriverEngine = SessionEngine & HasSandboxes & HasRepositories & HasRuntimes;

/** Takes the next run, which is `starting` from then on. */
const claimRun: JobClaim = async (store, kind, claimant) => {
  const job = await claimRunJob(store, kind, claimant);
  const run = job && (await changeRun(store, job.subject_id, ['pending'], { status: 'starting', updated_at: isoTime(claimant.now) }));
  if (run !== undefined) await reviveSandbox(store, run.sandbox_id);
  return job;
};

/** Advances a run as far as it can go. Throws only errors that are not the run's own failure. */
export const runJob = defineJob<DriverEngine & HasRunConcurrency>({
  kind: jobKinds.run,
  concurrency: ({ runConcurrency }) => runConcurrency,
  run: driveRun,
  claim: claimRun,
  onStop: releaseProcesses,
});

async function driveRun(engine: DriverEngine, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  try {
    const session = await openSession(engine, job, signal);
    if (session === undefined) return;
    const outcome = await advance(engine, session, job, signal);
    if (signal.aborted) return await releaseRun(engine, job, signal);
    await session.finish(outcome);
    engine.log('info', 'run advanced', { run: job.subject_id, outcome: outcome.status });
  } catch (error) {
    releaseProcesses(engine, job.subject_id);
    if (error instanceof RunLostError || signal.aborted) return await releaseRun(engine, job, signal);
    throw error;
  }
}

/** Ends what a runtime keeps for a run that it believes to be waiting. */
function releaseProcesses({ runtimes }: HasRuntimes, runId: string): void {
  for (const runtime of runtimes.values()) runtime.release?.(runId);
}

/** Prepares everything that the runtime needs. Returns undefined if there is nothing to execute. */
async function openSession(engine: SessionEngine & HasSandboxes, job: ClaimedJob, signal: AbortSignal): Promise<RunSession | undefined> {
  const startingRun = await runById(engine.store, job.subject_id);
  // Created before the run is `running`: the files of a run that has started can be listed.
  const createdSandbox = isExecutable(startingRun) ? await engine.sandboxes.create(startingRun.sandbox_id) : undefined;
  const entry = await enter(engine, job);
  if (entry === undefined) return undefined;
  const { run: running, interruptions } = entry;
  const sandbox = createdSandbox ?? (await engine.sandboxes.create(running.sandbox_id));
  const agent = await engine.store.selectFrom('agents').select('name').where('id', '=', running.agent_id).executeTakeFirstOrThrow();
  const procedure = await procedureText(engine.store, running.procedure_hash);
  const session = new RunSession({ engine, claim: job, run: running, agentName: agent.name, procedure, sandbox, interruptions, signal });
  await session.load();
  return session;
}

type ExecutableRun = RunRow & { status: 'not_started' | 'pending' | 'starting' | 'running' };

const isExecutable = (run: RunRow | undefined): run is ExecutableRun =>
  run !== undefined && !isTerminal(run.status) && run.status !== 'waiting';

interface RunEntry {
  run: RunRow;
  /** How often the run has been interrupted since it last made progress. */
  interruptions: number;
}

/** Changes the status of a run to `running`. Returns undefined, with the job released, if there is nothing to execute. */
async function enter(engine: HasStore & HasClock & HasWorker, job: ClaimedJob): Promise<RunEntry | undefined> {
  let shouldWake = false;
  const entry = await engine.store.transaction().execute(async (trx) => {
    const run = (await holdsJob(trx, job)) ? await runById(trx, job.subject_id) : undefined;
    if (!isExecutable(run)) {
      await releaseJob(trx, job, { status: run?.status === 'waiting' ? 'parked' : 'done' });
      return undefined;
    }
    const now = isoTime(engine.clock.now());
    const isStart = run.started_at === null;
    const changedRun = await changeRun(trx, run.id, ['pending', 'starting'], {
      status: 'running',
      started_at: isStart ? now : run.started_at,
      updated_at: now,
    });
    if (isStart && changedRun !== undefined)
      shouldWake = await recordRunEvents(engine.clock, trx, changedRun, [runEvent(trx, 'run.started', changedRun)]);
    return { run: changedRun ?? run, interruptions: await countInterruptions(trx, job, run) };
  });
  if (shouldWake) engine.worker.wake();
  return entry;
}

async function advance(
  engine: HasStore & HasClock & HasLog & HasRepositories & HasRuntimes,
  session: RunSession,
  job: ClaimedJob,
  signal: AbortSignal,
): Promise<Outcome> {
  const run = await runById(engine.store, job.subject_id);
  const runtime = engine.runtimes.get(run?.runtime ?? '');
  if (runtime === undefined) return { status: 'failed', error: `The runtime "${run?.runtime}" is not available in this service.` };
  try {
    await unlessAborted(prepareRepository(engine, session), signal);
    return await unlessAborted(runtime.advance(session), signal);
  } catch (error) {
    if (error instanceof RunLostError || signal.aborted || hostTrouble(error) !== undefined) throw error;
    engine.log('warn', 'a run failed with an error of its runtime', { run: job.subject_id, ...errorFields(error) });
    return { status: 'failed', error: error instanceof Error ? error.message : String(error) };
  }
}

/** After an abort: at shutdown, the job is released so that the run continues at the next start. A stopped or lost job must not be touched. */
async function releaseRun(engine: HasStore & HasClock, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  if (isShutdown(signal)) await yieldJob(engine.store, job, engine.clock.now());
}
