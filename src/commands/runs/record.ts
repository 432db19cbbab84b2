/** What every view of a run shows of it. */
import type { Run, RunDetail } from '../../interface/types.ts';
import { status, time } from '../output.ts';

export const runRecord = (run: Run | RunDetail) => ({
  Number: run.run_number ?? undefined,
  ID: run.id,
  Status: status(run.status),
  Agent: run.agent_id,
  Source: run.source,
  Created: time(run.created_at),
  Started: time(run.started_at),
  Completed: time(run.completed_at),
  Sandbox: run.sandbox_id,
});
