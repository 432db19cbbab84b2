/** Waits for a run. The wait is short, because many clients allow a call at most a minute. */
import Type from 'typebox';
import { steadyTime } from '../../../base/clock.ts';
import { Closed } from '../../../interface/schemas/common.ts';
import type { Response } from '../../../interface/types.ts';
import { defineTool, type ToolCall } from '../tool.ts';
import { describeRun } from '../words.ts';
import { runId } from './arguments.ts';

const maxSeconds = 25;
/** The interval between two polls of the run in milliseconds: short at first, for quick runs. */
const firstPause = 50;
const maxPause = 1_000;

const endStatuses: readonly string[] = ['completed', 'failed', 'interrupted', 'waiting'];

export const waitForRun = defineTool({
  name: 'wait_for_run',
  title: 'Wait for a run',
  description: `Waits until a run has ended or waits for a person, at most ${maxSeconds} seconds, and returns it like get_run. When still_running is true, call it again.`,
  operation: 'getRun',
  input: Closed({
    run_id: runId,
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxSeconds, description: `How long to wait (default ${maxSeconds})` }),
    ),
  }),
  readOnly: true,
  async run(call, { run_id, timeout_seconds: seconds = maxSeconds }) {
    const answer = await settledRun(call, run_id, steadyTime(call.clock) + seconds * 1_000);
    const still_running = !endStatuses.includes(answer.run.status);
    const text = describeRun(answer.run, answer.pending_human_request);
    return {
      structured: { ...answer, still_running },
      text: still_running ? `${text} It is still running; call wait_for_run again.` : text,
    };
  },
});

/** The run when it has settled, or its state at `until`, a steady time. */
async function settledRun({ call, clock, signal, report }: ToolCall, run_id: string, until: number): Promise<Response<'getRun'>> {
  let lastReport = '';
  for (let pause = firstPause; ; pause = Math.min(2 * pause, maxPause)) {
    const answer = await call('getRun', { params: { run_id } });
    const remaining = until - steadyTime(clock);
    if (endStatuses.includes(answer.run.status) || remaining <= 0 || signal.aborted) return answer;
    if (lastReport !== answer.run.status) await report(`The run is ${answer.run.status}.`);
    lastReport = answer.run.status;
    // If the wait ends early, it returns the latest state.
    await clock.sleep(Math.min(pause, remaining), signal).catch(() => undefined);
  }
}
