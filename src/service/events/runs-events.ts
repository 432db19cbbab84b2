/** The events of several runs in one stream. Only the runs that have changed are read. */
import type { Waker } from './change-feed.ts';
import type { EventSource, ServerEvent } from './event-source.ts';
import { runsEventId } from './run-position.ts';

export interface RunSource {
  readonly id: string;
  /** Undefined for a run that does not exist. */
  readonly events: EventSource | undefined;
}

export class RunsEvents implements EventSource {
  readonly #sources: readonly RunSource[];
  readonly #waker: Pick<Waker, 'takeChangedIds'>;
  /** Runs to read, because they have changed or were not read completely. */
  readonly #dueIds = new Set<string>();
  readonly #endedIds = new Set<string>();

  constructor(sources: readonly RunSource[], waker: Pick<Waker, 'takeChangedIds'>) {
    this.#sources = sources;
    this.#waker = waker;
  }

  async *poll(): AsyncGenerator<ServerEvent, boolean, undefined> {
    const changedIds = this.#waker.takeChangedIds();
    for (const { id } of this.#sources) if (changedIds === undefined || changedIds.has(id)) this.#dueIds.add(id);
    for (const { id, events } of this.#sources) {
      if (!this.#dueIds.has(id)) continue;
      if (events !== undefined) yield* this.#eventsOf(id, events);
      else if (!this.#endedIds.has(id)) {
        this.#endedIds.add(id);
        yield { type: 'run.missing', data: { run_id: id } };
      }
      this.#dueIds.delete(id);
    }
    return this.#endedIds.size < this.#sources.length;
  }

  async *#eventsOf(runId: string, source: EventSource): AsyncGenerator<ServerEvent, void, undefined> {
    const events = source.poll();
    for (;;) {
      const { done, value } = await events.next();
      if (done !== true) {
        yield { id: runsEventId(runId, value.id ?? ''), type: value.type, data: { run_id: runId, ...(value.data as object) } };
        continue;
      }
      // A run that has ended continues when it gets a message.
      if (value) this.#endedIds.delete(runId);
      else this.#endedIds.add(runId);
      return;
    }
  }
}
