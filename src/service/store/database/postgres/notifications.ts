/**
 * Tells the other nodes what has changed, with LISTEN and NOTIFY. Notifications are hints that make waiting shorter: whoever waits also
 * polls, because a notification can be late, or lost while a connection is being replaced.
 */
import type pg from 'pg';
import { steadyTime, systemClock } from '../../../../base/clock.ts';
import type { Changes } from '../changes.ts';
import type { NotificationFigures } from '../connections.ts';
import { Connection } from './connections.ts';
import { poolerRefusal } from './refusals.ts';

const channel = 'aops_changes';
/** Postgres accepts payloads of less than 8000 bytes. */
const maxPayload = 7_900;
/** Milliseconds from one notification to the next: each is work for every node. The first change after a pause is sent immediately. */
const interval = 10;
/** Milliseconds until a lost connection is replaced. */
const reconnectDelay = 500;

/** The tables whose changes are sent with the IDs of the changed rows, for streams of events, drivers of jobs, and sandboxes. */
const tablesWithIds = new Set(['runs', 'messages', 'human_requests', 'jobs', 'workspace_files']);
/** Tables that nobody waits for. */
const quietTables = new Set(['rate_windows']);
const idPattern = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** What has changed: IDs by table. The number lets a node recognise its own notifications. */
type Payload = { node: string; number: number; changes: Record<string, string[]> };

const noFigures: NotificationFigures = { count: 0, totalDelay: 0, maxDelay: 0 };

/** How often the database may answer on the connection for notifications before the first one arrives. */
const proofAnswers = 20;

export class Notifications {
  readonly #config: pg.ClientConfig;
  readonly #node: string;
  readonly #changes: Changes;
  #client: pg.Client | undefined;
  #pending = new Map<string, Set<string>>();
  /** The notification that is being sent; changes are collected meanwhile. */
  #sending: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Until the next notification may be sent. */
  #pause: NodeJS.Timeout | undefined;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #number = 0;
  /** When the notifications that have not come back yet were sent, in steady milliseconds. */
  readonly #sentAt = new Map<number, number>();
  #figures = noFigures;
  #onProof: (() => void) | undefined;
  #heldName: string | undefined;

  /** @param changes where changes of other nodes are counted */
  constructor(config: pg.ClientConfig, node: string, changes: Changes) {
    this.#config = config;
    this.#node = node;
    this.#changes = changes;
  }

