/**
 * Idempotency keys (interface part 8). A command has one key, its own or the user's, and its changes derive theirs from
 * it: the first carries the key itself, the others a key that depends on it and on what they change. The same command
 * with the same key therefore sends every change again under the key it had, and none happens twice.
 */
import { crypto } from '../base/crypto.ts';
import { UsageError } from '../base/errors.ts';

/** A fresh key. It says nothing of the user or the request. */
export const newIdempotencyKey = (): string => `aops-${crypto().randomUUID()}`;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The key as given by a user. The message never echoes a bad value: it may be a mispasted secret. */
export function checkedIdempotencyKey(key: string): string {
  if (visibleAscii.test(key)) return key;
  throw new UsageError('The idempotency key must be 1 to 255 visible ASCII characters, without spaces.');
}

/** Room for the suffix of a derived key within the 255 characters. */
const longestStem = 200;

const derived = (key: string, label: string): string =>
  `${key.slice(0, longestStem)}.${crypto().createHash('sha256').update(`${key}\n${label}`).digest('hex').slice(0, 24)}`;

/** The key that takes the place of one whose stored refusal was replayed; the same each time. */
export const replacementKey = (key: string): string => derived(key, 'replacement');

/** The keys of one command's changes. */
export class ChangeKeys {
  /** The key of the command: what a user repeats it with. */
  readonly command: string;
  readonly #counts = new Map<string, number>();

  constructor(command: string) {
    this.command = command;
  }

  /** The key of the next change. */
  next(method: string, path: string): string {
    const first = this.#counts.size === 0;
    const target = `${method} ${path}`;
    const count = this.#counts.get(target) ?? 0;
    this.#counts.set(target, count + 1);
    return first ? this.command : derived(this.command, `${target} ${count}`);
  }
}
