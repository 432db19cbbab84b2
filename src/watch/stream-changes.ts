/** Hurries polling as soon as an event stream reports a change. Without a stream, polling continues at its own pace. */
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { EventReader } from '../client/event-reader.ts';
import type { Pace } from './pace.ts';
import { RetryingStream } from './streamed.ts';

interface Options {
  clock: Clock;
  signal: AbortSignal;
}

/** What is hurried by changes, and rests while the stream reports them. */
type Hurried = Pick<Pace, 'rest' | 'hurry'>;

export class StreamChanges {
  readonly #paces = new Set<Hurried>();
  #isOpen = false;

  /** Follows the stream until the signal is aborted. */
  constructor(open: (lastEventId: string | undefined) => Promise<EventReader>, { clock, signal }: Options) {
    // It ends only with the signal.
    this.#follow(new RetryingStream<undefined>({ clock, open, bodies: () => [undefined] }), clock, signal).catch(() => undefined);
  }

  /** Hurries a pace from now on. */
  hurry(pace: Hurried): void {
    this.#paces.add(pace);
    pace.rest(this.#isOpen);
  }

  async #follow(stream: RetryingStream<undefined>, clock: Clock, signal: AbortSignal): Promise<void> {
    while (stream.wait !== Number.POSITIVE_INFINITY) {
      if (stream.wait > 0) await clock.sleep(stream.wait, signal);
      for await (const _ of stream.read(signal, () => this.#set(true))) this.#wake();
      this.#set(false);
    }
  }

  /** Changes from before the stream was open are found by one more poll. */
  #set(isOpen: boolean): void {
    const hasChanged = this.#isOpen !== isOpen;
    this.#isOpen = isOpen;
    for (const pace of this.#paces) pace.rest(isOpen);
    if (hasChanged) this.#wake();
  }

  #wake(): void {
    for (const pace of this.#paces) pace.hurry();
  }
}

/** Changes of the human requests in a team. */
export const teamChanges = (client: Pick<Client, 'openEvents'>, teamId: string, options: Options): StreamChanges =>
  new StreamChanges(
    (lastEventId) => client.openEvents('streamTeamEvents', { params: { teamId } }, { lastEventId, signal: options.signal }),
    options,
  );

/** Changes of a run from now on. */
export const runChanges = (client: Pick<Client, 'openEvents'>, runId: string, options: Options): StreamChanges =>
  new StreamChanges(
    (lastEventId) =>
      client.openEvents('streamRunEvents', { params: { run_id: runId }, query: { from: 'now' } }, { lastEventId, signal: options.signal }),
    options,
  );
