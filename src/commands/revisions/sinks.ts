/** Where the events of a builder run go: a status line on a terminal, notes elsewhere, NDJSON for programs. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { StatusLine } from '../../terminal/progress.ts';
import type { Terminal } from '../../terminal/streams.ts';
import { plainStyles, type Styles } from '../../terminal/style.ts';
import type { BuilderRunEvent } from '../../watch/watch-builder-run.ts';
import type { HeldSink } from '../asking.ts';
import type { Context } from '../context.ts';

export interface BuilderSink extends HeldSink {
  event(event: BuilderRunEvent): Promise<void>;
  close(): void;
}

export async function newSink(context: Context): Promise<BuilderSink> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return new NdjsonSink(terminal);
  const { statusLine } = await import('../../terminal/progress.ts');
  return new PhaseSink(terminal, clock, await statusLine(terminal), await terminal.err.styles());
}

class NdjsonSink implements BuilderSink {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  event = (event: BuilderRunEvent): Promise<void> => this.#terminal.json(event);
  hold(): void {}
  async resume(): Promise<void> {}
  close(): void {}
}

class PhaseSink implements BuilderSink {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #live: StatusLine | undefined;
  readonly #styles: Styles;
  readonly #started: number;
  #phase = 'starting';

  constructor(terminal: Terminal, clock: Clock, live: StatusLine | undefined, styles: Styles = plainStyles) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#live = live;
    this.#styles = styles;
    this.#started = clock.now();
    live?.start(() => `${this.#phase} ${styles.dim(formatDuration(this.#clock.now() - this.#started))}`);
  }

  async event(event: BuilderRunEvent): Promise<void> {
    if (event.type !== 'builder_run.phase') return;
    this.#phase = event.data.phase;
    if (this.#live) this.#live.refresh();
    else this.#terminal.note(this.#styles.dim(`[${event.data.phase}]`));
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
