/** Records this process among the nodes of a database for as long as it works, for `aops local status`. */
import { version } from '../../base/version.ts';
import type { HasClock, HasStore } from '../engine/engine.ts';
import type { Queries } from '../store/database/database.ts';
import { isoTime } from '../store/database/time.ts';
import { type FilePlace, requireFilePlace } from '../store/nodes/file-place.ts';
import { insertNode, removeNode, touchNode } from '../store/nodes/nodes.ts';

/** Milliseconds between two updates of the row. */
const interval = 5_000;

/** What others learn about a node. */
export interface NodeFacts {
  /** The ID of the instance. */
  id: string;
  name: string;
  /** Where clients reach it. */
  url: string;
  /** How many connections to the database it may use. */
  connections: number;
}

export interface NodeOptions {
  /** Whether no other node that is alive has its name. */
  hasOwnName: boolean;
  /** Where it stores files. */
  files: FilePlace;
}

export class NodeHeartbeat {
  readonly #parts: HasStore & HasClock;
  readonly #facts: NodeFacts;
  readonly #options: NodeOptions;
  readonly #startedAt: string;
  readonly #end = new AbortController();
  #loop: Promise<void> | undefined;

  private constructor(parts: HasStore & HasClock, facts: NodeFacts, options: NodeOptions) {
    this.#parts = parts;
    this.#facts = facts;
    this.#options = options;
    this.#startedAt = isoTime(parts.clock.now());
  }

  /** @throws AopsError `file_store_mismatch` */
  static async start(parts: HasStore & HasClock, facts: NodeFacts, options: NodeOptions): Promise<NodeHeartbeat> {
    const heartbeat = new NodeHeartbeat(parts, facts, options);
    await heartbeat.#insert((trx) => requireFilePlace(trx, options.files, parts.clock.now()));
    heartbeat.#loop = heartbeat.#run();
    return heartbeat;
  }

  /** Removes the node. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#loop;
    // Without the database, the row shows when the node was last seen.
    await removeNode(this.#parts.store, this.#facts.id).catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      await clock.sleep(interval, this.#end.signal).catch(() => undefined);
      if (this.#end.signal.aborted) return;
      try {
        // Another node may have taken this one for one that has ended, as after a long pause of this machine.
        if (!(await touchNode(store, this.#facts.id, clock.now()))) await this.#insert();
      } catch {
        // The database is not available, which everything else reports.
      }
    }
  }

  async #insert(check?: (trx: Queries) => Promise<void>): Promise<void> {
    const { store, clock } = this.#parts;
    const started_at = this.#startedAt;
    await store.transaction().execute(async (trx) => {
      await check?.(trx);
      await insertNode(trx, { ...this.#facts, version, started_at, seen_at: clock.now() }, this.#options);
    });
  }
}
