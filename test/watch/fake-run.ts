/** A run as the service would tell it, changed by a script between looks: the two operations that watching needs. */
import type { Client } from '../../src/client/client.ts';
import { AnswerTooLargeError } from '../../src/client/errors.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import type { HumanRequest, RunMessage } from '../../src/interface/types.ts';

export interface Told {
  status: string;
  /** Their texts, or complete messages. */
  messages: (string | Partial<RunMessage>)[];
  request: HumanRequest | null;
}

export const question = (id: string, title = `Question ${id}`): HumanRequest => ({
  id,
  title,
  description: null,
  created_at: '2026-07-18T09:00:00.000Z',
  type: 'approval',
});

export class FakeRun {
  /** What the service tells now. */
  told: Told = { status: 'running', messages: [], request: null };
  /** Pages that were asked for. */
  readonly pages: { limit: number; offset: number }[] = [];
  /** Happens before each look at the run, and before each page of messages. */
  beforeLook: (look: number, told: Told) => void = () => undefined;
  beforePage: (page: number, told: Told) => void = () => undefined;
  /** The largest page that is given, whatever is asked for. */
  largestPage = 50;
  /** A page for which more messages are asked is larger than the client reads. */
  mostReadable = 50;
  #looks = 0;

  /** Tells those who watch that the rate limit holds the next look for so long. */
  hold: (milliseconds: number) => void = () => undefined;
  readonly client = {
    call: (id: string, input: never) => this.#call(id, input),
    openEvents: async () => {
      throw new NoStreamError('no stream', { final: true });
    },
    onWaiting: (listener: (milliseconds: number) => void) => {
      this.hold = listener;
      return () => undefined;
    },
  } as unknown as Client;

  async #call(id: string, { params, query }: { params: { run_id: string }; query?: { limit: number; offset: number } }): Promise<unknown> {
    if (params.run_id !== 'r1') throw new Error(`another run: ${params.run_id}`);
    if (id === 'getRun') {
      this.beforeLook(this.#looks++, this.told);
      const { status, request } = this.told;
      return { run: { id: 'r1', status, pending_human_request: request }, pending_human_request: request };
    }
    if (id !== 'listRunMessages' || query === undefined) throw new Error(`not for watching: ${id}`);
    this.beforePage(this.pages.length, this.told);
    this.pages.push(query);
    const { limit, offset } = query;
    if (limit > this.mostReadable) throw new AnswerTooLargeError('the answer is larger than 32 MiB', {}, undefined);
    const messages = this.told.messages
      .slice(offset, offset + Math.min(limit, this.largestPage))
      .map((message) => (typeof message === 'string' ? { id: message, text_content: message } : message));
    return { messages: messages as RunMessage[], total: this.told.messages.length, limit, offset };
  }
}

export const texts = (from: number, to: number, prefix = 'm'): string[] =>
  Array.from({ length: to - from }, (_, index) => `${prefix}${from + index}`);
