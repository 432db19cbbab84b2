/** The transcripts of several runs as lines, each with the name of its run in front: `invoice-check#17 | Reading March`. */
import type { Clock } from '../../../base/clock.ts';
import { Transcript } from '../../../cli/records/transcript.ts';
import type { Styles } from '../../../terminal/style.ts';
import type { RunEvent } from '../../../watch/events.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import { TranscriptSink } from '../sinks.ts';

interface Parts {
  write: (line: string) => Promise<void>;
  styles: Styles;
  clock: Clock;
  /** The name of a run, sanitised. */
  labelOf: (run: WatchedRun) => Promise<string>;
}

/** Colours by which the names of runs can be told apart, in turn. */
const labelStyles = ['accent', 'success', 'warning', 'bold'] as const;

export class LineSink {
  readonly #parts: Parts;
  readonly #sinks = new WeakMap<WatchedRun, TranscriptSink>();
  #sinkCount = 0;
  /** Names are padded to the longest one so far. */
  #width = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async event(run: WatchedRun, event: RunEvent): Promise<void> {
    await (this.#sinks.get(run) ?? (await this.#add(run))).event(event);
  }

  async #add(run: WatchedRun): Promise<TranscriptSink> {
    const { write, styles, clock } = this.#parts;
    const label = await this.#parts.labelOf(run);
    this.#width = Math.max(this.#width, label.length);
    const style = styles[labelStyles[this.#sinkCount++ % labelStyles.length] as (typeof labelStyles)[number]];
    const prefixed = async (text: string): Promise<void> => {
      for (const line of text.split('\n')) await write(`${style(label.padEnd(this.#width))} | ${line}`);
    };
    const sink = new TranscriptSink(prefixed, new Transcript(styles, Number.MAX_SAFE_INTEGER), styles, clock, undefined, false);
    this.#sinks.set(run, sink);
    return sink;
  }
}
