import { AopsError, exitCodes } from '../../base/errors.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { findService, type LocalState, readState, removeState, servedElsewhere, stateFile } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { readHealth } from '../../client/health.ts';

/** The service drains for at most a few seconds before it ends. */
const stopMilliseconds = 15_000;
const endMilliseconds = 2_000;
const pollMilliseconds = 25;

export default defineCommand({
  summary: 'Stop the local service',
  description:
    'Unfinished runs continue from their last completed step when the service is started again. If the service is not running, the command succeeds.',
  exits: [exitCodes.conflict],
  examples: [{ command: 'aops local down', text: 'Stop the service; its data is kept unless it was started with --ephemeral' }],
  result: returns({ stopped: 'boolean', url: 'url|null' }),
  output: textOutput<{ stopped: boolean; url: string | null }>(({ stopped, url }) =>
    stopped ? `Stopped the local service at ${url}.` : 'The local service is not running.',
  ),
  async run(context) {
    const { state, isServed } = (await findService(context, undefined)) ?? {};
    if (!state) return { stopped: false, url: null };
    if (isServed) throw servedElsewhere(state);
    await stopService(context, state);
    if (state.ephemeral) await removeTree(state.data_dir);
    return { stopped: true, url: state.url };
  },
});

/** Stops the service and waits until it no longer responds. @throws AopsError when it does not stop */
export async function stopService(context: Context, state: LocalState): Promise<void> {
  context.launcher.kill(state.pid, 'SIGTERM');
  const deadline = context.clock.now() + stopMilliseconds;
  while (isAlive(context, state.pid) && (await readHealth(state.url))?.instance_id === state.instance_id) {
    if (context.clock.now() > deadline) {
      throw new AopsError(`The local service (process ${state.pid}) does not stop.`, {
        code: 'local_stop_failed',
        exit: exitCodes.failure,
        hint: `Kill it with \`kill -9 ${state.pid}\`; no acknowledged change is lost.`,
      });
    }
    await context.clock.sleep(pollMilliseconds, context.signal);
  }
  // The port is closed before the files are. They are closed once the state is removed, or the process is gone.
  const hasState = async (): Promise<boolean> => (await readState(stateFile(context)))?.instance_id === state.instance_id;
  while (isAlive(context, state.pid) && (await hasState()) && context.clock.now() < deadline)
    await context.clock.sleep(pollMilliseconds, context.signal);
  if (state.pid !== context.launcher.pid) await untilEnded(context, state.pid);
  await removeState(stateFile(context), state.instance_id);
}

/** Waits for a process that stores its compiled code last. Not for long: in a container, nobody might collect ended processes. */
async function untilEnded(context: Context, pid: number): Promise<void> {
  const deadline = context.clock.now() + endMilliseconds;
  while (isAlive(context, pid) && context.clock.now() < deadline) await context.clock.sleep(pollMilliseconds, context.signal);
}

function isAlive(context: Context, pid: number): boolean {
  try {
    context.launcher.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
