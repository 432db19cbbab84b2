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
  /** The number of runs that send messages; the first ones. */
  talkers = Number.POSITIVE_INFINITY;
  /** Whether `updated_at` of a run changes with each message. */
  showsMessages = false;
  /** The remaining part of the rate limit of 3,000 requests a minute; undefined if the service has none. */
  remaining: (() => number) | undefined;
  /** Milliseconds between the changes that the stream of the team reports; undefined if there is no such stream. */
  changeInterval: number | undefined;
  readonly #rows: Row[];
  readonly #clock: SharedTime;
  readonly #startTime: number;
  readonly #firstMessages: number;

  /**
   * @param statuses the status of each run, or of all of them
   * @param messages the number of messages of each run at the beginning
   */
  constructor(clock: SharedTime, runs: number, statuses: string | readonly string[], messages = 1) {
    this.#clock = clock;
    const statusOf = (index: number): string => (typeof statuses === 'string' ? statuses : (statuses[index] as string));
    const createdAt = (index: number): string => new Date(clock.now() - 3_600_000 - index * 1_000).toISOString();
    this.#rows = Array.from({ length: runs }, (_, index) => ({
      id: `r${index}`,
      status: statusOf(index),
      created_at: createdAt(index),
      pending_human_request: statusOf(index) === 'waiting' ? question(`q${index}`) : null,
    }));
    this.#startTime = clock.now();
    this.#firstMessages = messages;
  }

  get ids(): string[] {
    return this.#rows.map(({ id }) => id);
  }

  readonly client = Object.defineProperty(
    {
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
    },
    'allowance',
    { get: () => this.#allowance },
  ) as unknown as Client;

  get #allowance() {
    const remaining = this.remaining?.();
    return remaining === undefined ? undefined : { remaining, limit: 3_000, milliseconds: 60_000 - (this.#clock.now() % 60_000) };
  }

  /** When the message of a run with this index was sent. */
  sentAt(index: number): number {
    return this.#startTime + (index + 1 - this.#firstMessages) * this.messageInterval;
  }

  #messageCount(id: string): number {
    if (Number(id.slice(1)) >= this.talkers) return this.#firstMessages;
    return this.#firstMessages + Math.floor((this.#clock.now() - this.#startTime) / this.messageInterval);
  }

  #shown(row: Row | undefined) {
    if (row === undefined) return undefined;
    return { ...row, updated_at: this.showsMessages ? this.#timeOf(this.#messageCount(row.id) - 1) : this.#timeOf(0) };
  }

  #timeOf(index: number): string {
    return new Date(index < this.#firstMessages ? this.#startTime : this.sentAt(index)).toISOString();
  }

  #read(id: string) {
    const run = this.#shown(this.#rows.find((row) => row.id === id));
    return { run, pending_human_request: run?.pending_human_request };
  }

  #call(id: string, { params, query }: CallInput): unknown {
    this.requests.push(this.#clock.now());
    if (id === 'getRun') return this.#read(params.run_id);
    if (id === 'listRuns') {
      const { limit, offset, status, since = '', until = '9999' } = query;
      const rows = this.#rows.filter((row) => (status ?? row.status) === row.status && row.created_at >= since && row.created_at < until);
      return { data: rows.slice(offset, offset + limit).map((row) => this.#shown(row)), total: rows.length };
    }
    if (id !== 'listRunMessages') throw new Error(`not for watching: ${id}`);
    const total = this.#messageCount(params.run_id);
    const { limit, offset } = query;
    const length = Math.max(0, Math.min(limit, total - offset));
    const messages = Array.from({ length }, (_, index) => ({
      ...{ id: `${params.run_id}-${offset + index}`, text_content: 'text', timestamp: this.#timeOf(offset + index) },
    }));
    return { messages, total };
  }
}
