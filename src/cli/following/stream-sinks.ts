/** Outputs for the events of something that is watched: a status line on a terminal, notes elsewhere, NDJSON for programs. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { StatusLine } from '../../terminal/progress.ts';
import type { Terminal } from '../../terminal/streams.ts';
import { plainStyles, type Styles } from '../../terminal/style.ts';
import type { Context } from '../kit/context.ts';
import type { HeldSink } from './asking.ts';

export interface StreamSink<Event> extends HeldSink {
  event(event: Event): Promise<void>;
  close(): void;
}

/** How an event is shown to people. */
export interface Seen {
  /** The progress: on the status line, or as a note in brackets. */
  phase?: string;
  /** Whether the phase is shown only on the status line. */
  passing?: true;
  /** A text to print. */
  said?: string;
}

/** @param seen how an event is shown to people; undefined if it is not shown */
export async function newStreamSink<Event>(context: Context, seen: (event: Event) => Seen | undefined): Promise<StreamSink<Event>> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return new NdjsonSink(terminal);
  const { statusLine } = await import('../../terminal/progress.ts');
  return new PhaseSink(terminal, clock, seen, await statusLine(terminal), await terminal.err.styles());
}

class NdjsonSink<Event> implements StreamSink<Event> {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  event = (event: Event): Promise<void> => this.#terminal.json(event);
  hold(): void {}
  async resume(): Promise<void> {}
  close(): void {}
}

class PhaseSink<Event> implements StreamSink<Event> {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #seen: (event: Event) => Seen | undefined;
  readonly #live: StatusLine | undefined;
  readonly #styles: Styles;
  readonly #started: number;
  #phase = 'starting';

  constructor(
    terminal: Terminal,
    clock: Clock,
    seen: (event: Event) => Seen | undefined,
    live: StatusLine | undefined,
    styles: Styles = plainStyles,
  ) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#seen = seen;
    this.#live = live;
    this.#styles = styles;
    this.#started = clock.now();
    live?.start(() => `${this.#phase} ${styles.dim(formatDuration(this.#clock.now() - this.#started))}`);
  }

  async event(event: Event): Promise<void> {
    const { phase, passing, said } = this.#seen(event) ?? {};
    if (said !== undefined) this.#terminal.note(said);
    if (phase === undefined) return;
    this.#phase = phase;
    if (this.#live) this.#live.refresh();
    else if (!passing) this.#terminal.note(this.#styles.dim(`[${phase}]`));
  }

  hold(): void {
    this.#live?.hide();
  }
  async resume(): Promise<void> {
    this.#live?.show();
  }
  close(): void {
    this.#live?.stop();
  }
}
