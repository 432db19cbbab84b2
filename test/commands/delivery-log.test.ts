/** The deliveries of a webhook for a reader that is killed and continues, with a simulated list. */
import { describe, expect, it } from 'vitest';
import { DeliveryLog } from '../../src/commands/webhooks/delivery-log.ts';
import type { WebhookDelivery } from '../../src/interface/types.ts';
import { decodeToken, encodeToken } from '../../src/watch/resume/token.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { randomFrom } from '../support/random.ts';

const startTime = Date.parse('2026-11-20T10:00:00.000Z');
const rowOf = (index: number): WebhookDelivery =>
  ({
    ...{ id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`, event_id: `e${index}` },
    // Several are recorded in the same millisecond.
    created_at: new Date(startTime + Math.floor(index / 3)).toISOString(),
  }) as WebhookDelivery;

/** A list, newest first, to which the test adds. */
class List {
  readonly rows: WebhookDelivery[] = [];
  reads = 0;
  beforeRead: () => void = () => undefined;
  readonly read = async (limit: number, offset: number) => {
    this.beforeRead();
    this.reads += 1;
    return { deliveries: this.rows.toReversed().slice(offset, offset + limit), total: this.rows.length };
  };
}

/** Reads until `count` deliveries were recorded and read. Each reader is killed with this probability after each delivery. */
async function readWithKills(count: number, share: number, seed: number, isLate = false): Promise<{ ids: string[]; kills: number }> {
  const [random, service] = [randomFrom(seed), randomFrom(7)];
  const list = new List();
  let recorded = 0;
  let late: WebhookDelivery | undefined;
  const record = (): void => {
    for (let more = Math.floor(service() * 150); more > 0 && recorded < count; more -= 1) {
      const row = rowOf(recorded++);
      if (late !== undefined) list.rows.splice(-1, 0, late);
      late = undefined;
      // It becomes visible after one that was recorded later.
      if (isLate && recorded < count && service() < 0.1) late = row;
      else list.rows.push(row);
    }
  };
  const kept: { id: string; token: string }[] = [];
  let start = encodeToken({ stream: 'deliveries', seq: 0, webhookId: 'w', taken: [] });
  let kills = -1;
  while (kept.length < count) {
    kills += 1;
    const point = decodeToken(start);
    if (point.stream !== 'deliveries') throw new Error(point.stream);
    const log = new DeliveryLog(list.read, new ManualClock(), point.taken);
    reading: while (kept.length < count) {
      if (kept.length === list.rows.length) record();
      if (list.reads > 10 * count) throw new Error(`${kept.length} of ${list.rows.length} deliveries were read, and no more are found.`);
      for (const delivery of await log.untaken()) {
        log.take(delivery);
        const token = encodeToken({ stream: 'deliveries', seq: 0, webhookId: 'w', taken: log.taken });
        // It may be killed before it has printed the delivery, and the program that reads it may lose what it has not stored.
        if (random() < share / 2) break reading;
        kept.push({ id: delivery.id, token });
        if (random() < share / 2) break reading;
      }
    }
    for (let lost = Math.floor(random() * 30); lost > 0 && kept.length > 0 && kept.length < count && share > 0; lost -= 1) kept.pop();
    start = kept.at(-1)?.token ?? encodeToken({ stream: 'deliveries', seq: 0, webhookId: 'w', taken: [] });
  }
  return { ids: kept.map(({ id }) => id), kills };
}

describe('a reader that is killed again and again and continues', () => {
  it.each([1, 2, 3])('receives exactly what one that was never killed receives (seed %i)', async (seed) => {
    const uninterrupted = await readWithKills(1_000, 0, seed);
    expect(uninterrupted).toEqual({ ids: Array.from({ length: 1_000 }, (_, index) => rowOf(index).id), kills: 0 });
    const killed = await readWithKills(1_000, 0.03, seed);
    expect(killed.ids).toEqual(uninterrupted.ids);
    expect(killed.kills).toBeGreaterThan(10);
  });

  it('misses none that appears in the list after one that was recorded later', async () => {
    for (const seed of [1, 2, 3]) {
      const { ids } = await readWithKills(1_000, 0.03, seed, true);
      expect(ids.toSorted()).toEqual(Array.from({ length: 1_000 }, (_, index) => rowOf(index).id));
    }
  });
});

describe('a reading', () => {
  it('reads only one page while little is new, and all pages otherwise, also if the list grows meanwhile', async () => {
    const list = new List();
    list.rows.push(...Array.from({ length: 500 }, (_, index) => rowOf(index)));
    const log = new DeliveryLog(list.read, new ManualClock());
    await log.skip();
    expect(await log.untaken()).toEqual([]);
    list.rows.push(rowOf(500));
    expect((await log.untaken()).map(({ id }) => id)).toEqual([rowOf(500).id]);
    expect([list.reads, log.isComplete]).toEqual([3, true]);
    list.rows.push(...Array.from({ length: 250 }, (_, index) => rowOf(501 + index)));
    let added = 751;
    list.beforeRead = () => void list.rows.push(rowOf(added++));
    const ids = (await log.untaken()).map(({ id }) => id);
    for (let index = 500; index < 751; index += 1) expect(ids).toContain(rowOf(index).id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('finds a delivery that is listed after many others that were recorded later, for ten seconds', async () => {
    const list = new List();
    const clock = new ManualClock();
    const log = new DeliveryLog(list.read, clock);
    const take = async (): Promise<string[]> => {
      const deliveries = await log.untaken();
      for (const delivery of deliveries) log.take(delivery);
      return deliveries.map(({ id }) => id);
    };
    const [early, late] = [rowOf(10), rowOf(11)];
    list.rows.push(...Array.from({ length: 200 }, (_, index) => rowOf(index)).filter(({ id }) => id !== early.id && id !== late.id));
    expect(await take()).toHaveLength(198);
    list.rows.splice(10, 0, early);
    expect(await take()).toEqual([early.id]);
    // The first of the last 20 was not the first one of its millisecond.
    expect(log.taken).toHaveLength(21);
    clock.advance(10_000);
    list.rows.splice(11, 0, late);
    list.reads = 0;
    expect([await take(), list.reads]).toEqual([[], 1]);
  });

  it.each([
    ['much later', 35, 50, false],
    ['much later', 35, 50, true],
    // The second of three that were recorded in the same millisecond.
    ['in the same millisecond', 34, 35, false],
    ['in the same millisecond', 34, 35, true],
  ])('does not repeat those %s before which a late one was recorded (index %i after %i, resumed: %s)', async (...settings) => {
    const [, lateIndex, takenCount, isResumed] = settings;
    const list = new List();
    let log = new DeliveryLog(list.read, new ManualClock());
    const take = async (): Promise<number> => {
      if (isResumed) log = new DeliveryLog(list.read, new ManualClock(), log.taken);
      const deliveries = await log.untaken();
      for (const delivery of deliveries) log.take(delivery);
      return deliveries.length;
    };
    const rows = Array.from({ length: 100 }, (_, index) => rowOf(index));
    const late = rows.splice(lateIndex, 1);
    list.rows.push(...rows.slice(0, takenCount));
    expect(await take()).toBe(takenCount);
    list.rows.splice(lateIndex, 0, ...late);
    expect(await take()).toBe(1);
    for (const row of rows.slice(takenCount)) {
      list.rows.push(row);
      expect([row.id, await take()]).toEqual([row.id, 1]);
    }
  });

  it('has a short position, also after the clock of the service was set back', async () => {
    const clock = new ManualClock();
    const log = new DeliveryLog(new List().read, clock);
    for (let index = 0; index < 200; index += 1) log.take(rowOf(index < 50 ? 10_000 + index : index));
    expect(log.taken).toHaveLength(40);
    clock.advance(10_000);
    await log.untaken();
    expect(log.taken.length).toBeLessThanOrEqual(40);
    expect(log.taken.at(-1)?.id).toBe(rowOf(199).id);
  });

  it('reads five pages at most for what it remembers', async () => {
    const list = new List();
    const log = new DeliveryLog(list.read, new ManualClock());
    list.rows.push(...Array.from({ length: 3_000 }, (_, index) => rowOf(index)));
    for (const delivery of await log.untaken()) log.take(delivery);
    list.reads = 0;
    expect([await log.untaken(), list.reads]).toEqual([[], 5]);
  });

  it('is complete without a position, and says nothing is missing', async () => {
    const list = new List();
    const log = new DeliveryLog(list.read, new ManualClock());
    expect([log.isComplete, await log.untaken(), log.isComplete]).toEqual([true, [], true]);
    list.rows.push(rowOf(0));
    expect([(await log.untaken()).length, log.isComplete]).toEqual([1, true]);
  });

  it('continues by time after the service has removed the position from its list, and says so', async () => {
    const list = new List();
    list.rows.push(...Array.from({ length: 100 }, (_, index) => rowOf(index)));
    const log = new DeliveryLog(list.read, new ManualClock());
    await log.skip();
    list.rows.splice(0, 100, rowOf(30), ...Array.from({ length: 10 }, (_, index) => rowOf(150 + index)));
    expect((await log.untaken()).map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, index) => rowOf(150 + index).id));
    expect(log.isComplete).toBe(false);
  });
});
