/**
 * Tells the other nodes what has changed, with LISTEN and NOTIFY. Notifications are hints that make waiting shorter: whoever waits also
 * polls, because a notification can be late, or lost while a connection is being replaced.
 */
import pg from 'pg';
import type { Changes } from '../changes.ts';

const channel = 'aops_changes';
/** Postgres accepts payloads of less than 8000 bytes. */
const maxPayload = 7_900;
/** Milliseconds until a lost connection is replaced. */
const reconnectDelay = 500;

/** The tables whose changes are sent with the IDs of the changed rows, for streams of events and for drivers of jobs. */
const tablesWithIds = new Set(['runs', 'messages', 'human_requests', 'jobs']);
const idPattern = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** What has changed: IDs by table. */
type Payload = { node: string; changes: Record<string, string[]> };

export class Notifications {
  readonly #config: pg.ClientConfig;
  readonly #node: string;
  readonly #changes: Changes;
  #client: pg.Client | undefined;
  #pending = new Map<string, Set<string>>();
  /** The notification that is being sent; changes are collected meanwhile. */
  #sending: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param changes where changes of other nodes are counted */
  constructor(config: pg.ClientConfig, node: string, changes: Changes) {
    this.#config = config;
    this.#node = node;
    this.#changes = changes;
  }

  /** Begins to listen. */
  async open(): Promise<void> {
    const client = new pg.Client(this.#config);
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    await client.connect();
    await client.query(`listen ${channel}`);
    if (this.#isClosed) return client.end();
    this.#client = client;
    this.#send();
  }

  /** Notes a change that was committed, to notify the others of it. */
  add(table: string | undefined, values: readonly unknown[]): void {
    const name = table ?? '*';
    const ids = this.#pending.get(name) ?? new Set();
    if (tablesWithIds.has(name)) for (const value of values) if (typeof value === 'string' && idPattern.test(value)) ids.add(value);
    this.#pending.set(name, ids);
    this.#send();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#sending;
    await this.#client?.end();
  }

  /** Sends everything that has changed since the last notification: one at a time, because commits of them wait for each other. */
  #send(): void {
    const client = this.#client;
    if (client === undefined || this.#sending !== undefined || this.#pending.size === 0 || this.#isClosed) return;
    const payload = payloadOf(this.#node, this.#pending);
    this.#pending = new Map();
    this.#sending = client
      .query('select pg_notify($1, $2)', [channel, payload])
      .then(
        () => undefined,
        // The connection is replaced, and everybody polls.
        () => undefined,
      )
      .finally(() => {
        this.#sending = undefined;
        this.#send();
      });
  }

  #receive(text: string): void {
    const { node, changes } = JSON.parse(text) as Payload;
    if (node === this.#node) return;
    for (const [table, ids] of Object.entries(changes)) this.#changes.countRemote(table === '*' ? undefined : table, ids);
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.open().then(
        // Nobody knows what has changed meanwhile.
        () => this.#changes.countRemote(undefined, []),
        () => this.#reconnectLater(),
      );
    }, reconnectDelay);
    this.#retry.unref();
  }
}

/** Without IDs if these do not fit: then everything may have changed. */
function payloadOf(node: string, pending: ReadonlyMap<string, ReadonlySet<string>>): string {
  const changes = Object.fromEntries([...pending].map(([table, ids]) => [table, [...ids]]));
  const payload = JSON.stringify({ node, changes } satisfies Payload);
  return payload.length <= maxPayload ? payload : JSON.stringify({ node, changes: { '*': [] } } satisfies Payload);
}
