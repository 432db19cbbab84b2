/** The outputs for the events of a watched run: a live transcript on a terminal, plain lines in logs, and NDJSON for programs. */

import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { WriteEvent } from '../../cli/following/event-writer.ts';
import type { HeldSink } from '../../cli/following/request-answerer.ts';
import { waitingTime } from '../../cli/following/waiting-time.ts';
import type { Transcript } from '../../cli/records/transcript.ts';
import type { StatusLine } from '../../terminal/progress.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Styles } from '../../terminal/style.ts';
import type { RunEvent } from '../../watch/events.ts';
import type { Outage } from '../../watch/outage-tracker.ts';

export interface Sink extends HeldSink {
  event(event: RunEvent): Promise<void>;
  /** Called when the service cannot be reached, and with undefined when it responds again. */
  outage(outage: Outage | undefined): void;
  /** Leaves the terminal tidy. */
  close(): void;
}

/** Called with each event after it was printed. */
export type OnPrinted = (event: RunEvent) => Promise<void>;

/** Prints events for programs. */
export class NdjsonSink implements Sink {
  readonly #write: WriteEvent;
  readonly #onPrinted: OnPrinted | undefined;

  constructor(write: WriteEvent, onPrinted?: OnPrinted) {
    this.#write = write;
    this.#onPrinted = onPrinted;
  }

  async event(event: RunEvent): Promise<void> {
    await this.#write(event);
    await this.#onPrinted?.(event);
  }
  outage(): void {}
  hold(): void {}
  async resume(): Promise<void> {}
  close(): void {}
}

/** Statuses that are already visible in other lines of the transcript. */
const visibleStatuses = new Set(['starting', 'running', 'waiting', 'completed', 'failed', 'interrupted']);

/** Prints events as lines for people: live with a status line, or plain for logs. */
export class TranscriptSink implements Sink {
  readonly #write: (line: string) => Promise<void>;
  readonly #transcript: Transcript;
  readonly #styles: Styles;
  readonly #statusLine: StatusLine | undefined;
  readonly #prompts: boolean;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #status = 'starting';
  #heldEvents: RunEvent[] | undefined;
  #skipResponse = false;
  #outage: Outage | undefined;
  readonly #onPrinted: OnPrinted | undefined;

  /** @param prompts whether human requests are prompted for here */
  constructor(
    write: (line: string) => Promise<void>,
    transcript: Transcript,
    styles: Styles,
    clock: Clock,
    live: StatusLine | undefined,
    prompts: boolean,
    onPrinted?: OnPrinted,
  ) {
    this.#prompts = prompts;
    this.#onPrinted = onPrinted;
    this.#write = write;
    this.#styles = styles;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#statusLine = live;
    this.#transcript = transcript;
    live?.start(() => this.#headline());
  }

  async event(event: RunEvent): Promise<void> {
    if (this.#heldEvents) {
      this.#heldEvents.push(event);
      return;
    }
    const isSkipped = this.#skipResponse && event.type === 'message' && event.data.message.type === 'human_response';
    if (isSkipped) this.#skipResponse = false;
    else await this.#print(this.#lines(event));
    await this.#onPrinted?.(event);
    this.#statusLine?.refresh();
  }

  outage(outage: Outage | undefined): void {
    this.#outage = outage;
    this.#statusLine?.refresh();
  }

  hold(): void {
    this.#heldEvents = [];
    this.#statusLine?.hide();
  }

  async resume(answeredHere: boolean): Promise<void> {
    const heldEvents = this.#heldEvents ?? [];
    this.#heldEvents = undefined;
    this.#skipResponse = answeredHere;
    this.#statusLine?.show();
    for (const event of heldEvents) {
      // The prompt that was on the screen has made a reminder of its request pointless.
      if (event.type === 'human_request.reminder') await this.#onPrinted?.(event);
      else await this.event(event);
    }
  }

  close(): void {
    this.#statusLine?.stop();
  }

  #headline(): string {
    const { status, dim } = this.#styles;
    if (this.#outage) return dim(`no answer from the service for ${formatDuration(this.#clock.now() - this.#outage.since)}`);
    const activity = this.#transcript.activity;
    return `${status(this.#status)} ${dim(formatDuration(this.#clock.now() - this.#startedAt))}${activity ? `  ${dim(activity)}` : ''}`;
  }

  #lines(event: RunEvent): string[] {
    const { dim, status } = this.#styles;
    switch (event.type) {
      case 'message':
        return this.#transcript.lines(event.data.message);
      case 'run.status': {
        const previous = this.#status;
        this.#status = sanitizeLine(event.data.status);
        // After an answer, the run is pending for a moment. Only at the beginning does this mean that it is queued.
        if (this.#status === 'pending' && previous !== 'starting') return [];
        return this.#statusLine || visibleStatuses.has(this.#status) ? [] : [dim(`[${this.#status}]`)];
      }
      case 'human_request.pending':
        // The prompt itself displays the request.
        return this.#prompts ? [] : [`? ${sanitizeLine(event.data.human_request.title)}`];
      case 'human_request.reminder':
        return [
          `! ${sanitizeLine(event.data.human_request.title)} ${dim(`(${waitingTime(event.data.human_request, this.#clock.now())})`)}`,
        ];
      case 'human_request.resolved':
        return event.data.resolution === 'withdrawn' ? [dim(`No longer pending: ${sanitizeLine(event.data.title)}`)] : [];
      case 'rate_limit.waiting':
        // The countdown is displayed elsewhere.
        return [];
      case 'run.finished':
        return [...this.#transcript.unfinishedCalls(), `${status(event.data.run.status)} ${dim(`after ${this.#elapsedTime(event)}`)}`];
    }
  }

  /** The duration of the run if its times are known, otherwise of this command. */
  #elapsedTime(event: RunEvent & { type: 'run.finished' }): string {
    const { started_at, completed_at } = event.data.run;
    const milliseconds =
      started_at && completed_at ? Date.parse(completed_at) - Date.parse(started_at) : this.#clock.now() - this.#startedAt;
    return formatDuration(milliseconds);
  }

  async #print(lines: string[]): Promise<void> {
    if (lines.length === 0) return;
    for (const line of lines) await this.#write(line);
  }
}