  /** Begins to listen. */
  async open(): Promise<void> {
    const client = new Connection(this.#config);
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    await client.connect();
    await client.query(`listen ${channel}`);
    if (this.#heldName !== undefined) await lockNodeName(client, this.#heldName);
    if (this.#isClosed) return client.end();
    this.#client = client;
    this.#send();
  }

  /** Locks the name of this node for as long as there is a connection. Returns whether no other process has locked it. */
  async holdName(name: string): Promise<boolean> {
    if (this.#client === undefined || !(await lockNodeName(this.#client, name))) return false;
    this.#heldName = name;
    return true;
  }

  /** Whether the connection exists. */
  isListening(): boolean {
    return this.#client !== undefined;
  }

  takeFigures(): NotificationFigures {
    const figures = this.#figures;
    this.#figures = noFigures;
    return figures;
  }

  /**
   * Shows that the connection is a session of its own, and that a notification of another connection arrives. A pooler that shares
   * connections between clients prevents both.
   * @throws UsageError `database_pooler_unsuitable`
   */
  async prove(connections: Pick<pg.Pool, 'query'>): Promise<void> {
    // A notification can arrive by chance, in a session that is shared with the one that sends it.
    const sessions = [await sessionOf(this.#client), await sessionOf(connections), await sessionOf(this.#client)];
    if (sessions[0] === sessions[1] || sessions[0] !== sessions[2]) throw poolerRefusal('several of them use the same session');
    let hasArrived = false;
    const arrival = new Promise<void>((resolve) => {
      this.#onProof = () => {
        hasArrived = true;
        resolve();
      };
    });
    const payload = JSON.stringify({ node: this.#node, number: 0, changes: {} } satisfies Payload);
    await connections.query('select pg_notify($1, $2)', [channel, payload]);
    // The database sends notifications before it answers, at the latest. Unlike a time limit, this suits a slow network.
    for (let answers = 0; answers < proofAnswers && !hasArrived; answers++)
      await Promise.race([arrival, this.#client?.query('select pg_sleep(0.05)')]);
    if (!hasArrived) throw poolerRefusal('notifications do not arrive');
  }

  /** Notes a change that was committed, to notify the others of it. */
  add(table: string | undefined, values: readonly unknown[]): void {
    const name = table ?? '*';
    if (quietTables.has(name)) return;
    const ids = this.#pending.get(name) ?? new Set();
    if (tablesWithIds.has(name)) for (const value of values) if (typeof value === 'string' && idPattern.test(value)) ids.add(value);
    this.#pending.set(name, ids);
    this.#send();
  }

  /** Sends what has changed until now, such as the jobs that this node hands over, and ends the connection. */
  async close(): Promise<void> {
    do {
      this.#sendNow();
      await this.#sending;
    } while (this.#sending !== undefined);
    clearTimeout(this.#pause);
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#client?.end();
  }

  /** Sends everything that has changed since the last notification, now or when the interval has passed. */
  #send(): void {
    if (this.#pause !== undefined) return;
    const remaining = this.#lastSentAt + interval - steadyTime(systemClock);
    if (remaining <= 0) this.#sendNow();
    else
      this.#pause = setTimeout(() => {
        this.#pause = undefined;
        this.#sendNow();
      }, remaining);
  }

  /** One at a time, because commits of notifications wait for each other. */
  #sendNow(): void {
    const client = this.#client;
    if (client === undefined || this.#sending !== undefined || this.#pending.size === 0 || this.#isClosed) return;
    this.#lastSentAt = steadyTime(systemClock);
    const number = ++this.#number;
    const payload = payloadOf({ node: this.#node, number }, this.#pending);
    this.#pending = new Map();
    this.#sentAt.set(number, steadyTime(systemClock));
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
    const { node, number, changes } = JSON.parse(text) as Payload;
    if (node === this.#node) this.#noteReturn(number);
    else for (const [table, ids] of Object.entries(changes)) this.#changes.countRemote(table === '*' ? undefined : table, ids);
  }

  #noteReturn(number: number): void {
    this.#onProof?.();
    const sentAt = this.#sentAt.get(number);
    if (sentAt === undefined) return;
    this.#sentAt.delete(number);
    const delay = steadyTime(systemClock) - sentAt;
    const { count, totalDelay, maxDelay } = this.#figures;
    this.#figures = { count: count + 1, totalDelay: totalDelay + delay, maxDelay: Math.max(maxDelay, delay) };
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#sentAt.clear();
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

async function lockNodeName(client: pg.Client, name: string): Promise<boolean> {
  const lock = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked';
  const { rows } = await client.query<{ locked: number }>(lock, [`node ${name}`]);
  return Boolean(rows[0]?.locked);
}

/** Without IDs if these do not fit: then everything may have changed. */
function payloadOf(sender: Omit<Payload, 'changes'>, pending: ReadonlyMap<string, ReadonlySet<string>>): string {
  const changes = Object.fromEntries([...pending].map(([table, ids]) => [table, [...ids]]));
  const payload = JSON.stringify({ ...sender, changes } satisfies Payload);
  return payload.length <= maxPayload ? payload : JSON.stringify({ ...sender, changes: { '*': [] } } satisfies Payload);
}

/** Which process of the server executes the statements of a connection. */
async function sessionOf(connection: Pick<pg.Pool, 'query'> | undefined): Promise<number | undefined> {
  return (await connection?.query('select pg_backend_pid() as pid'))?.rows[0]?.pid;
}
