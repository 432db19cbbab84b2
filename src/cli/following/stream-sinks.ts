/** Outputs for the events of something that is watched: a status line on a terminal, notes elsewhere, NDJSON for programs. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { StatusLine } from '../../terminal/progress.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Terminal } from '../../terminal/streams.ts';
import { plainStyles, type Styles } from '../../terminal/style.ts';
import type { Envelope } from '../../watch/envelope.ts';
import type { Context } from '../kit/context.ts';
import { eventWriter, type WriteEvent } from './event-writer.ts';
import type { HeldSink } from './request-answerer.ts';
import { type Resumption, savePosition } from './resumption.ts';

export interface StreamSink<Event> extends HeldSink {
  event(event: Event): Promise<void>;
  close(): void;
}

/** How an event is shown to people. */
export interface EventView {
  /** The progress: on the status line, or as a note in brackets. */
  phase?: string;
  /** Whether the phase is shown only on the status line. */
  transient?: true;
  /** A text to print. */
  text?: string;
}

/**
 * @param viewOf how an event is shown to people; undefined if it is not shown
 * @param resumption where positions are remembered
 */
export async function newStreamSink<Event extends Envelope>(
  context: Context,
  viewOf: (event: Event) => EventView | undefined,
  { positions, endsInsideLine }: Omit<Resumption<unknown>, 'point'> = {},
): Promise<StreamSink<Event>> {
  if (endsInsideLine) await context.terminal.data('\n');
  const sink = await sinkFor(context, viewOf);
  return {
    hold: () => sink.hold(),
    resume: (answeredHere) => sink.resume(answeredHere),
    close: () => sink.close(),
    async event(event) {
      await sink.event(event);
      await savePosition(context.terminal, positions, event.resume);
    },
  };
}

async function sinkFor<Event extends Envelope>(
  context: Context,
  viewOf: (event: Event) => EventView | undefined,
): Promise<StreamSink<Event>> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return new NdjsonSink(await eventWriter(context));
  const { statusLine } = await import('../../terminal/progress.ts');
  return new PhaseSink(terminal, clock, viewOf, await statusLine(terminal), await terminal.err.styles());
}

class NdjsonSink implements StreamSink<Envelope> {
  readonly event: WriteEvent;

  constructor(write: WriteEvent) {
    this.event = write;
  }

  hold(): void {}
  async resume(): Promise<void> {}
  close(): void {}
}

class PhaseSink<Event> implements StreamSink<Event> {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #viewOf: (event: Event) => EventView | undefined;
  readonly #statusLine: StatusLine | undefined;
  readonly #styles: Styles;
  readonly #startedAt: number;
  #phase = 'starting';

  constructor(
    terminal: Terminal,
    clock: Clock,
    viewOf: (event: Event) => EventView | undefined,
    statusLine: StatusLine | undefined,
    styles: Styles = plainStyles,
  ) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#viewOf = viewOf;
    this.#statusLine = statusLine;
    this.#styles = styles;
    this.#startedAt = clock.now();
    statusLine?.start(() => `${this.#phase} ${styles.dim(formatDuration(this.#clock.now() - this.#startedAt))}`);
  }

  async event(event: Event): Promise<void> {
    const { phase, transient, text } = this.#viewOf(event) ?? {};
    if (text !== undefined) this.#terminal.note(text);
    if (phase === undefined) return;
    this.#phase = sanitizeLine(phase);
    if (this.#statusLine) this.#statusLine.refresh();
    else if (!transient) this.#terminal.note(this.#styles.dim(`[${this.#phase}]`));
  }

  hold(): void {
    this.#statusLine?.hide();
  }
  async resume(): Promise<void> {
    this.#statusLine?.show();
  }
  close(): void {
    this.#statusLine?.stop();
  }
}
