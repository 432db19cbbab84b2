/** The faults that are injected while the load is sent: which, in which order, and what each of them does. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, DatabaseKind } from './cluster.ts';
import type { NodeProcess } from './node-process.ts';
import type { Progress } from './progress.ts';
import type { RandomChoices } from './random-choices.ts';
import type { ServiceClock } from './service-clock.ts';

/** The kinds of faults, with the words for the report. */
export const faultNames = {
  kill: 'kill -9',
  freeze: 'freeze beyond the lease',
  stop: 'restart of a node',
  terminate: 'pg_terminate_backend',
  cut: 'connections cut',
  stall: 'packets lost beyond the lease',
  fast: 'Postgres restart (fast)',
  immediate: 'Postgres restart (immediate)',
  nodeClock: 'clock of a node jumps',
  clock: 'clock of the service jumps',
} as const;
export type FaultKind = keyof typeof faultNames;

const kindsOf: Readonly<Record<DatabaseKind, readonly FaultKind[]>> = {
  sqlite: ['kill', 'freeze', 'clock', 'kill', 'stop', 'clock', 'kill'],
  postgres: ['kill', 'freeze', 'terminate', 'cut', 'stall', 'fast', 'immediate', 'nodeClock', 'clock', 'stop', 'kill'],
};

/** Milliseconds; the lease is 15 seconds. */
const lease = 15_000;
const hour = 3_600_000;
/**
 * Milliseconds before a node that was killed is killed again: as documented, a run fails if the service has ended five times in a row
 * during the same step.
 */
const stepTime = 3_000;

/** A sequence of faults in which each kind occurs before any is repeated as often as it can. */
export function planFaults(database: DatabaseKind, count: number, random: RandomChoices): FaultKind[] {
  const plan: FaultKind[] = [];
  while (plan.length < count) plan.push(...random.shuffled(kindsOf[database]));
  return plan.slice(0, count);
}

/** One fault of each kind, and more for a larger load. @param items of the load */
export const faultCount = (database: DatabaseKind, items: number): number =>
  Math.max(kindsOf[database].length, Math.round((items / 100) * kindsOf[database].length));

export interface FaultParts {
  cluster: Cluster;
  clock: ServiceClock;
  progress: Progress;
  random: RandomChoices;
  /** Reports a fault to the person who watches. */
  note: (text: string) => void;
}

export class Faults {
  readonly counts = new Map<FaultKind, number>();
  readonly #parts: FaultParts;
  /** Nodes that a fault is affecting. */
  readonly #affected = new Set<NodeProcess>();
  readonly #ends: Promise<void>[] = [];
  #failure: unknown;

  constructor(parts: FaultParts) {
    this.#parts = parts;
  }

  /** Injects the faults, evenly distributed over the load. Resolves when the service is whole again. */
  async inject(plan: readonly FaultKind[]): Promise<void> {
    const { progress, random, note, clock } = this.#parts;
    const partOf = (index: number): number => (index + 1) / (plan.length + 1);
    progress.allow(partOf(0));
    for (const [index, kind] of plan.entries()) {
      await progress.reached(partOf(index));
      progress.allow(partOf(index + 1));
      // In the middle of whatever the requests of this part do.
      await pause(random.between(0, 100));
      note(faultNames[kind]);
      this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
      await this.#begin(kind);
      if (this.#failure !== undefined) throw this.#failure;
    }
    progress.allow(1);
    await Promise.all(this.#ends);
    if (this.#failure !== undefined) throw this.#failure;
    await clock.catchUp();
  }

  async #begin(kind: FaultKind): Promise<void> {
    const { cluster, clock, random } = this.#parts;
    const { database } = cluster;
    const [, victim] = kind === 'clock' ? [] : [undefined, await this.#freeNode()];
    switch (kind) {
      case 'kill':
        return this.#until(victim, async (node) => {
          await node.kill();
          const isKilledAgain = random.chance(0.3);
          if (isKilledAgain) {
            const start = node.start();
            await pause(random.between(50, 800));
            await node.kill();
            await start;
          }
          await this.#start(node);
          await pause(stepTime);
        });
      case 'stop':
        return this.#until(victim, async (node) => {
          await node.stop();
          await this.#start(node);
        });
      case 'freeze':
        return this.#until(victim, async (node) => {
          node.freeze();
          await pause(lease + random.between(2_000, 5_000));
          node.thaw();
        });
      case 'cut':
      case 'stall':
        return this.#until(victim, async (node) => {
          const proxy = database?.proxies[cluster.nodes.indexOf(node)];
          kind === 'cut' ? proxy?.cut() : proxy?.stall();
          await pause(kind === 'cut' ? random.between(500, 4_000) : lease + random.between(1_000, 4_000));
          proxy?.restore();
        });
      case 'nodeClock':
        return victim?.setClock(random.between(-2 * hour, 2 * hour));
      case 'terminate':
        await database?.terminateConnections();
        return;
      case 'fast':
      case 'immediate':
        return database?.restart(kind);
      case 'clock':
        // A database moves to a server whose clock is ahead; the clock of a machine is also set back.
        return clock.jump(database === undefined ? random.one([1, -1]) * random.between(20_000, hour) : random.between(20_000, 120_000));
    }
  }

  async #start(node: NodeProcess): Promise<void> {
    // While the database restarts, a node refuses to start, and is started again as by a supervisor.
    for (let attempt = 0; (await node.start()) === undefined; attempt++) {
      if (attempt === 20) throw new Error(`${node.name} does not start.`);
      await pause(500);
    }
  }

  /** A node that no fault affects; waits for one. */
  async #freeNode(): Promise<NodeProcess> {
    for (;;) {
      const free = this.#parts.cluster.nodes.filter((node) => !this.#affected.has(node));
      if (free.length > 0) return this.#parts.random.one(free);
      await Promise.race([...this.#affected].map((node) => this.#endOf.get(node)));
    }
  }

  readonly #endOf = new Map<NodeProcess, Promise<void>>();

  /** Affects a node until the function ends, without waiting for it. */
  async #until(node: NodeProcess | undefined, affect: (node: NodeProcess) => Promise<void>): Promise<void> {
    if (node === undefined) return;
    this.#affected.add(node);
    const end = affect(node)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#affected.delete(node));
    this.#endOf.set(node, end);
    this.#ends.push(end);
  }
}
