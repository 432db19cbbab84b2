/** Parses a stream of server-sent events (HTML standard, section 9.2.6) incrementally, however it is split into chunks. */

export interface StreamEvent {
  /** `message` unless named. */
  readonly type: string;
  /** The last ID in the stream; empty before there is one. */
  readonly id: string;
  readonly data: string;
}

export class EventStreamParser {
  readonly #decoder = new TextDecoder();
  readonly #limit: number;
  /** The text of an incomplete line. */
  #partialLine = '';
  #data: string[] = [];
  #size = 0;
  #type = '';
  #id = '';
  #endedWithReturn = false;
  /** Milliseconds after which to reconnect, as last sent by the stream; undefined before that. */
  retry: number | undefined;

  /** @param limit maximum size of one event, in characters */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The events that a chunk completes. @throws Error `ERR_BODY_LIMIT` */
  push(chunk: Uint8Array): StreamEvent[] {
    return this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** The event that was not closed when the stream ended: some servers omit the last empty line. */
  end(): StreamEvent[] {
    return this.#take(`${this.#decoder.decode()}\n\n`);
  }

  #take(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    // A line feed that belongs to a carriage return at the end of the previous chunk does not end another line.
    let remaining = this.#endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') this.#endedWithReturn = text.endsWith('\r');
    remaining = this.#partialLine + remaining;
    const line = /\r\n|\n|\r/g;
    let start = 0;
    for (let lineEnd = line.exec(remaining); lineEnd !== null; lineEnd = line.exec(remaining)) {
      const event = this.#line(remaining.slice(start, lineEnd.index));
      if (event !== undefined) events.push(event);
      start = line.lastIndex;
    }
    this.#partialLine = remaining.slice(start);
    if (this.#partialLine.length + this.#size > this.#limit) throw tooLarge(this.#limit);
    return events;
  }

  #line(line: string): StreamEvent | undefined {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length;
    } else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  #dispatch(): StreamEvent | undefined {
    const event = this.#data.length === 0 ? undefined : { type: this.#type || 'message', id: this.#id, data: this.#data.join('\n') };
    this.#data = [];
    this.#size = 0;
    this.#type = '';
    return event;
  }
}

const tooLarge = (limit: number): Error =>
  Object.assign(new Error(`an event of the answer is larger than ${Math.round(limit / 1_048_576)} MiB`), { code: 'ERR_BODY_LIMIT' });
