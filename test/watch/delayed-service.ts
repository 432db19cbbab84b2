/**
 * A simulated service whose runs follow a plan, and whose requests and streams take a while: a response shows the state at one moment, and
 * arrives later, possibly after newer information that came another way. Its streams continue where the reader left off, and break.
 */
import type { Client } from '../../src/client/client.ts';
import type { StreamEvent } from '../../src/client/event-stream.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { isFinal } from '../../src/watch/run-status.ts';
import { question } from './fake-run.ts';
import type { SharedTime } from './shared-time.ts';

/** What happens in a run at a time, in milliseconds. */
export type Change = { at: number } & ({ say: string } | { status: string } | { ask: string } | { settle: true });

interface RunStateAt {
  id: string;
  status: string;
  created_at: string;
  updated_at: string;
  completed_at: string | null;
  texts: string[];
  request: string | null;
  /** How often it has ended. */
  ends: number;
}

interface Position {
  seq: number;
  status: string | null;
  request: string | null;
  ends: number;
}

interface CallInput {
  params: { run_id: string };
  query: { limit: number; offset: number; status?: string; since?: string; until?: string };
}

interface StreamInput {
  params: { run_id: string };
  query: { run_ids: string };
}

export interface Delays {
  /** Milliseconds until a request arrives, until a response does, and until an event does. */
  delay: () => number;
  /** Milliseconds until a stream breaks. */
  lifetime: () => number;
  /** Whether the service reports when runs of the team change. */
  hasHints: boolean;
}

export class DelayedService {
  readonly #clock: SharedTime;
  readonly #plans: ReadonlyMap<string, readonly Change[]>;
  readonly #delays: Delays;
  readonly #startTime: number;

  constructor(clock: SharedTime, plans: ReadonlyMap<string, readonly Change[]>, delays: Delays) {
    this.#clock = clock;
    this.#plans = plans;
    this.#delays = delays;
    this.#startTime = clock.now();
  }

  readonly client = {
    onWaiting: () => () => undefined,
    call: async (id: string, input: CallInput, { signal }: { signal: AbortSignal }) => {
      await this.#clock.sleep(this.#delays.delay(), signal);
      const answer = this.#answer(id, input);
      await this.#clock.sleep(this.#delays.delay(), signal);
      return answer;
    },
    openEvents: async (
      id: string,
      { params, query }: StreamInput,
      { lastEventId, signal }: { lastEventId: string | undefined; signal: AbortSignal },
    ) => {
      await this.#clock.sleep(this.#delays.delay(), signal);
      if (id === 'streamTeamEvents' && !this.#delays.hasHints) throw new NoStreamError('none', { final: true });
      // In a stream of a single run, the IDs of events do not contain that of the run.
      const single = id === 'streamRunEvents' ? params.run_id : undefined;
      const ids = single === undefined ? (id === 'streamRunsEvents' ? query.run_ids.split(',') : undefined) : [single];
      const lastIds = single === undefined || lastEventId === undefined ? lastEventId : `${single}:${lastEventId}`;
      const reader = this.#reader(ids, lastIds, signal);
      const readNext = reader.next;
      const next = async (): Promise<StreamEvent | undefined> => {
        const event = await readNext();
        return event && single !== undefined ? { ...event, id: event.id.slice(single.length + 1) } : event;
      };
      await this.#clock.sleep(this.#delays.delay(), signal);
      return { ...reader, next };
    },
  } as unknown as Client;

  #timeOf = (at: number): string => new Date(this.#startTime + at).toISOString();

  #stateOf(id: string): RunStateAt {
    const now = this.#clock.now() - this.#startTime;
    const state: RunStateAt = {
      ...{ id, status: 'pending', created_at: this.#timeOf(Number(id.slice(1)) - 60_000), updated_at: this.#timeOf(0) },
      ...{ completed_at: null, texts: [], request: null, ends: 0 },
    };
    for (const change of this.#plans.get(id) ?? []) {
      if (change.at > now) break;
      state.updated_at = this.#timeOf(change.at);
      if ('say' in change) state.texts.push(change.say);
      if ('ask' in change) Object.assign(state, { request: change.ask, status: 'waiting' });
      if ('settle' in change) Object.assign(state, { request: null, status: 'running' });
      if (!('status' in change)) continue;
      Object.assign(state, { status: change.status, request: null });
      state.completed_at = isFinal(change.status) ? this.#timeOf(change.at) : null;
      if (isFinal(change.status)) state.ends += 1;
    }
    return state;
  }

  /** The status of a run, and the ID of its request. */
  stateOf(id: string): [status: string, requestId: string | undefined] {
    const { status, request } = this.#stateOf(id);
    return [status, request ?? undefined];
  }

  #rowOf({ texts: _, request, ends: __, ...row }: RunStateAt) {
    return { ...row, title: row.id, pending_human_request: request === null ? null : question(request) };
  }

