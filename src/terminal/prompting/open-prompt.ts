/** A prompt while it is on the screen: its keyboard, its picture, and what happens to the terminal meanwhile. */
import type { Clock } from '../../base/clock.ts';
import type { JobControl, Terminal } from '../streams.ts';
import type { WidthOf } from '../width.ts';
import { PromptFrame } from './frame.ts';
import { Keyboard } from './keyboard.ts';
import { pasteOff, pasteOn } from './pasted-text.ts';

export class OpenPrompt {
  readonly keyboard: Keyboard;
  readonly frame: PromptFrame;
  /** Aborted when the person gave up: Ctrl-C, Ctrl-D, or a terminal that was closed. */
  readonly cancelled = new AbortController();
  /** Whether the prompt leaves the screen when it ends, because something else takes its place. */
  vanishes = false;
  readonly #terminal: Terminal;
  readonly #jobs: JobControl | undefined;
  readonly #unsolicited: boolean;
  readonly #redraws = new Set<() => void>();
  readonly #undo: (() => void)[] = [];
  #shown = false;
  #over = false;
  /** Whether the terminal is somebody else's, because this process was stopped. */
  #away = false;
  #appearances = 0;

  constructor(terminal: Terminal, clock: Clock, widthOf: WidthOf, unsolicited: boolean) {
    this.#terminal = terminal;
    this.#jobs = terminal.jobs;
    this.#unsolicited = unsolicited;
    this.frame = new PromptFrame(terminal.err, widthOf);
    this.keyboard = new Keyboard(terminal.in.stream, clock, {
      cancelled: () => this.cancelled.abort(),
      suspended: () => this.#suspend(),
      changed: () => this.#redraw(),
    });
  }

  /** Whether keys are still ignored because the prompt has just appeared by itself. */
  get resting(): boolean {
    return this.#unsolicited && !this.keyboard.listening;
  }

  /** Calls the listener whenever the prompt must be drawn again. Returns what ends that. */
  onRedraw(listener: () => void): () => void {
    this.#redraws.add(listener);
    return () => void this.#redraws.delete(listener);
  }

  /** Takes the terminal over and, once what was typed too early is gone, shows the prompt that has been drawn into the frame. */
  async show(): Promise<void> {
    this.keyboard.open();
    this.#undo.push(() => this.keyboard.close());
    const { stream } = this.#terminal.err;
    const resized = (): void => {
      if (this.#shown && !this.#away) this.#redraw();
    };
    stream.on('resize', resized);
    this.#undo.push(() => stream.removeListener('resize', resized));
    if (this.#jobs) this.#undo.push(this.#jobs.onContinue(() => void this.#continue()));
    // A terminal must not be left with it, however this process ends.
    const exiting = (): void => void stream.write(pasteOff);
    if (this.#jobs) this.#undo.push(this.#jobs.onExit(exiting));
    await this.#appear();
  }

  /** Gives the terminal back. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#shown) this.#terminal.err.stream.write(pasteOff);
    for (const undo of this.#undo.reverse()) undo();
  }

  async #appear(): Promise<void> {
    this.#appearances += 1;
    const appearance = this.#appearances;
    await this.keyboard.drain();
    if (this.#over || appearance !== this.#appearances) return;
    this.#away = false;
    this.#terminal.err.stream.write(pasteOn);
    if (this.#shown) this.#redraw();
    else this.frame.show();
    this.#shown = true;
    this.keyboard.listen(this.#unsolicited);
  }

  #redraw(): void {
    // Ready-made prompts do not listen.
    if (this.#redraws.size === 0) this.frame.redraw();
    for (const redraw of [...this.#redraws]) redraw();
  }

  /** Stops this process, as Ctrl-Z does where nobody reads the keys themselves. */
  #suspend(): void {
    if (!this.#jobs?.stop) return;
    this.#leave();
    this.keyboard.pause();
    this.#jobs.stop();
    // A process that nobody could continue is not stopped, and hears of no continuation.
    setImmediate(() => void this.#continue());
  }

  /** After `fg`. The shell has set the terminal to its own liking, so everything is set again. */
  async #continue(): Promise<void> {
    if (this.#over || !this.#shown) return;
    this.#leave();
    this.keyboard.pause();
    this.keyboard.open();
    await this.#appear();
  }

  #leave(): void {
    if (this.#away) return;
    this.#away = true;
    this.#terminal.err.stream.write(pasteOff);
    this.frame.leave();
  }
}
