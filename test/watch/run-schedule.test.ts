/** When the state of many runs, and the messages of each of them, are read next: pure functions of time and of what was read. */
import { describe, expect, it } from 'vitest';
import type { Run, RunListItem } from '../../src/interface/types.ts';
import { RunSchedule } from '../../src/watch/many/run-schedule.ts';
import { WatchedRun } from '../../src/watch/many/watched-run.ts';
import { ManualClock } from '../service/helpers/clock.ts';

function workshop({ messages = true } = {}) {
  const clock = new ManualClock();
  const runs = new Map<string, WatchedRun>();
  const pace = { stretch: 1 };
  const schedule = new RunSchedule(clock, { runs, stretch: () => pace.stretch, messages });
  /** A run in a state that was read; its messages were read now, and contained something new if it is busy. */
  const add = (id: string, { status = 'running', isBusy = false } = {}): WatchedRun => {
    const run = new WatchedRun(id, clock);
    for (const _ of run.state.run({ id, status } as Run, null));
    runs.set(id, run);
    schedule.recordMessages(run, clock.now(), isBusy);
    return run;
  };
  const addMany = (count: number, options: { status?: string; isBusy?: boolean }, prefix = 'r') =>
    Array.from({ length: count }, (_, index) => add(`${prefix}${index}`, options));
  /** Notes the row of a run in the list, with a value that changes with the run. */
  const list = (run: WatchedRun, updated_at: string, requestedAt = clock.now()) =>
    schedule.observe(run, { status: run.state.status, updated_at, submitted_prompt_count: 0 } as RunListItem, requestedAt);
  /** Lets the list show a change of a run that turns out to be a message. */
  const showMessage = (run: WatchedRun) => {
    list(run, 'before');
    clock.advance(1);
    list(run, 'after');
    schedule.recordMessages(run, clock.now(), true);
  };
  const beginState = (requests = 1) => {
    schedule.beginState();
    schedule.endState(requests);
  };
  /** Milliseconds until something is due; in steps, because what is due changes with time. */
  const waitUntil = (isDue: () => boolean) => {
    const start = clock.now();
    while (!isDue()) clock.advance(250);
    return clock.now() - start;
  };
  return {
    ...{ clock, runs, schedule, pace, add, addMany, list, showMessage, beginState },
    stateGap: (requests = 1) => {
      beginState(requests);
      return waitUntil(() => schedule.isStateDue);
    },
    /** Milliseconds until messages of a run that were read now are read again. */
    messageGap: (run: WatchedRun) => {
      beginState();
      schedule.rest(true);
      run.messagesReadAt = clock.now();
      return schedule.dueAt - clock.now();
    },
  };
}

describe('the state of all runs', () => {
  it('is read immediately at first, and then every second while runs are in progress', () => {
    const { schedule, add, stateGap } = workshop();
    add('r');
    expect(schedule.isStateDue).toBe(true);
    expect([stateGap(), stateGap()]).toEqual([1_000, 1_000]);
  });

  it('is read half as often when nothing has happened for more than 30 seconds, and all runs wait', () => {
    const { clock, add, stateGap } = workshop();
    add('r', { status: 'waiting' });
    clock.advance(29_000);
    expect([stateGap(), stateGap()]).toEqual([1_000, 2_000]);
  });

  it('is read every second again after a change', () => {
    const { clock, schedule, add, stateGap } = workshop();
    const run = add('r', { status: 'waiting' });
    clock.advance(60_000);
    expect(stateGap()).toBe(2_000);
    schedule.recordChange(run);
    expect(stateGap()).toBe(1_000);
  });

  it('is read less often if that takes many requests, or if the rate limit demands it', () => {
    const { pace, add, stateGap } = workshop();
    add('r');
    expect([stateGap(2), stateGap(3), stateGap(6)]).toEqual([1_000, 1_500, 3_000]);
    pace.stretch = 3;
    expect([stateGap(1), stateGap(6)]).toEqual([3_000, 9_000]);
  });

  it('is read after a second when there is a hint, and immediately when something is certain', () => {
    const { clock, schedule, add, beginState } = workshop();
    add('r', { status: 'waiting' });
    clock.advance(60_000);
    beginState();
    schedule.hurry(true);
    clock.advance(999);
    expect(schedule.isStateDue).toBe(false);
    clock.advance(1);
    expect(schedule.isStateDue).toBe(true);
    beginState();
    expect(schedule.isStateDue).toBe(false);
    schedule.hurry(false);
    expect(schedule.isStateDue).toBe(true);
  });

  it('is read every 30 seconds while something else reports changes, and sooner when it does', () => {
    const { schedule, add, stateGap, beginState, clock } = workshop({ messages: false });
    add('r');
    schedule.rest(true);
    expect(stateGap()).toBe(30_000);
    beginState();
    schedule.hurry(true);
    expect(schedule.dueAt - clock.now()).toBe(1_000);
    schedule.rest(false);
    expect(stateGap()).toBe(1_000);
  });

  it('leaves requests to messages if more than four runs are busy, or more than eight if the list shows which', () => {
    for (const [isShown, few, many] of [
      [false, 4, 5],
      [true, 8, 9],
    ] as const) {
      const gaps = [few, many].map((count) => {
        const { addMany, showMessage, stateGap } = workshop();
        const runs = addMany(count, { isBusy: true });
        if (isShown) showMessage(runs[0] as WatchedRun);
        return stateGap();
      });
      expect(gaps).toEqual([1_000, 2_500]);
    }
    const { addMany, stateGap } = workshop({ messages: false });
    addMany(9, { isBusy: true });
    expect(stateGap()).toBe(1_000);
    const silent = workshop();
    silent.addMany(9, {});
    expect(silent.stateGap()).toBe(1_000);
  });
});

