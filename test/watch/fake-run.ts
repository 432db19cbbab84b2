/** A simulated run, changed by a script between polls: it implements the two operations that watching needs. */
import type { Client } from '../../src/client/client.ts';
import { AnswerTooLargeError } from '../../src/client/errors.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import type { HumanRequest, RunMessage } from '../../src/interface/types.ts';

export interface ReportedState {
  status: string;
  /** Texts of the messages, or complete messages. */
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
  /** The current state. */
  reported: ReportedState = { status: 'running', messages: [], request: null };
  /** The requested pages. */
  readonly pages: { limit: number; offset: number }[] = [];
  /** Called before each read of the run, and before each page of messages. */
  beforePoll: (poll: number, state: ReportedState) => void = () => undefined;
  beforePage: (page: number, state: ReportedState) => void = () => undefined;
  /** The largest page that is returned, whatever the limit. */
  maxPageSize = 50;
  /** How many more messages than there are the service reports. */
  extraTotal = 0;
  /** Pages with a higher limit are too large for the client. */
  maxReadable = 50;
  #polls = 0;

  /** Reports that the rate limit delays the next poll by this long. */
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
      this.beforePoll(this.#polls++, this.reported);
      const { status, request } = this.reported;
      return { run: { id: 'r1', status, pending_human_request: request }, pending_human_request: request };
    }
    if (id !== 'listRunMessages' || query === undefined) throw new Error(`not for watching: ${id}`);
    this.beforePage(this.pages.length, this.reported);
    this.pages.push(query);
    const { limit, offset } = query;
    if (limit > this.maxReadable) throw new AnswerTooLargeError('the answer is larger than 32 MiB', {}, undefined);
    const messages = this.reported.messages
      .slice(offset, offset + Math.min(limit, this.maxPageSize))
      .map((message) => (typeof message === 'string' ? { id: message, text_content: message } : message));
    return { messages: messages as RunMessage[], total: this.reported.messages.length + this.extraTotal, limit, offset };
  }
}

export const texts = (from: number, to: number, prefix = 'm'): string[] =>
  Array.from({ length: to - from }, (_, index) => `${prefix}${from + index}`);
