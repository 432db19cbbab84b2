/** Runs a command for one event after the other, in their order, without delaying the watch. */
import { pluralize } from '../../base/pluralize.ts';

/** How many events can wait for the command. */
export const maxWaiting = 100;

interface Parts<Event> {
  /** Resolves to what went wrong, as the end of a sentence, or to undefined. */
  run: (event: Event, signal: AbortSignal) => Promise<string | undefined>;
  describe: (event: Event) => string;
  warn: (text: string) => void;
}

export class CommandQueue<Event> {
  readonly #parts: Parts<Event>;
  readonly #controller = new AbortController();
  readonly #waiting: Event[] = [];
  #work: Promise<void> = Promise.resolve();
  #isBusy = false;
  #droppedCount = 0;

  constructor(parts: Parts<Event>) {
    this.#parts = parts;
  }

  /** Whether the command is running or has to run. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  add(event: Event): void {
    if (this.#controller.signal.aborted) return;
    if (this.#waiting.length >= maxWaiting) {
      this.#droppedCount += 1;
      return;
    }
    this.#waiting.push(event);
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#work = this.#runAll();
  }

  /** Resolves when the command has run for every event. */
  drain(): Promise<void> {
    return this.#work;
  }

  /** Ends the command, and forgets the events that wait for it. */
  abort(): void {
    this.#waiting.length = 0;
    this.#controller.abort();
  }

  async #runAll(): Promise<void> {
    const { run, describe, warn } = this.#parts;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      const problem = await run(event, this.#controller.signal).catch((error: Error) => `could not be started: ${error.message}`);
      if (problem !== undefined) warn(`The command of --exec ${problem} (${describe(event)}).`);
      this.#reportDropped();
    }
    this.#isBusy = false;
  }

  #reportDropped(): void {
    if (this.#droppedCount === 0) return;
    this.#parts.warn(`The command of --exec is too slow: it did not run for ${pluralize(this.#droppedCount, 'event')}.`);
    this.#droppedCount = 0;
  }
}
