/**
 * Answers to what is asked over and over: programs that watch poll the same runs and lists. An answer is given again until
 * something has changed in the database that may be in it.
 */
import type { OperationId } from '../../interface/operations.ts';
import type { Changes } from '../store/database/changes.ts';

const remembered: ReadonlySet<OperationId> = new Set<OperationId>(['getRun', 'listRuns', 'listRunMessages']);

/** Whether an operation shows what is in the database and nothing else, all of it to the whole team: no time, no URL of a caller, no file. */
export const isRemembered = (id: OperationId): boolean => remembered.has(id);

/** Change all the time, and are in none of these answers. */
const others = ['jobs', 'idempotency_keys', 'settings'];

/** Characters of all answers together. */
const room = 8 * 1024 * 1024;
const largest = 256 * 1024;

export class RememberedAnswers {
  readonly #changes: Changes;
  #bodies = new Map<string, string>();
  #size = 0;
  #version = -1;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** The body of the answer to a URL, as a team sees it. `read` is asked when it is not known. */
  async body(teamId: string, url: string, read: () => Promise<string>): Promise<string> {
    const before = this.#changes.except(others);
    if (before !== this.#version) this.#forget(before);
    const key = `${teamId} ${url}`;
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const body = await read();
    // What was read while something changed may be half of each.
    if (this.#changes.except(others) === before && this.#version === before) this.#keep(key, body);
    return body;
  }

  #keep(key: string, body: string): void {
    const size = key.length + body.length;
    if (size > largest) return;
    if (this.#size + size > room) this.#forget(this.#version);
    this.#bodies.set(key, body);
    this.#size += size;
  }

  #forget(version: number): void {
    if (this.#size > 0) this.#bodies = new Map();
    this.#size = 0;
    this.#version = version;
  }
}
