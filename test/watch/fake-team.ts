/** Simulated runs of a team without streams of their events: implements the operations that watching many runs by polling needs. */
import type { Client } from '../../src/client/client.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import type { HumanRequest } from '../../src/interface/types.ts';
import { question } from './fake-run.ts';
import type { SharedTime } from './shared-time.ts';

interface Row {
  id: string;
  status: string;
  created_at: string;
  pending_human_request: HumanRequest | null;
}

interface CallInput {
  params: { run_id: string };
  query: { limit: number; offset: number; status?: string; since?: string; until?: string };
}

const noStream = () => new NoStreamError('no stream', { final: true });

export class FakeTeam {
  /** When each request was made. */
  readonly requests: number[] = [];
  /** Milliseconds between the messages of each run; infinite if the runs send nothing. */
  messageInterval = Number.POSITIVE_INFINITY;
  /** Milliseconds between the changes that the stream of the team reports; undefined if there is no such stream. */
  changeInterval: number | undefined;
  readonly #rows: Row[];
  readonly #clock: SharedTime;
  readonly #startTime: number;
  readonly #firstMessages: number;

  /**
   * @param status the status of all runs
   * @param messages the number of messages of each run at the beginning
   */
  constructor(clock: SharedTime, runs: number, status: string, messages = 1) {
    this.#clock = clock;
    const createdAt = (index: number): string => new Date(clock.now() - 3_600_000 - index * 1_000).toISOString();
    this.#rows = Array.from({ length: runs }, (_, index) => ({
      id: `r${index}`,
      status,
      created_at: createdAt(index),
      pending_human_request: status === 'waiting' ? question(`q${index}`) : null,
    }));
    this.#startTime = clock.now();
    this.#firstMessages = messages;
  }

  get ids(): string[] {
    return this.#rows.map(({ id }) => id);
  }

  readonly client = {
    onWaiting: () => () => undefined,
    call: async (id: string, input: CallInput) => this.#call(id, input),
    openEvents: async (id: string, _: unknown, { signal }: { signal: AbortSignal }) => {
      if (id !== 'streamTeamEvents' || this.changeInterval === undefined) throw noStream();
      const next = async () => {
        await this.#clock.sleep(this.changeInterval as number, signal);
        return { type: 'run.changed', id: '', data: '{}' };
      };
      return { next, close: () => undefined, retry: undefined };
    },
  } as unknown as Client;

  #read(id: string) {
    const run = this.#rows.find((row) => row.id === id);
    return { run, pending_human_request: run?.pending_human_request };
  }

  #call(id: string, { params, query }: CallInput): unknown {
    this.requests.push(this.#clock.now());
    if (id === 'getRun') return this.#read(params.run_id);
    if (id === 'listRuns') {
      const { limit, offset, status, since = '', until = '9999' } = query;
      const rows = this.#rows.filter((row) => (status ?? row.status) === row.status && row.created_at >= since && row.created_at < until);
      return { data: rows.slice(offset, offset + limit), total: rows.length };
    }
    if (id !== 'listRunMessages') throw new Error(`not for watching: ${id}`);
    const total = this.#firstMessages + Math.floor((this.#clock.now() - this.#startTime) / this.messageInterval);
    const { limit, offset } = query;
    const length = Math.max(0, Math.min(limit, total - offset));
    const messages = Array.from({ length }, (_, index) => ({ id: `${params.run_id}-${offset + index}`, text_content: 'text' }));
    return { messages, total };
  }
}
