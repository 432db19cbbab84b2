/** The receiver of all webhook deliveries. It refuses some of them at first, as real ones do. */
import { Webhook } from 'standardwebhooks';
import { type ReceivedDelivery, Receiver } from '../support/webhook-receiver.ts';
import type { RandomChoices } from './random-choices.ts';

/** A request to the receiver. */
export interface ReceivedEvent {
  /** The same for each attempt. */
  id: string;
  type: string;
  body: string;
  isSigned: boolean;
  isAccepted: boolean;
  data: Partial<Record<'run' | 'message' | 'case' | 'human_request', { id: string }>>;
}

const refusedPart = 0.05;

export class ChaosReceiver {
  readonly #receiver: Receiver;
  /** Whether each request was accepted. */
  readonly #accepted: boolean[] = [];

  private constructor(receiver: Receiver, random: RandomChoices) {
    this.#receiver = receiver;
    const refused = new Set<string>();
    receiver.answer = (response, number) => {
      const delivery = receiver.deliveries[number - 1] as ReceivedDelivery;
      const id = delivery.headers['webhook-id'] ?? '';
      const isAccepted = refused.has(id) || !random.chance(refusedPart);
      if (!isAccepted) refused.add(id);
      this.#accepted[number - 1] = isAccepted;
      if (isAccepted) response.writeHead(204).end();
      else if (random.chance(0.5)) response.writeHead(500).end();
      else response.destroy();
    };
  }

  static async start(random: RandomChoices): Promise<ChaosReceiver> {
    return new ChaosReceiver(await Receiver.start(), random);
  }

  get url(): string {
    return this.#receiver.url;
  }

  /** All requests so far. @param secret with which they must be signed */
  events(secret: string): ReceivedEvent[] {
    const webhook = new Webhook(secret);
    return this.#receiver.deliveries.map(({ headers, body, json }, index) => {
      const { 'webhook-id': id = '', 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
      const text = body.toString('utf8');
      // Not `verify` of the library: it compares the time with the clock of this machine.
      const isSigned = signature === webhook.sign(id, new Date(Number(timestamp) * 1_000), text);
      return { id, type: json.type, body: text, isSigned, isAccepted: this.#accepted[index] ?? false, data: json.data };
    });
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }
}