describe('the messages of a run', () => {
  it('are read every second while it is busy, and every two seconds afterwards', () => {
    const { clock, add, messageGap } = workshop();
    const run = add('r', { isBusy: true });
    expect(messageGap(run)).toBe(1_000);
    clock.advance(9_999);
    expect(messageGap(run)).toBe(1_000);
    clock.advance(1);
    expect(messageGap(run)).toBe(2_000);
  });

  it('are read every ten seconds if the list shows when there are some, and immediately when it does', () => {
    const { clock, schedule, add, list, showMessage, messageGap } = workshop();
    const run = add('r');
    showMessage(run);
    clock.advance(3_000);
    expect(messageGap(run)).toBe(10_000);
    schedule.recordMessages(run, clock.now(), false);
    list(run, 'after');
    expect(schedule.dueRuns(1)).toEqual([]);
    clock.advance(1);
    list(run, 'once more');
    expect(schedule.dueRuns(1)).toEqual([run]);
  });

  it('are read often again when the list turns out not to show them', () => {
    const { clock, schedule, add, list, showMessage, messageGap } = workshop();
    const run = add('r');
    showMessage(run);
    clock.advance(20_000);
    // A message without a change of the list, whose next page confirms that.
    schedule.recordMessages(run, clock.now(), true);
    clock.advance(20_000);
    list(run, 'after');
    expect(messageGap(run)).toBe(2_000);
  });

  it('are not missed if a page of the list was requested before them', () => {
    const { clock, schedule, add, list, showMessage, messageGap } = workshop();
    const run = add('r');
    showMessage(run);
    const before = clock.now();
    clock.advance(20_000);
    schedule.recordMessages(run, clock.now(), true);
    clock.advance(20_000);
    list(run, 'after', before);
    expect(messageGap(run)).toBe(10_000);
  });

  it('are read less often if the rate limit demands it', () => {
    const { pace, add, messageGap } = workshop();
    pace.stretch = 4;
    expect(messageGap(add('r'))).toBe(8_000);
  });

  it('of a run that waits are read only if some are unread', () => {
    const { schedule, add, clock } = workshop();
    const run = add('r', { status: 'waiting' });
    clock.advance(60_000);
    expect(schedule.dueRuns(1)).toEqual([]);
    run.hasUnreadMessages = true;
    expect(schedule.dueRuns(1)).toEqual([run]);
    expect(schedule.dueAt).toBe(Number.NEGATIVE_INFINITY);
  });

  it('are left to a stream, and not read of a run that is over or was never read', () => {
    const { schedule, add, runs, clock } = workshop();
    add('streamed').isStreamed = true;
    add('over').isOver = true;
    runs.set('new', new WatchedRun('new', clock));
    clock.advance(60_000);
    for (const run of runs.values()) run.hasUnreadMessages = true;
    expect(schedule.dueRuns(9)).toEqual([]);
  });

  it('are not read if they are not wanted', () => {
    const { schedule, add, clock } = workshop({ messages: false });
    add('r').hasUnreadMessages = true;
    clock.advance(60_000);
    expect(schedule.dueRuns(9)).toEqual([]);
  });
});

describe('of more runs than can be read', () => {
  const shares = (busyCount: number, silentCount: number, max: number, isShown = false) => {
    const { schedule, addMany, showMessage, clock, runs } = workshop();
    const busy = addMany(busyCount, { isBusy: true }, 'busy');
    addMany(silentCount, {}, 'silent');
    if (isShown) showMessage(busy[0] as WatchedRun);
    for (const run of runs.values()) run.messagesReadAt = clock.now() - 60_000;
    const due = schedule.dueRuns(max);
    return [due.filter(({ id }) => id.startsWith('busy')).length, due.filter(({ id }) => id.startsWith('silent')).length];
  };

  it('half are busy ones, or three quarters if the list shows which', () => {
    expect([shares(8, 8, 4), shares(8, 8, 5), shares(8, 8, 4, true)]).toEqual([
      [2, 2],
      [3, 2],
      [3, 1],
    ]);
  });

  it('more are of one kind if there are not enough of the other', () => {
    expect([shares(8, 1, 4), shares(1, 8, 4), shares(2, 1, 4)]).toEqual([
      [3, 1],
      [1, 3],
      [2, 1],
    ]);
  });

  it('those come first that have waited longest, and of those that changed, before others that are busy', () => {
    const { clock, schedule, add, list } = workshop();
    const [first, second, changed] = ['first', 'second', 'changed'].map((id) => add(id, { isBusy: true })) as [
      WatchedRun,
      WatchedRun,
      WatchedRun,
    ];
    list(changed, 'before');
    clock.advance(2_000);
    first.messagesReadAt = clock.now() - 1_900;
    second.messagesReadAt = clock.now() - 1_500;
    changed.messagesReadAt = clock.now() - 600;
    for (const run of [first, second, changed]) Object.assign(run, { foundAt: clock.now() - 10_000 });
    list(changed, 'after');
    expect(schedule.dueRuns(2).map(({ id }) => id)).toEqual(['changed', 'first']);
  });
});
