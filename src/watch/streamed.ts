/**
 * An event stream that is reopened where it broke off. While it is closed, the caller polls; a service that has no streams is not
 * tried again.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { EventReader } from '../client/event-reader.ts';
import type { StreamEvent } from '../client/event-stream.ts';
import { NoStreamError } from '../client/event-streams.ts';

export interface StreamedOptions<Body> {
  clock: Clock;
  /** Opens the stream after the event with the given ID. */
  open: (lastEventId: string | undefined) => Promise<EventReader>;
  /** The new information in an event. @throws SyntaxError for an event that does not belong to this stream */
  bodies: (event: StreamEvent) => Iterable<Body>;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
}

/** Pauses between attempts, in milliseconds. */
const firstPause = 1_000;
const maxPause = 30_000;

export class RetryingStream<Body> {
  readonly #options: StreamedOptions<Body>;
  #lastEventId: string | undefined;
  #failures = 0;
  /** In steady time. */
  #dueAt = Number.NEGATIVE_INFINITY;

  constructor(options: StreamedOptions<Body>) {
    this.#options = options;
  }

  /** Milliseconds until the next attempt; infinite if the service has no streams. */
  get wait(): number {
    return Math.max(0, this.#dueAt - steadyTime(this.#options.clock));
  }

  /** Allows an immediate attempt, because the service answers again. */
  retry(): void {
    if (this.#dueAt !== Number.POSITIVE_INFINITY) this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * The contents of the stream until it ends or breaks.
   * @param onOpen called when the service has answered
   * @throws only the signal's reason
   */
  async *read(signal: AbortSignal, onOpen?: () => void): AsyncGenerator<Body, void, undefined> {
    const { open, bodies } = this.#options;
    let reader: EventReader | undefined;
    try {
      reader = await open(this.#lastEventId);
      onOpen?.();
      for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
        this.#failures = 0;
        if (event.id !== '') this.#lastEventId = event.id;
        yield* bodies(event);
      }
      this.#pause(reader.retry);
    } catch (error) {
      signal.throwIfAborted();
      const { final, wait } = error instanceof NoStreamError ? error : { final: error instanceof SyntaxError, wait: undefined };
      if (final) this.#dueAt = Number.POSITIVE_INFINITY;
      else this.#pause(wait);
    } finally {
      reader?.close(new Error('The stream is no longer read.'));
    }
  }

  #pause(requestedPause = 0): void {
    const { clock, random = Math.random } = this.#options;
    const pause = Math.max(requestedPause, Math.min(maxPause, firstPause * 2 ** this.#failures));
    this.#failures += 1;
    // Many clients may have lost their streams at the same moment.
    this.#dueAt = steadyTime(clock) + pause * (1 + random() / 2);
  }
}
