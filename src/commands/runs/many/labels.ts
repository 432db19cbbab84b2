/** How runs that are watched together are named in front of their lines: `invoice-check#17`. */
import type { AopsError } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { runTitle } from '../../../cli/names/run-names.ts';
import { pagedRows } from '../../../client/paging.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import type { RunEnd } from './outcome.ts';

/** Reads the names of agents once, when the first run that is not in the list of runs needs one. */
export class RunLabels {
  readonly #context: Context;
  #agents: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** The name of a run's agent, if it is known. */
  async agent({ listItem, run }: WatchedRun): Promise<string | undefined> {
    if (listItem !== undefined) return sanitizeLine(listItem.agent_name);
    if (run?.agent_id == null) return undefined;
    this.#agents ??= this.#readAgents();
    const name = (await this.#agents).get(run.agent_id);
    return name === undefined ? undefined : sanitizeLine(name);
  }

  /** `invoice-check#17`, which also names the run on the command line; without a number, the ID. */
  async label(run: WatchedRun): Promise<string> {
    const number = run.number;
    if (!number) return run.id;
    return `${(await this.agent(run)) ?? ''}${runTitle({ id: run.id, run_number: number })}`;
  }

  /** Names are only an addition: without the permission to read agents, runs are named by their numbers. */
  async #readAgents(): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    try {
      const client = await this.#context.client();
      const params = { teamId: this.#context.teamId() };
      for await (const { id, name } of pagedRows(async (limit, offset) => {
        const page = await client.call('listAgents', { params, query: { limit, offset } });
        return { items: page.agents, total: page.total };
      }, 100))
        names.set(id, name);
    } catch {
      this.#context.signal.throwIfAborted();
    }
    return names;
  }
}

/** How runs ended, or in which state they are left. */
export async function endsOf(runs: Iterable<WatchedRun>, labels: RunLabels, errors: ReadonlyMap<WatchedRun, AopsError>): Promise<RunEnd[]> {
  const ends: RunEnd[] = [];
  for (const run of runs) {
    const error = errors.get(run);
    const reason = run.run?.error ?? undefined;
    ends.push({ label: await labels.label(run), status: run.state.status ?? 'unknown', reason, error });
  }
  return ends;
}
