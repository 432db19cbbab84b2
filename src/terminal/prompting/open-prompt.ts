/** A prompt that is on the screen: its keyboard, its picture, and how it reacts to resizing, suspension and exit. */
import type { Clock } from '../../base/clock.ts';
import type { JobControl, Terminal } from '../streams.ts';
import type { WidthOf } from '../width.ts';
import { PromptFrame } from './frame.ts';
import { Keyboard } from './keyboard.ts';
import { pasteOff, pasteOn } from './pasted-text.ts';

export class OpenPrompt {
  readonly keyboard: Keyboard;
  readonly frame: PromptFrame;
  /** Aborted when the user cancels: with Ctrl-C or Ctrl-D, or by closing the terminal. */
  readonly cancelController = new AbortController();
  /** Whether the prompt is removed from the screen when it ends, because something else replaces it. */
  vanishes = false;
  readonly #terminal: Terminal;
  readonly #jobs: JobControl | undefined;
  readonly #isUnsolicited: boolean;
  readonly #redraws = new Set<() => void>();
  readonly #undo: (() => void)[] = [];
  #isVisible = false;
  #isClosed = false;
  /** Whether another process has the terminal, because this one was stopped. */
  #isSuspended = false;
  #appearances = 0;

  constructor(terminal: Terminal, clock: Clock, widthOf: WidthOf, unsolicited: boolean) {
    this.#terminal = terminal;
    this.#jobs = terminal.jobs;
    this.#isUnsolicited = unsolicited;
    this.frame = new PromptFrame(terminal.err, widthOf);
    this.keyboard = new Keyboard(terminal.in.stream, clock, {
      onCancel: () => this.cancelController.abort(),
      onSuspend: () => this.#suspend(),
      onChange: () => this.#redraw(),
    });
  }

  /** Whether keys are still ignored because the prompt has just appeared by itself. */
  get ignoresKeys(): boolean {
    return this.#isUnsolicited && !this.keyboard.listening;
  }

  /** Calls the listener whenever the prompt must be redrawn. Returns a function that removes the listener. */
  onRedraw(listener: () => void): () => void {
    this.#redraws.add(listener);
    return () => void this.#redraws.delete(listener);
  }

  /** Takes over the terminal, discards keys typed too early, and shows the prompt that has been drawn into the frame. */
  async show(): Promise<void> {
    this.keyboard.open();
    this.#undo.push(() => this.keyboard.close());
    const { stream } = this.#terminal.err;
    const onResize = (): void => {
      if (this.#isVisible && !this.#isSuspended) this.#redraw();
    };
    stream.on('resize', onResize);
    this.#undo.push(() => stream.removeListener('resize', onResize));
    if (this.#jobs) this.#undo.push(this.#jobs.onContinue(() => void this.#continue()));
    // Bracketed paste must not stay on, however this process ends.
    const exiting = (): void => void stream.write(pasteOff);
    if (this.#jobs) this.#undo.push(this.#jobs.onExit(exiting));
    await this.#appear();
  }

  /** Releases the terminal. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#isVisible) this.#terminal.err.stream.write(pasteOff);
    for (const undo of this.#undo.reverse()) undo();
  }

  async #appear(): Promise<void> {
    this.#appearances += 1;
    const appearance = this.#appearances;
    await this.keyboard.drain();
    if (this.#isClosed || appearance !== this.#appearances) return;
    this.#isSuspended = false;
    this.#terminal.err.stream.write(pasteOn);
    if (this.#isVisible) this.#redraw();
    else this.frame.show();
    this.#isVisible = true;
    this.keyboard.listen(this.#isUnsolicited);
  }

  #redraw(): void {
    // Ready-made prompts do not register a listener.
    if (this.#redraws.size === 0) this.frame.redraw();
    for (const redraw of [...this.#redraws]) redraw();
  }

  /** Stops this process, as Ctrl-Z does when the terminal is not in raw mode. */
  #suspend(): void {
    if (!this.#jobs?.stop) return;
    this.#leave();
    this.keyboard.pause();
    this.#jobs.stop();
    // A process that could not be continued by a shell is not stopped, and then gets no signal to continue.
    setImmediate(() => void this.#continue());
  }

  /** After `fg`. The shell has changed the terminal's settings, so they are all set again. */
  async #continue(): Promise<void> {
    if (this.#isClosed || !this.#isVisible) return;
    this.#leave();
    this.keyboard.pause();
    this.keyboard.open();
    await this.#appear();
  }

  #leave(): void {
    if (this.#isSuspended) return;
    this.#isSuspended = true;
    this.#terminal.err.stream.write(pasteOff);
    this.frame.leave();
  }
}
