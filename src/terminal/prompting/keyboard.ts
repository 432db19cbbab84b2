/**
 * The keyboard while a prompt is open. Keys reach the prompt only after it could be read: keys typed before it was drawn are
 * discarded, and so are keys typed during the grace period of a prompt that appeared by itself.
 */
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { InputStream } from '../sides.ts';
import { isProbablyPaste, PasteReader, plainLines } from './pasted-text.ts';

/** How long a prompt that appeared by itself ignores keys after it was drawn, in milliseconds. */
export const graceMs = 600;
/** The grace period lasts until no key was pressed for this long: a person in the middle of typing has not read the prompt. */
const quietMs = 300;

const ctrlC = '\u0003';
const ctrlD = '\u0004';
const ctrlZ = '\u001a';

export interface KeyboardListener {
  /** Ctrl-C was pressed, or the terminal was closed. */
  onCancel(): void;
  /** Ctrl-Z was pressed. */
  onSuspend(): void;
  /** The grace period began or ended. */
  onChange(): void;
}

export class Keyboard {
  /** The keys that count, as input for a line reader. */
  readonly input: Readable & { setRawMode?: (on: boolean) => unknown } = new Readable({ read() {} });
  /** Receives pasted text; if undefined, pasting is not possible. */
  onPaste: ((text: string) => void) | undefined;
  /** Whether there is a text for Ctrl-D to edit; otherwise Ctrl-D ends the prompt. */
  hasText = (): boolean => false;
  readonly #stdin: InputStream & { setRawMode?: (on: boolean) => unknown };
  readonly #clock: Clock;
  readonly #listener: KeyboardListener;
  readonly #closeController = new AbortController();
  #decoder = new StringDecoder('utf8');
  #pasteReader = new PasteReader();
  #state: 'ignoring' | 'resting' | 'listening' = 'ignoring';
  #lastKey = Number.NEGATIVE_INFINITY;
  #receivedCount = 0;
  /** How often the prompt has appeared: the end of a grace period counts only for the appearance it belongs to. */
  #appearance = 0;

  constructor(stdin: InputStream, clock: Clock, listener: KeyboardListener) {
    this.#stdin = stdin;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Whether keys reach the prompt. */
  get listening(): boolean {
    return this.#state === 'listening';
  }

  /** Takes over the terminal. Keys are ignored until `listen` is called. */
  open(): void {
    this.#stdin.setRawMode?.(true);
    this.#stdin.on('data', this.#read);
    this.#stdin.once('end', this.#onEnd);
    this.#stdin.resume();
  }

  /** Resolves when all keys typed so far, wherever they are buffered, have been read and discarded. */
  async drain(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 2; ) {
      const receivedBefore = this.#receivedCount;
      // One turn of the event loop reads what the kernel has buffered.
      await new Promise((resolve) => setImmediate(resolve));
      quietTurns = this.#receivedCount === receivedBefore ? quietTurns + 1 : 0;
    }
  }

  /** Lets keys through, after a grace period that starts now if `grace` is true. */
  listen(grace: boolean): void {
    this.#decoder = new StringDecoder('utf8');
    this.#pasteReader = new PasteReader();
    this.#state = grace ? 'resting' : 'listening';
    this.#appearance += 1;
    // The promise rejects when the prompt ends first.
    if (grace) void this.#rest(this.#appearance).catch(() => undefined);
  }

  /** For one-line prompts: pasted text becomes keys, with spaces instead of line ends and tabs, which would act as commands. */
  pasteAsKeys(): void {
    this.onPaste = (text) => void this.input.push(text.trim().replaceAll(/[\n\t]+/g, ' '));
  }

  /** Releases the terminal. */
  close(): void {
    this.#closeController.abort();
    this.pause();
  }

  /** Releases the terminal until `open` is called again. */
  pause(): void {
    this.#state = 'ignoring';
    this.#stdin.removeListener('data', this.#read);
    this.#stdin.removeListener('end', this.#onEnd);
    this.#stdin.pause();
    this.#stdin.setRawMode?.(false);
  }

  async #rest(appearanceCount: number): Promise<void> {
    const drawnAt = steadyTime(this.#clock);
    const deadline = (): number => Math.max(drawnAt + graceMs, this.#lastKey + quietMs);
    for (;;) {
      await this.#clock.sleep(deadline() - steadyTime(this.#clock), this.#closeController.signal);
      // If this process was delayed, keys typed in the meantime have not been read yet.
      await this.drain();
      if (this.#state !== 'resting' || appearanceCount !== this.#appearance) return;
      if (deadline() <= steadyTime(this.#clock)) break;
    }
    this.#state = 'listening';
    this.#listener.onChange();
  }

  readonly #onEnd = (): void => this.#listener.onCancel();

  readonly #read = (chunk: Buffer | string): void => {
    this.#receivedCount += 1;
    this.#lastKey = steadyTime(this.#clock);
    for (const typedInput of this.#pasteReader.read(this.#decoder.write(chunk))) {
      if ('keys' in typedInput) this.#keys(typedInput.keys);
      else if (this.#state === 'listening') this.onPaste?.(typedInput.pasted);
    }
  };

  #keys(keys: string): void {
    // Ctrl-C and Ctrl-Z decide nothing, so they always work.
    if (keys.includes(ctrlC)) this.#listener.onCancel();
    else if (keys.includes(ctrlZ) && this.#state !== 'ignoring') this.#listener.onSuspend();
    else if (this.#state === 'listening') this.#pass(keys);
  }

  #pass(keys: string): void {
    const { onPaste } = this;
    if (keys.includes(ctrlD) && !this.hasText()) this.#listener.onCancel();
    else if (onPaste && isProbablyPaste(keys)) onPaste(plainLines(keys));
    else this.input.push(keys);
  }
}