  #messageOf = (id: string, index: number, text: string) => ({
    ...{ id: `${id}-${index}`, role: 'assistant', type: 'text', text_content: text, timestamp: this.#timeOf(0) },
  });

  #answer(id: string, { params, query }: CallInput): unknown {
    if (id === 'listRuns') {
      const { limit, offset, status, since = '', until = '9999' } = query;
      const rows = [...this.#plans.keys()]
        .map((runId) => this.#rowOf(this.#stateOf(runId)))
        .filter((row) => (status ?? row.status) === row.status && row.created_at >= since && row.created_at < until);
      return { data: rows.toReversed().slice(offset, offset + limit), total: rows.length };
    }
    const state = this.#stateOf(params.run_id);
    const { pending_human_request, ...run } = this.#rowOf(state);
    if (id === 'getRun') return { run, pending_human_request };
    const messages = state.texts.map((text, index) => this.#messageOf(state.id, index, text));
    return { messages: messages.slice(query.offset, query.offset + query.limit), total: messages.length };
  }

  /** @param ids the runs of a stream; undefined for the stream of the team, which only says that something has changed */
  #reader(ids: readonly string[] | undefined, lastEventId: string | undefined, signal: AbortSignal) {
    const clock = this.#clock;
    const breaksAt = clock.now() + this.#delays.lifetime();
    const positions = positionsOf(ids ?? [], lastEventId);
    const queue: { event: StreamEvent; arrivesAt: number }[] = [];
    let sentUntil = clock.now();
    /** Sends what is new at this moment. */
    const send = (): void => {
      const events =
        ids === undefined ? this.#hints(sentUntil) : [...positions].flatMap(([id, position]) => [...this.#eventsOf(id, position)]);
      sentUntil = clock.now();
      const arrivesAt = Math.max(queue.at(-1)?.arrivesAt ?? 0, sentUntil + this.#delays.delay());
      for (const event of events) queue.push({ event, arrivesAt });
    };
    send();
    const next = async (): Promise<StreamEvent | undefined> => {
      for (;;) {
        signal.throwIfAborted();
        send();
        const [first] = queue;
        if (clock.now() >= breaksAt) throw new Error('The stream is broken.');
        if (first !== undefined && first.arrivesAt <= clock.now()) return queue.shift()?.event;
        if (first === undefined && ids?.every((id) => this.#isEndReported(id, positions.get(id)))) return undefined;
        await clock.sleep(Math.min(first?.arrivesAt ?? Number.POSITIVE_INFINITY, breaksAt, this.#nextChange()) - clock.now(), signal);
      }
    };
    return { next, close: () => undefined, retry: undefined };
  }

  /** The time of the next change, by the clock. */
  #nextChange(): number {
    const times = [...this.#plans.values()].flat().map(({ at }) => this.#startTime + at);
    return Math.min(...times.filter((time) => time > this.#clock.now()));
  }

  #hints(since: number): StreamEvent[] {
    const times = [...this.#plans.values()].flat().map(({ at }) => this.#startTime + at);
    const isChanged = times.some((time) => time > since && time <= this.#clock.now());
    return isChanged ? [{ type: 'run.changed', id: '', data: '{}' }] : [];
  }

  #isEndReported(id: string, position: Position | undefined): boolean {
    const { status, ends } = this.#stateOf(id);
    return isFinal(status) && position?.ends === ends;
  }

  /** Like the service, which compares the state of a run with the position of the reader. */
  *#eventsOf(id: string, position: Position): Generator<StreamEvent> {
    const state = this.#stateOf(id);
    const { pending_human_request: request, ...run } = this.#rowOf(state);
    const event = (type: string, data: object, change: Partial<Position>): StreamEvent => {
      Object.assign(position, change);
      const { seq, status, request: pending, ends } = position;
      return { type, id: `${id}:${[seq, status ?? '', pending ?? '', ends].join('.')}`, data: JSON.stringify({ run_id: id, ...data }) };
    };
    for (const [index, text] of state.texts.entries())
      if (index >= position.seq) yield event('message', { message: this.#messageOf(id, index, text) }, { seq: index + 1 });
    if (position.request !== null && position.request !== state.request)
      yield event('human_request.resolved', { human_request_id: position.request, resolution: 'answered' }, { request: null });
    if (position.status !== state.status)
      yield event('run.status', { status: state.status, previous: position.status }, { status: state.status });
    if (state.request !== null && position.request !== state.request)
      yield event('human_request.pending', { human_request: request }, { request: state.request });
    if (isFinal(state.status) && position.ends < state.ends) yield event('run.finished', { run }, { ends: state.ends });
  }
}

/** The positions in a `Last-Event-ID`. */
function positionsOf(ids: readonly string[], lastEventId: string | undefined): Map<string, Position> {
  const known = new Map((lastEventId ?? '').split(',').map((part) => part.split(':') as [string, string]));
  return new Map(
    ids.map((id) => {
      const [seq = '0', status = '', request = '', ends = '0'] = known.get(id)?.split('.') ?? [];
      return [id, { seq: Number(seq), status: status || null, request: request || null, ends: Number(ends) }];
    }),
  );
}
