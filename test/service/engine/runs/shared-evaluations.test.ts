/** The evaluation of a run while another node continues the run. */
import { expect, it } from 'vitest';
import { evaluateJob } from '../../../../src/service/engine/runs/evaluations.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { findEvaluation, putEvaluation, reopenEvaluation } from '../../../../src/service/store/agents/evaluations.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { lockRows } from '../../../../src/service/store/database/row-locks.ts';
import type { JobRow } from '../../../../src/service/store/database/schema.ts';
import { claimJob, enqueueJob } from '../../../../src/service/store/jobs/jobs.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const time = '2026-07-18T09:00:00.000Z';

describeNeeding(needsPostgres, 'an evaluation on Postgres', () => {
  it('waits for the run before it locks what is needed to continue the run', async () => {
    const [a, b, observer] = (await openNodes('a', 'b', 'observer')) as [Store, Store, Store];
    await insertTeam(a, { id: 't', name: 'T', created_at: time });
    await insertRuns(a, 't');
    const figures = { passed: 0, total: 4, critical: 0, medium: 0, low: 4, issues: 4, comment: null, results: '[]' };
    await putEvaluation(a, { run_id: 't 0', status: 'in_progress', ...figures, updated_at: time });
    await enqueueJob(a, { kind: jobKinds.evaluate, subjectId: 't 0', dueAt: 0 });
    const job = (await claimJob(b, jobKinds.evaluate, { owner: 'b', now: 1, lease: 1_000 })) as JobRow;
    const engine = { store: b, clock: new ManualClock(), workspaces: { files: async () => undefined } };
    let evaluating: Promise<unknown> | undefined;
    await a.transaction().execute(async (trx) => {
      await lockRows(trx, 'runs', ['t 0']);
      // The lock is sent with the next statement.
      await findEvaluation(trx, 't 0');
      evaluating = Promise.resolve(evaluateJob.run(engine as never, job as never, {} as never));
      evaluating.catch(() => undefined);
      while (!(await isLockWaitedFor(observer))) await new Promise((resolve) => setImmediate(resolve));
      const free = await observer.selectFrom('evaluations').select('run_id').where('run_id', '=', 't 0').forUpdate().skipLocked().execute();
      expect(free).toHaveLength(1);
      await reopenEvaluation(trx, 't 0', time);
    });
    await evaluating;
    expect(await findEvaluation(a, 't 0')).toMatchObject({ status: 'ready' });
  });
});
