/**
 * The keyboard while a prompt is open. Keys reach the prompt only when it can have been read: what was typed before it was
 * drawn is thrown away, and so is what is typed during the grace period of a prompt that appeared by itself.
 */
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { InputStream } from '../streams.ts';
import { looksPasted, PasteReader, plainLines } from './pasted-text.ts';

/** How long a prompt that appeared by itself ignores keys, in milliseconds from when it was drawn. */
export const graceMs = 600;
/** The grace period lasts until nobody has typed for this long: somebody in the middle of a line has not read the prompt. */
const quietMs = 300;

const ctrlC = '\u0003';
const ctrlD = '\u0004';
const ctrlZ = '\u001a';

export interface KeyboardListener {
  /** Ctrl-C, or the terminal was closed. */
  cancelled(): void;
  /** Ctrl-Z. */
  suspended(): void;
  /** The grace period began or ended. */
  changed(): void;
}

export class Keyboard {
  /** What a line reader reads: the keys that count. */
  readonly input: Readable & { setRawMode?: (on: boolean) => unknown } = new Readable({ read() {} });
  /** Receives pasted text; without it, nothing can be pasted here. */
  onPaste: ((text: string) => void) | undefined;
  /** Whether Ctrl-D has a text to edit; otherwise it ends the prompt. */
  hasText = (): boolean => false;
  readonly #stdin: InputStream & { setRawMode?: (on: boolean) => unknown };
  readonly #clock: Clock;
  readonly #listener: KeyboardListener;
  readonly #closed = new AbortController();
  #decoder = new StringDecoder('utf8');
  #pastes = new PasteReader();
  #state: 'ignoring' | 'resting' | 'listening' = 'ignoring';
  #lastKey = Number.NEGATIVE_INFINITY;
  #received = 0;
  /** How often the prompt has appeared: a grace period is over for the appearance that it belongs to. */
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

  /** Takes the terminal over. Keys are ignored until `listen`. */
  open(): void {
    this.#state = 'ignoring';
    this.#stdin.setRawMode?.(true);
    this.#stdin.on('data', this.#read);
    this.#stdin.once('end', this.#ended);
    this.#stdin.resume();
  }

  /** Resolves when everything that was typed so far, wherever it was buffered, has been read and thrown away. */
  async drain(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 2; ) {
      const before = this.#received;
      // One turn of the event loop reads what the kernel holds.
      await new Promise((resolve) => setImmediate(resolve));
      quietTurns = this.#received === before ? quietTurns + 1 : 0;
    }
  }

  /** Lets keys through: after the grace period, counted from now, if there is one. */
  listen(grace: boolean): void {
    this.#decoder = new StringDecoder('utf8');
    this.#pastes = new PasteReader();
    this.#state = grace ? 'resting' : 'listening';
    this.#appearance += 1;
    // The promise rejects when the prompt ends first.
    if (grace) void this.#rest(this.#appearance).catch(() => undefined);
  }

  /** For a prompt of one line: pasted text becomes keys, with spaces instead of line ends and tabs, which would be commands. */
  pasteAsKeys(): void {
    this.onPaste = (text) => void this.input.push(text.trim().replaceAll(/[\n\t]+/g, ' '));
  }

  /** Gives the terminal back. */
  close(): void {
    this.#closed.abort();
    this.pause();
  }

  /** Gives the terminal back for a while: `open` takes it again. */
  pause(): void {
    this.#state = 'ignoring';
    this.#stdin.removeListener('data', this.#read);
    this.#stdin.removeListener('end', this.#ended);
    this.#stdin.pause();
    this.#stdin.setRawMode?.(false);
  }

  async #rest(appearance: number): Promise<void> {
    const drawn = steadyTime(this.#clock);
    this.#lastKey = Number.NEGATIVE_INFINITY;
    const until = (): number => Math.max(drawn + graceMs, this.#lastKey + quietMs);
    for (;;) {
      const left = until() - steadyTime(this.#clock);
      if (left > 0) await this.#clock.sleep(left, this.#closed.signal);
      // Where this process was held up, what was typed meanwhile has not been read yet.
      await this.drain();
      if (this.#state !== 'resting' || appearance !== this.#appearance) return;
      if (until() <= steadyTime(this.#clock)) break;
    }
    this.#state = 'listening';
    this.#listener.changed();
  }

  readonly #ended = (): void => this.#listener.cancelled();

  readonly #read = (chunk: Buffer | string): void => {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    this.#received += 1;
    this.#lastKey = steadyTime(this.#clock);
    for (const typed of this.#pastes.read(text)) {
      if ('keys' in typed) this.#keys(typed.keys);
      else if (this.#state === 'listening') this.onPaste?.(typed.pasted);
    }
  };

  #keys(keys: string): void {
    const { onPaste } = this;
    // The first two decide nothing, so they work at any time.
    if (keys.includes(ctrlC)) this.#listener.cancelled();
    else if (keys.includes(ctrlZ) && this.#state !== 'ignoring') this.#listener.suspended();
    else if (this.#state !== 'listening') return;
    else if (keys.includes(ctrlD) && !this.hasText()) this.#listener.cancelled();
    else if (onPaste && looksPasted(keys)) onPaste(plainLines(keys));
    else this.input.push(keys);
  }
}
