/**
 * Agents whose runs wait for a person. Their processes stay alive for a while, so that the answer goes to the process that asked. If it
 * has ended by then, another process resumes the session. Agents need too much memory to stay alive for longer.
 */
import type { Clock } from '../../../base/clock.ts';
import type { LiveAgent } from './live-agent.ts';

/** A waiting agent with the state of its turn. */
export interface ParkedAgent<State> {
  agent: LiveAgent;
  state: State;
}

interface Entry<State> extends ParkedAgent<State> {
  timer: AbortController;
}

export class ParkedAgents<State> {
  readonly #clock: Clock;
  readonly #idleTimeout: number;
  readonly #onEnd: (runId: string) => void;
  /** By run ID. The agent that has waited longest comes first. */
  readonly #entries = new Map<string, Entry<State>>();
  readonly #ending = new Set<Promise<void>>();

  /** @param idleTimeout milliseconds for which an agent stays parked @param onEnd called when the process of a parked agent has ended */
  constructor(clock: Clock, idleTimeout: number, onEnd: (runId: string) => void) {
    this.#clock = clock;
    this.#idleTimeout = idleTimeout;
    this.#onEnd = onEnd;
  }

  put(runId: string, parked: ParkedAgent<State>): void {
    const entry = { ...parked, timer: new AbortController() };
    this.#entries.set(runId, entry);
    const expire = (): void => {
      if (this.#entries.get(runId) === entry) this.end(runId);
    };
    this.#clock.sleep(this.#idleTimeout, entry.timer.signal).then(expire, () => undefined);
    // An agent whose process has ended cannot receive the answer.
    void parked.agent.connection.process.ended.then(expire);
  }

  /** Removes the agent of a run and returns it, if it is still parked. */
  take(runId: string): ParkedAgent<State> | undefined {
    const entry = this.#entries.get(runId);
    this.#entries.delete(runId);
    entry?.timer.abort();
    return entry;
  }

  /** Ends the agent of a run, if it is parked. Returns whether it was parked. */
  end(runId: string): boolean {
    return this.#finish(runId, (agent) => agent.end());
  }

  /** Cancels and ends the agent of a run that was stopped. Resolves when its process has ended. */
  async stop(runId: string): Promise<void> {
    this.#finish(runId, (agent) => agent.stop(this.#clock));
    await Promise.all(this.#ending);
  }

  /** Ends the agent that has waited longest, to free its slot. Returns false if no agent is parked. */
  endOldest(): boolean {
    const [oldest] = this.#entries.keys();
    return oldest !== undefined && this.end(oldest);
  }

  /** Ends all agents, and waits until their processes have ended. */
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
