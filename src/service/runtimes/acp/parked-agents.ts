/**
 * Agents that are kept while their runs wait for a person. The answer then goes to the process that asked; without it, the session
 * is resumed by another one. The memory of an agent is too precious to keep it for long.
 */
import type { Clock } from '../../../base/clock.ts';
import type { LiveAgent } from './live-agent.ts';

/** An agent that waits, and the turn of the run that it is in. */
export interface ParkedAgent<State> {
  agent: LiveAgent;
  state: State;
}

interface Entry<State> extends ParkedAgent<State> {
  timer: AbortController;
}

export class ParkedAgents<State> {
  readonly #clock: Clock;
  readonly #time: number;
  readonly #onEnd: (runId: string) => void;
  /** By run, the one that waits longest first. */
  readonly #entries = new Map<string, Entry<State>>();
  readonly #ending = new Set<Promise<void>>();

  /** @param time milliseconds for which an agent is kept @param onEnd called when the process of an agent that was kept has ended */
  constructor(clock: Clock, time: number, onEnd: (runId: string) => void) {
    this.#clock = clock;
    this.#time = time;
    this.#onEnd = onEnd;
  }

  put(runId: string, parked: ParkedAgent<State>): void {
    const entry = { ...parked, timer: new AbortController() };
    this.#entries.set(runId, entry);
    const expire = (): void => {
      if (this.#entries.get(runId) === entry) this.end(runId);
    };
    this.#clock.sleep(this.#time, entry.timer.signal).then(expire, () => undefined);
    // One that has ended by itself cannot be answered.
    void parked.agent.connection.process.ended.then(expire);
  }

  /** Takes the agent of a run back, if it is still there. */
  take(runId: string): ParkedAgent<State> | undefined {
    const entry = this.#entries.get(runId);
    this.#entries.delete(runId);
    entry?.timer.abort();
    return entry;
  }

  /** Ends the agent of a run, if it is kept. Returns whether it was. */
  end(runId: string): boolean {
    return this.#finish(runId, (agent) => agent.end());
  }

  /** Cancels and ends the agent of a run that was stopped. */
  stop(runId: string): void {
    this.#finish(runId, (agent) => agent.stop(this.#clock));
  }

  /** Ends the agent that has waited longest, to make room for another. Returns false if none is kept. */
  endOldest(): boolean {
    const [oldest] = this.#entries.keys();
    return oldest !== undefined && this.end(oldest);
  }

  /** Ends all of them, and waits for their ends. */
  async close(): Promise<void> {
    for (const runId of [...this.#entries.keys()]) this.end(runId);
    await Promise.all(this.#ending);
  }

  #finish(runId: string, end: (agent: LiveAgent) => Promise<void>): boolean {
    const parked = this.take(runId);
    if (parked === undefined) return false;
    const ending = end(parked.agent).finally(() => {
      this.#ending.delete(ending);
      this.#onEnd(runId);
    });
    this.#ending.add(ending);
    return true;
  }
}
