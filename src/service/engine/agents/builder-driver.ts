/** Executes a `builder_run` job: lets the builder of the runtime work, and records the outcome. After a restart, it starts over. */

import { messageOf } from '../../../base/errors.ts';
import type { RevisionConfig } from '../../../interface/types.ts';
import { findChromium } from '../../browser/chromium.ts';
import { hostTrouble } from '../../host-trouble.ts';
import { newId } from '../../ids.ts';
import { errorFields } from '../../log.ts';
import type { BuildOutcome } from '../../runtimes/builder.ts';
import { builderRunById, changeBuilderRun } from '../../store/agents/builder-runs.ts';
import { listConnectionRows } from '../../store/connections/connections.ts';
import type { Queries } from '../../store/database/database.ts';
import { fromJson } from '../../store/database/json-column.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { BuilderRunRow, BuilderRunsTable, JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { holdsJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { maxConnections } from '../connections/connections.ts';
import type { HasClock, HasLog, HasRunPolicy, HasRuntimes, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { leaveJob } from '../jobs/leave.ts';
import { unlessAborted } from '../jobs/unless-aborted.ts';
import { inputText } from '../revision/procedure.ts';

/** The builder run was discarded, or another worker has taken it over. */
class BuildLostError extends Error {}

/** Works on a builder run until it asks a question, proposes a revision, or fails. */
export const builderRunJob = defineJob({ kind: jobKinds.builderRun, concurrency: 2, run: driveBuilderRun });

async function driveBuilderRun(
  engine: HasStore & HasClock & HasLog & HasRuntimes & HasRunPolicy,
  job: JobRow,
  signal: AbortSignal,
): Promise<void> {
  try {
    const now = isoTime(engine.clock.now());
    const run = await write(engine, job, signal, async (trx, row) =>
      row.started_at === null ? change(trx, row, { started_at: now }) : row,
    );
    const enter = (phase: string) => write(engine, job, signal, (trx, row) => change(trx, row, { phase }));
    const outcome = await unlessAborted(build(engine, run, enter), signal);
    await write(engine, job, signal, (trx, row) => finish(engine, trx, job, row, outcome));
    engine.log('info', 'builder run advanced', { builder_run: run.id, outcome: outcome.status });
  } catch (error) {
    if (!(error instanceof BuildLostError) && !signal.aborted) throw error;
    await leaveJob(engine.store, job, signal, engine.clock.now());
  }
}

/** The names and IDs by which procedures of the team can refer to its connections. */
async function connectionNames({ store }: HasStore, run: BuilderRunRow): Promise<string[]> {
  const agent = await store.selectFrom('agents').select('team_id').where('id', '=', run.agent_id).executeTakeFirstOrThrow();
  const { rows } = await listConnectionRows(store, { teamId: agent.team_id }, { limit: maxConnections, offset: 0 });
  return rows.flatMap(({ id, name }) => [id, name]);
}

async function build(
  engine: HasStore & HasLog & HasRuntimes & HasRunPolicy,
  run: BuilderRunRow,
  enter: (phase: string) => Promise<unknown>,
): Promise<BuildOutcome> {
  const builder = engine.runtimes.get(run.runtime)?.builder;
  if (builder === undefined) return { status: 'failed', error: `The runtime "${run.runtime}" no longer has a builder in this service.` };
  const config = fromJson<RevisionConfig>(run.base_config);
  const request = {
    procedure: config === null ? null : inputText(config.data.input),
    prompt: run.prompt,
    answers: JSON.parse(run.answers) as Record<string, string>,
    exec: engine.containment.level,
    connections: await connectionNames(engine, run),
    browsing: engine.browsing.policy !== 'off' && (await findChromium(engine.browsing).then(Boolean, () => false)),
  };
  try {
    return await builder.build(request, async (phase) => void (await enter(phase)));
  } catch (error) {
    if (error instanceof BuildLostError || hostTrouble(error) !== undefined) throw error;
    engine.log('warn', 'a builder run failed with an error of its builder', { builder_run: run.id, ...errorFields(error) });
    return { status: 'failed', error: `The builder failed: ${messageOf(error)}` };
  }
}

async function finish(engine: HasClock, trx: Queries, job: JobRow, run: BuilderRunRow, outcome: BuildOutcome): Promise<BuilderRunRow> {
  const now = isoTime(engine.clock.now());
  await releaseJob(trx, job, { status: outcome.status === 'asking' ? 'parked' : 'done' });
  switch (outcome.status) {
    case 'failed':
      return change(trx, run, { status: 'failed', error: outcome.error, completed_at: now, updated_at: now });
    case 'asking': {
      const [first, ...rest] = outcome.questions;
      const title = rest.length === 0 ? (first?.question ?? '') : `The builder has ${outcome.questions.length} questions about the request`;
      const questions = { id: newId(), type: 'question', title, description: null, created_at: now, questions: outcome.questions };
      return change(trx, run, { status: 'waiting_for_input', phase: 'asking', questions: JSON.stringify(questions), updated_at: now });
    }
    case 'proposed':
      return change(trx, run, {
        status: 'waiting_for_approve',
        phase: 'reviewing',
        proposed_config: JSON.stringify(withProcedure(run, outcome.procedure)),
        changes: JSON.stringify(outcome.changes),
        setup_changes: JSON.stringify(outcome.setupChanges),
        schedule_suggested: outcome.scheduleSuggested ? 1 : 0,
        updated_at: now,
      });
  }
}

/** The configuration with another procedure, or a new configuration. Several messages become one text, which is how they are executed. */
function withProcedure(run: BuilderRunRow, procedure: string): RevisionConfig {
  if (run.base_config === null) {
    return {
      version: 'v2',
      data: { models: { agent: { model: run.runtime }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure },
    };
  }
  const config = JSON.parse(run.base_config) as RevisionConfig;
  return { ...config, data: { ...config.data, input: procedure } };
}

/** Writes in one transaction, which fails with BuildLostError if this execution no longer owns the builder run. */
async function write(
  engine: HasStore,
  job: JobRow,
  signal: AbortSignal,
  make: (trx: Queries, run: BuilderRunRow) => Promise<BuilderRunRow>,
): Promise<BuilderRunRow> {
  if (signal.aborted) throw new BuildLostError();
  return engine.store.transaction().execute(async (trx) => {
    await lockRows(trx, 'builder_runs', [job.subject_id]);
    const run = (await holdsJob(trx, job)) ? await builderRunById(trx, job.subject_id) : undefined;
    if (run === undefined || run.status !== 'running') throw new BuildLostError();
    return make(trx, run);
  });
}

async function change(trx: Queries, run: BuilderRunRow, changes: Partial<Omit<BuilderRunsTable, 'id'>>): Promise<BuilderRunRow> {
  const changedRow = await changeBuilderRun(trx, run.id, ['running'], changes as never);
  if (changedRow === undefined) throw new BuildLostError();
  return changedRow;
}
