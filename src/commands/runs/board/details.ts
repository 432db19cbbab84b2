/** What the list of runs does not contain, for the rows on the screen: the title of a named run, the last message, and the cost. */
import type { Context } from '../../../cli/kit/context.ts';
import { ifReadable } from '../../../cli/kit/secondary-requests.ts';
import { messageSummary } from '../../../cli/records/transcript.ts';
import type { Client } from '../../../client/client.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';

export interface Details {
  step?: string | undefined;
  cost?: string | undefined;
}

/** Between two runs whose details are read, in milliseconds: at most 2 a second, with one to three requests each. */
const pauseMs = 500;
/** After this time the details of a run that continues are read again, in milliseconds. */
const staleMs = 5_000;
/** Offsets at which there are certainly no messages; the response contains their number. */
const pastTheEnd = 1_000_000_000;

interface Read {
  state: string;
  at: number;
}

/** Differs also between two ends of a run, however short the turn in between was. */
const stateOf = ({ state, run }: WatchedRun): string => `${state.status} ${run?.completed_at}`;

export class DetailLoader {
  readonly #context: Context;
  readonly #client: Client;
  readonly #visibleRuns: () => readonly WatchedRun[];
  readonly #onDetails: (run: WatchedRun, details: Details) => void;
  readonly #reads = new Map<string, Read>();

  /** @param visibleRuns the runs on the screen, the selected one first */
  constructor(
    context: Context,
    client: Client,
    visibleRuns: () => readonly WatchedRun[],
    onDetails: (run: WatchedRun, details: Details) => void,
  ) {
    this.#context = context;
    this.#client = client;
    this.#visibleRuns = visibleRuns;
    this.#onDetails = onDetails;
  }

  /** Reads details, one run after the other, until the signal is aborted. They are only an addition, so failures are ignored. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    while (!signal.aborted) {
      const run = this.#visibleRuns().find((each) => this.#isDue(each));
      if (run !== undefined) {
        this.#reads.set(run.id, { state: stateOf(run), at: clock.now() });
        const details = await this.#read(run, signal);
        if (!signal.aborted) this.#onDetails(run, details);
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  #isDue(run: WatchedRun): boolean {
    const { id, state, isOver } = run;
    const read = this.#reads.get(id);
    if (state.status === null) return false;
    if (read === undefined || read.state !== stateOf(run)) return true;
    return !isOver && state.status !== 'waiting' && this.#context.clock.now() - read.at > staleMs;
  }

  async #read(run: WatchedRun, signal: AbortSignal): Promise<Details> {
    if (run.listItem === undefined) await this.#readListItem(run, signal);
    const options = { signal, once: true };
    const page = (limit: number, offset: number) =>
      ifReadable(this.#client.call('listRunMessages', { params: { run_id: run.id }, query: { limit, offset } }, options));
    const total = (await page(1, pastTheEnd))?.total ?? 0;
    const message = total === 0 ? undefined : (await page(1, total - 1))?.messages[0];
    return { step: message && messageSummary(message), cost: await this.#cost(run, signal) };
  }

  async #readListItem(run: WatchedRun, signal: AbortSignal): Promise<void> {
    const query = { search: run.id, limit: 1 };
    const list = await ifReadable(
      this.#client.call('listRuns', { params: { teamId: this.#context.teamId() }, query }, { signal, once: true }),
    );
    run.listItem = list?.data.find(({ id }) => id === run.id);
  }

  /** The cost is known for runs whose agent reports it. It is read when the run waits or has ended, because the response is large. */
  async #cost(run: WatchedRun, signal: AbortSignal): Promise<string | undefined> {
    const agentId = run.run?.agent_id;
    if (agentId == null || !(run.isOver || run.state.status === 'waiting')) return undefined;
    const detail = await ifReadable(this.#client.call('getRunDetail', { params: { agentId, runId: run.id } }, { signal, once: true }));
    const cost = detail?.agent_session?.usage?.cost;
    return cost ? `${cost.amount.toFixed(2)} ${cost.currency}` : undefined;
  }
}
