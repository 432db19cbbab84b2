/** The fields that every view of a run displays. */

import { status, time } from '../../cli/kit/output.ts';
import type { Run, RunDetail } from '../../interface/types.ts';

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
