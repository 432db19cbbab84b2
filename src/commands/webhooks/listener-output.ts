/** What `webhooks listen` prints: objects for programs, and lines for people. */
import { eventWriter, type WriteEvent } from '../../cli/following/event-writer.ts';
import { closePositions, type Resumption, savePosition } from '../../cli/following/resumption.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { ReceivedDelivery } from '../../client/webhooks/receiver.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import { type Envelope, EventSequence } from '../../watch/envelope.ts';
import { deliveryLine, deliveryObject, deliveryOf, type ForwardResult } from './received.ts';

/** An event as it is printed, without its token: the members of `data` are repeated for programs that do not know the envelope. */
export type ListenerEvent = Omit<Envelope, 'resume'> & Record<string, unknown>;

interface Shown {
  delivery: ReceivedDelivery;
  /** The same in the list of the service. */
  listed?: WebhookDelivery;
  forwardResult?: ForwardResult;
}

interface OutputOptions {
  /** Where the stream continues. */
  resumption: Resumption<{ seq: number }>;
  /** The token of the position after the event with this number. */
  tokenOf: (seq: number) => string;
  /** Called with each new event before it is printed. */
  record?: (event: ListenerEvent) => void;
}

/** Whether events are printed as objects, with their tokens. */
export const forPrograms = ({ format }: Context): boolean => format === 'json' || format === 'ndjson';

export class ListenerOutput {
  readonly #context: Context;
  readonly #options: OutputOptions;
  readonly #sequence: EventSequence;
  #write: WriteEvent | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(context: Context, options: OutputOptions) {
    this.#context = context;
    this.#options = options;
    this.#sequence = new EventSequence(context.clock, options.resumption.point?.seq);
  }

  /** Call this before the first event. */
  async begin(): Promise<void> {
    if (this.#options.resumption.endsInsideLine) await this.#context.terminal.data('\n');
  }

  /** Prints where deliveries are received. */
  async announce(url: string): Promise<void> {
    const event = this.#next({ type: 'listening', url });
    await this.#inOrder(async () => {
      if (!forPrograms(this.#context)) this.#context.terminal.note(`Listening on ${url}. Press Ctrl-C to stop.`);
      await this.#print(event);
    });
  }

  /** Prints a delivery. */
  async show({ delivery, listed, forwardResult }: Shown): Promise<void> {
    const at = new Date(this.#context.clock.now()).toISOString();
    const event = this.#next({
      ...deliveryObject(delivery, at, forwardResult),
      ...(listed && { delivery_id: listed.id, created_at: listed.created_at }),
    });
    await this.#inOrder(async () => {
      await this.#showToPeople(delivery, at, forwardResult);
      await this.#print(event);
    });
  }

  /** Prints an event that was recorded before, with its number. */
  async repeat(event: ListenerEvent): Promise<void> {
    this.#sequence.continueAfter(event.seq);
    const resume = this.#options.tokenOf(event.seq);
    await this.#inOrder(async () => {
      const recorded = deliveryOf(event);
      if (recorded !== undefined) await this.#showToPeople(recorded.delivery, recorded.at, recorded.forwardResult);
      await this.#print({ ...event, resume });
    });
  }

  close(): void {
    closePositions(this.#context, this.#options.resumption.positions);
  }

  /** The next event. Its token is that of this moment, in which nothing after it has been taken. */
  #next({ type, ...data }: { type: string } & Record<string, unknown>): ListenerEvent & { resume: string } {
    const { resume: _, ...envelope } = this.#sequence.next<Envelope>({ type, data }, {});
    const event = { ...envelope, ...data };
    this.#options.record?.(event);
    return { ...event, resume: this.#options.tokenOf(event.seq) };
  }

  async #print(event: ListenerEvent & { resume: string }): Promise<void> {
    const { terminal } = this.#context;
    if (forPrograms(this.#context)) {
      this.#write ??= await eventWriter(this.#context);
      await this.#write(event);
    }
    await savePosition(terminal, this.#options.resumption.positions, event.resume);
  }

  /** Prints one event after the other, so that positions are saved in their order. */
  #inOrder(print: () => Promise<void>): Promise<void> {
    const result = this.#last.then(print);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #showToPeople(delivery: ReceivedDelivery, at: string, forwardResult: ForwardResult): Promise<void> {
    const { terminal } = this.#context;
    if (forPrograms(this.#context)) return;
    if (delivery.verdict.valid) await terminal.line(deliveryLine(delivery, at, forwardResult, await terminal.out.styles()));
    else terminal.warn(`Rejected: ${delivery.verdict.message} ${delivery.verdict.hint}`);
  }
}
