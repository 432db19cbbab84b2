/**
 * Idempotency keys (interface part 8). A command has one key, its own or the user's, from which the keys of its changes are
 * derived: the first change uses the key itself, the others a key that depends on it and on what they change. The same command
 * with the same key therefore sends every change under the same key again, and none is carried out twice.
 */
import { crypto } from '../base/crypto.ts';
import { UsageError } from '../base/errors.ts';

/** A new key. It reveals nothing about the user or the request. */
export const newIdempotencyKey = (): string => `aops-${crypto().randomUUID()}`;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The key passed by a user. The message never echoes an invalid value: it may be a secret pasted by mistake. */
export function checkedIdempotencyKey(key: string): string {
  if (visibleAscii.test(key)) return key;
  throw new UsageError('The idempotency key must be 1 to 255 visible ASCII characters, without spaces.');
}

/** Leaves space for the suffix of a derived key within the 255 characters. */
const maxStemLength = 200;

const derivedKey = (key: string, label: string): string =>
  `${key.slice(0, maxStemLength)}.${crypto().createHash('sha256').update(`${key}\n${label}`).digest('hex').slice(0, 24)}`;

/** The key that replaces one whose stored refusal was replayed; the same each time. */
export const replacementKey = (key: string): string => derivedKey(key, 'replacement');

/** The keys of one command's changes. */
export class ChangeKeys {
  /** The key of the command, with which a user can repeat it. */
  readonly command: string;
  readonly #counts = new Map<string, number>();

  constructor(command: string) {
    this.command = command;
  }

  /** The key of the next change. */
  next(method: string, path: string): string {
    const isFirst = this.#counts.size === 0;
    const target = `${method} ${path}`;
    const count = this.#counts.get(target) ?? 0;
    this.#counts.set(target, count + 1);
    return isFirst ? this.command : derivedKey(this.command, `${target} ${count}`);
  }
}
