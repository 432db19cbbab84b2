/** A reader of a stream of server-sent events: takes what comes, piece by piece. */
import { type Dispatcher, request } from 'undici';
import { EventStreamParser, type StreamEvent } from '../../../src/client/event-stream.ts';
import { afterTest } from '../../support/temporary.ts';
import type { Api } from './service.ts';

export class EventReader {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly #body: Dispatcher.ResponseData['body'];
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #parser = new EventStreamParser(64 * 1024 * 1024);
  readonly #ready: StreamEvent[] = [];
  /** Text as it came. */
  text = '';

  private constructor({ statusCode, headers, body }: Dispatcher.ResponseData) {
    this.status = statusCode;
    this.headers = headers;
    this.#body = body;
    this.#pieces = body[Symbol.asyncIterator]();
  }

  /** Connects; the connection is closed after the test. */
  static async open(api: Api, path: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const response = await request(`${api.service.url}${path}`, {
      headers: { authorization: `Bearer ${api.service.token}`, accept: 'text/event-stream', ...headers },
    });
    const reader = new EventReader(response);
    afterTest(async () => reader.close());
    return reader;
  }

  get retry(): number | undefined {
    return this.#parser.retry;
  }

  /** The next event; undefined when the stream has ended. */
  async next(): Promise<StreamEvent | undefined> {
    while (this.#ready.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) return undefined;
      this.text += value.toString();
      this.#ready.push(...this.#parser.push(value));
    }
    return this.#ready.shift();
  }

  /** The events up to the first of a type, with it. */
  async until(type: string): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) {
      events.push(event);
      if (event.type === type) return events;
    }
    throw new Error(`The stream ended without ${type}: ${JSON.stringify(events)}`);
  }

  /** All events until the stream ends. */
  async rest(): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  close(): void {
    this.#body.on('error', () => undefined).destroy();
  }
}

/** An event in a word: a text, a status, a title. */
export function inShort({ type, data }: StreamEvent): string {
  const value = JSON.parse(data) as {
    message?: { text_content?: string; type: string };
    status?: string;
    previous?: string | null;
    human_request?: { title: string };
    title?: string;
    resolution?: string;
    run?: { status: string };
  };
  switch (type) {
    case 'message':
      return value.message?.text_content ?? String(value.message?.type);
    case 'run.status':
      return `> ${value.status}`;
    case 'human_request.pending':
      return `? ${value.human_request?.title}`;
    case 'human_request.reminder':
      return `reminder: ${value.human_request?.title}`;
    case 'human_request.resolved':
      return `${value.resolution}: ${value.title}`;
    case 'run.finished':
      return `finished ${value.run?.status}`;
    default:
      return type;
  }
}
