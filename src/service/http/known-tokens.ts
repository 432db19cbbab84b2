/** Whom the tokens belong to that were presented a moment ago. A revoked one is forgotten with the change that revokes it. */
import { type FoundToken, findToken } from '../store/access/credentials.ts';
import type { Store } from '../store/database/database.ts';

const tables = ['tokens', 'credentials'];
const most = 10_000;

export class KnownTokens {
  readonly #store: Store;
  #tokens = new Map<string, FoundToken>();
  #version = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The token of that hash, unless it has expired or is revoked. */
  async find(hash: string, now: number): Promise<FoundToken | undefined> {
    const before = this.#store.changes.of(tables);
    if (before !== this.#version || this.#tokens.size > most) {
      this.#tokens = new Map();
      this.#version = before;
    }
    const known = this.#tokens.get(hash);
    if (known !== undefined) return known.expiresAt === null || known.expiresAt > now ? known : undefined;
    const found = await findToken(this.#store, hash, now);
    if (found !== undefined && this.#version === before && this.#store.changes.of(tables) === before) this.#tokens.set(hash, found);
    return found;
  }
}
