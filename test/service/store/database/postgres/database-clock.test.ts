/** The time of the database on machines whose clocks differ. */
import { expect, it } from 'vitest';
import type { Clock } from '../../../../../src/base/clock.ts';
import { DatabaseClock } from '../../../../../src/service/store/database/postgres/database-clock.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode } from '../../../helpers/postgres.ts';

const hour = 3_600_000;
/** The tests run on the machine of the database, or on one whose clock is right. */
const tolerance = 60_000;

/** A machine whose clock is wrong by `error` milliseconds, and on which `elapsed` milliseconds pass in addition to the real ones. */
function machineWith(error: number): { clock: Clock; state: { error: number; elapsed: number } } {
  const state = { error, elapsed: 0 };
  const clock: Clock = {
    now: () => Date.now() + state.error,
    steady: () => Date.now() + state.elapsed,
    sleep: async () => undefined,
  };
  return { clock, state };
}

describeNeeding(needsPostgres, 'the clock of a node', () => {
  it('shows the time of the database on a machine whose clock is wrong', async () => {
    const store = await openNode(await newDatabase());
    for (const error of [hour, -hour]) {
      const clock = await DatabaseClock.of(store, machineWith(error).clock);
      expect(Math.abs(clock.now() - Date.now())).toBeLessThan(tolerance);
    }
  });

  it('is corrected again after the clock of the machine was set', async () => {
    const store = await openNode(await newDatabase());
    const { clock: machine, state } = machineWith(0);
    const clock = await DatabaseClock.of(store, machine);
    state.error = hour;
    expect(clock.now() - Date.now()).toBeGreaterThan(hour - tolerance);
    state.elapsed = 30_000;
    await eventually('the clock is corrected', () => Math.abs(clock.now() - Date.now()) < tolerance);
  });

  it('stands still instead of going back by less than a second', async () => {
    const store = await openNode(await newDatabase());
    const { clock: machine, state } = machineWith(hour);
    const clock = await DatabaseClock.of(store, machine);
    const time = clock.now() + 500_000;
    state.error += 500_000;
    expect(clock.now()).toBeGreaterThanOrEqual(time);
    const later = clock.now();
    state.error -= 900;
    expect(clock.now()).toBeGreaterThanOrEqual(later);
    state.error -= hour;
    expect(clock.now()).toBeLessThan(later);
  });
});
