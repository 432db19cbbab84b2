/**
 * A stream of events that is opened again where it broke off. While there is none the caller polls; a service that has no streams
 * is not asked a second time.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { EventReader } from '../client/event-reader.ts';
import type { StreamEvent } from '../client/event-stream.ts';
import { NoStreamError } from '../client/event-streams.ts';

export interface StreamedOptions<Body> {
  clock: Clock;
  /** Opens the stream, after the event with an id. */
  open: (lastEventId: string | undefined) => Promise<EventReader>;
  /** What an event says that is new. @throws SyntaxError for what is not of this stream */
  bodies: (event: StreamEvent) => Iterable<Body>;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

/** Between the attempts, in milliseconds. */
const firstPause = 1_000;
const longestPause = 30_000;

export class Streamed<Body> {
  readonly #options: StreamedOptions<Body>;
  #lastEventId: string | undefined;
  #failures = 0;
  /** In steady time. */
  #dueAt = Number.NEGATIVE_INFINITY;

  constructor(options: StreamedOptions<Body>) {
    this.#options = options;
  }

  /** Milliseconds until it is time to try; infinite when the service has no streams. */
  get wait(): number {
    return Math.max(0, this.#dueAt - steadyTime(this.#options.clock));
  }

  /** The service answers again: it is worth trying at once. */
  retry(): void {
    if (this.#dueAt !== Number.POSITIVE_INFINITY) this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * What the stream brings until it ends or breaks.
   * @param opened is called when the service has answered
   * @throws the signal's reason alone
   */
  async *read(signal: AbortSignal, opened: () => void): AsyncGenerator<Body, void, undefined> {
    const { open, bodies } = this.#options;
    let reader: EventReader | undefined;
    try {
      reader = await open(this.#lastEventId);
      opened();
      for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
        this.#failures = 0;
        if (event.id !== '') this.#lastEventId = event.id;
        yield* bodies(event);
      }
      this.#pause(reader.retry);
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = error instanceof SyntaxError || (error instanceof NoStreamError && error.final);
      if (isFinal) this.#dueAt = Number.POSITIVE_INFINITY;
      else this.#pause(error instanceof NoStreamError ? error.wait : undefined);
    } finally {
      reader?.close(new Error('The stream is not read any more.'));
    }
  }

  #pause(asked = 0): void {
    const { clock, random = Math.random } = this.#options;
    const pause = Math.max(asked, Math.min(longestPause, firstPause * 2 ** this.#failures));
    this.#failures += 1;
    // Many may have lost their streams at the same moment.
    this.#dueAt = steadyTime(clock) + pause * (1 + random() / 2);
  }
}
