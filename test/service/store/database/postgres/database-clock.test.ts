/** The time of the database on machines whose clocks differ. */
import pg from 'pg';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../../src/base/clock.ts';
import type { Store } from '../../../../../src/service/store/database/database.ts';
import { DatabaseClock } from '../../../../../src/service/store/database/postgres/database-clock.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { afterTest } from '../../../../support/temporary.ts';
import { openNode } from '../../../helpers/postgres.ts';

const hour = 3_600_000;
/** The tests run on the machine of the database, or on one whose clock is right. */
const tolerance = 60_000;

/**
 * A machine whose clock is wrong by `error` milliseconds, on which `elapsed` milliseconds pass in addition to the real ones, and which
 * has slept for `slept` milliseconds, during which only its clock continued.
 */
function machineWith(error: number): { clock: Clock; state: { error: number; elapsed: number; slept: number } } {
  const state = { error, elapsed: 0, slept: 0 };
  const clock: Clock = {
    now: () => Date.now() + state.error + state.elapsed + state.slept,
    steady: () => Date.now() + state.elapsed,
    sleep: async () => undefined,
  };
  return { clock, state };
}

/** A database whose clock is ahead by a number of milliseconds that can be changed. */
async function databaseAhead(milliseconds: number): Promise<{ store: Store; set: (milliseconds: number) => Promise<void> }> {
  const url = await newDatabase();
  const client = new pg.Client(url);
  await client.connect();
  afterTest(() => client.end());
  const set = async (ahead: number): Promise<void> => {
    const time = `pg_catalog.clock_timestamp() + interval '${ahead} milliseconds'`;
    await client.query(
      `create or replace function public.clock_timestamp() returns timestamptz language sql volatile as $$ select ${time} $$`,
    );
  };
  await set(milliseconds);
  await client.query(`alter database "${new URL(url).pathname.slice(1)}" set search_path = public, pg_catalog`);
  return { store: await openNode(url), set };
}

describeNeeding(needsPostgres, 'the clock of a node', () => {
  it('shows the time of the database on a machine whose clock is wrong', async () => {
    const store = await openNode(await newDatabase());
    for (const error of [hour, -hour]) {
      const clock = await DatabaseClock.of(store, machineWith(error).clock);
      expect(Math.abs(clock.now() - Date.now())).toBeLessThan(tolerance);
    }
  });

  it.each([hour, -hour])('is not affected for a moment when the clock of the machine is set by %i ms', async (error) => {
    const store = await openNode(await newDatabase());
    const { clock: machine, state } = machineWith(0);
    const clock = await DatabaseClock.of(store, machine);
    state.error = error;
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(tolerance);
    state.elapsed = 10_000;
    expect(Math.abs(clock.now() - Date.now() - 10_000)).toBeLessThan(tolerance);
  });

  it('is measured again every half minute, because the clock of the database can be set', async () => {
    const { store, set } = await databaseAhead(0);
    const { clock: machine, state } = machineWith(0);
    const clock = await DatabaseClock.of(store, machine);
    await set(hour);
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(tolerance);
    state.elapsed = 30_000;
    await eventually('the time is measured', () => Math.abs(clock.now() - Date.now() - hour) < tolerance);
  });

  it('is measured again at once after the machine has slept', async () => {
    const { store, set } = await databaseAhead(0);
    const { clock: machine, state } = machineWith(0);
    const clock = await DatabaseClock.of(store, machine);
    state.slept = hour;
    await set(hour);
    await eventually('the time is measured', () => Math.abs(clock.now() - Date.now() - hour) < tolerance);
  });

  it('stands still instead of going back by less than a second', async () => {
    const { store, set } = await databaseAhead(hour);
    // Time passes on this machine only when the test says so.
    let [time, readCount] = [0, 0];
    const steady = (): number => {
      readCount += 1;
      return time;
    };
    const machine: Clock = { now: () => time, steady, sleep: async () => undefined };
    const clock = await DatabaseClock.of(store, machine);
    const start = clock.now();
    time += 30_000;
    await set(hour + 29_100);
    expect(clock.now()).toBe(start + 30_000);
    // The three queries of the measurement: the first one has been sent, and its time was read.
    const measured = readCount + 5;
    await eventually('the time was measured', () => readCount >= measured);
    expect(clock.now()).toBeGreaterThanOrEqual(start + 30_000);
    time += 30_000;
    await set(0);
    await eventually('the time is measured', () => clock.now() < start);
  });
});
