/** Holds without a service: how they begin, how long they last, what they let continue, and how they end. */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { BackupHolds } from '../../../../src/service/engine/backup/backup-hold.ts';
import { Gate } from '../../../../src/service/engine/backup/gate.ts';
import { fileCopies } from '../../../../src/service/store/database/sqlite/file-hold.ts';
import { openUnchanged } from '../../../../src/service/store/database/sqlite/open.ts';
import { runPromptly } from '../../../support/promptly.ts';
import { afterTest, temporaryDirectory, whenDone } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { Gate as Signal } from '../../helpers/runtime.ts';

async function holdsOf() {
  const store = await openUnchanged(await temporaryDirectory());
  const holds = new BackupHolds({ copies: fileCopies(store), clock: new ManualClock(), log: () => undefined });
  whenDone(async () => {
    holds.close();
    await store.destroy();
  });
  return { store, holds };
}

/** Lets everything proceed that does not wait for the clock. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
};

/** Holds with a clock that stands still. Letting the database file go waits for `release`, if it is set. */
function timedHolds() {
  const clock = new ManualClock();
  const logEntries: string[] = [];
  const file = { isHeld: false, release: undefined as (() => Promise<void>) | undefined };
  const copies = {
    hold: async () => {
      file.isHeld = true;
    },
    release: async () => {
      await file.release?.();
      file.isHeld = false;
    },
  };
  const holds = new BackupHolds({ clock, copies, log: (level, message) => void logEntries.push(`${level}: ${message}`) });
  afterTest(() => holds.close());
  /** What can pass at this moment. */
  const open = async () => {
    const passes: string[] = [];
    const attempts = new AbortController();
    for (const name of ['runs', 'removals'] as const)
      void holds[name].run(attempts.signal, async () => void passes.push(name)).catch(() => undefined);
    await settle();
    attempts.abort();
    await settle();
    return passes;
  };
  const elapse = async (milliseconds: number) => {
    clock.advance(milliseconds);
    await settle();
  };
  return { clock, logEntries, file, holds, open, elapse };
}

const unknownHold = { status: 404, error: 'backup_hold_not_found' };

describe('a backup hold', () => {
  it('cannot be taken while another one is being taken', async () => {
    const { holds } = await holdsOf();
    const [first, second] = await Promise.allSettled([holds.acquire(), holds.acquire()]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { holds: 'everything' } });
    expect(second).toMatchObject({ status: 'rejected', reason: { status: 409, error: 'backup_running' } });
  });

  it('that cannot be taken lets runs and removals continue, and the next attempt is made', async () => {
    const { store, holds } = await holdsOf();
    // The driver is created by the first query, and only then can it be destroyed.
    await sql`select 1`.execute(store);
    await store.destroy();
    await expect(holds.acquire()).rejects.toThrow();
    await runPromptly(() => holds.runs.run(undefined, async () => undefined));
    await runPromptly(() => holds.removals.run(undefined, async () => undefined));
    await expect(holds.acquire()).rejects.not.toMatchObject({ error: 'backup_running' });
  });

  it('excludes others until it has ended, and reports its time', async () => {
    const { clock, holds, file, logEntries, open } = timedHolds();
    const hold = await holds.acquire();
    expect(hold).toMatchObject({ createdAt: clock.now(), expiresAt: clock.now() + 30_000, holds: 'everything', runsWaited: true });
    expect([file.isHeld, await open()]).toEqual([true, []]);
    await expect(holds.acquire()).rejects.toMatchObject({ status: 409, error: 'backup_running' });
    await holds.release(hold.id);
    expect([file.isHeld, await open()]).toEqual([false, ['runs', 'removals']]);
    expect((await holds.acquire()).id).not.toBe(hold.id);
    expect(logEntries).toEqual(['info: backup started', 'info: backup ended', 'info: backup started']);
  });

  it('begins when everything that was in progress has ended', async () => {
    const { holds, file } = timedHolds();
    for (const name of ['removals', 'runs'] as const) {
      const finishSignal = new Signal();
      void holds[name].run(undefined, () => finishSignal.opened);
      const pendingHold = holds.acquire();
      await settle();
      expect(file.isHeld).toBe(false);
      finishSignal.open();
      await holds.release((await pendingHold).id);
    }
  });

  it('can be changed and ended only with its own ID', async () => {
    const { holds, open } = timedHolds();
    const hold = await holds.acquire();
    await expect(holds.prolong('other', 'files')).rejects.toMatchObject(unknownHold);
    await expect(holds.release('other')).rejects.toMatchObject(unknownHold);
    expect(await open()).toEqual([]);
    await holds.release(hold.id);
    await expect(holds.prolong(hold.id, 'files')).rejects.toMatchObject(unknownHold);
    await expect(holds.release(hold.id)).rejects.toMatchObject(unknownHold);
  });

  it('of files lets runs and the database continue, and does not return to holding everything', async () => {
    const { holds, file, open } = timedHolds();
    const { id } = await holds.acquire();
    expect(await holds.prolong(id, 'everything')).toMatchObject({ holds: 'everything' });
    expect([file.isHeld, await open()]).toEqual([true, []]);
    expect(await holds.prolong(id, 'files')).toMatchObject({ holds: 'files', runsWaited: true });
    expect([file.isHeld, await open()]).toEqual([false, ['runs']]);
    expect(await holds.prolong(id, 'everything')).toMatchObject({ holds: 'files' });
    expect([file.isHeld, await open()]).toEqual([false, ['runs']]);
  });

  it('of files that was released once lets the database go once', async () => {
    const { holds, file } = timedHolds();
    let calls = 0;
    file.release = async () => void calls++;
    const { id } = await holds.acquire();
    await holds.prolong(id, 'files');
    await holds.prolong(id, 'files');
    await holds.release(id);
    expect(calls).toBe(1);
  });

  it('ends only when the database has been let go', async () => {
    const { holds, file, open } = timedHolds();
    const [releaseSignal, { id }] = [new Signal(), await holds.acquire()];
    file.release = () => releaseSignal.opened;
    const prolongation = holds.prolong(id, 'files');
    let isReleased = false;
    const releasePromise = holds.release(id).then(() => {
      isReleased = true;
    });
    expect(await open()).toEqual(['runs']);
    expect(isReleased).toBe(false);
    releaseSignal.open();
    await Promise.all([prolongation, releasePromise]);
    expect(await open()).toEqual(['runs', 'removals']);
  });

  it('that cannot let the database go ends nevertheless', async () => {
    const { holds, file, open } = timedHolds();
    const { id } = await holds.acquire();
    file.release = () => Promise.reject(new Error('EIO'));
    await expect(holds.release(id)).rejects.toThrow('EIO');
    expect(await open()).toEqual(['runs', 'removals']);
    file.release = undefined;
    await holds.acquire();
  });
});

describe('a backup hold that is not extended', () => {
  it('lets runs continue after 15 seconds, and ends after 30', async () => {
    const { holds, file, logEntries, open, elapse } = timedHolds();
    const hold = await holds.acquire();
    await elapse(14_999);
    expect([hold.runsWaited, await open()]).toEqual([true, []]);
    await elapse(1);
    expect([hold.runsWaited, file.isHeld, await open()]).toEqual([false, true, ['runs']]);
    await elapse(14_999);
    expect([file.isHeld, await open()]).toEqual([true, ['runs']]);
    await elapse(1);
    expect([file.isHeld, await open()]).toEqual([false, ['runs', 'removals']]);
    await expect(holds.prolong(hold.id, 'files')).rejects.toMatchObject(unknownHold);
    expect(logEntries).toEqual(['info: backup started', 'warn: a backup was abandoned: its hold was not extended']);
  });

  it('of files, too, ends 30 seconds after it was extended, and its runs have waited', async () => {
    const { clock, holds, open, elapse } = timedHolds();
    const hold = await holds.acquire();
    await elapse(10_000);
    await holds.prolong(hold.id, 'files');
    expect(hold.expiresAt).toBe(clock.now() + 30_000);
    await elapse(29_999);
    expect([hold.runsWaited, await open()]).toEqual([true, ['runs']]);
    await elapse(1);
    expect(await open()).toEqual(['runs', 'removals']);
  });

  it('reports that the database could not be let go', async () => {
    const { holds, file, logEntries, open, elapse } = timedHolds();
    await holds.acquire();
    file.release = () => Promise.reject(new Error('EIO'));
    await elapse(30_000);
    expect(logEntries.at(-1)).toBe('error: a backup could not be ended');
    expect(await open()).toEqual(['runs', 'removals']);
  });

  it('does not end the next one, which ends by itself', async () => {
    const { holds, logEntries, open, elapse } = timedHolds();
    await holds.release((await holds.acquire()).id);
    await elapse(20_000);
    const { id } = await holds.acquire();
    await elapse(14_000);
    expect(await open()).toEqual([]);
    expect(logEntries.every((line) => line.startsWith('info'))).toBe(true);
    await elapse(16_000);
    expect(await open()).toEqual(['runs', 'removals']);
    await expect(holds.release(id)).rejects.toMatchObject(unknownHold);
  });

  it('lasts when the service ends, and nothing is logged', async () => {
    const { holds, file, logEntries, elapse } = timedHolds();
    await holds.acquire();
    holds.close();
    await elapse(60_000);
    expect([file.isHeld, logEntries]).toEqual([true, ['info: backup started']]);
  });
});

describe('a gate', () => {
  it('is closed when all work inside has ended, also if some of it failed', async () => {
    const gate = new Gate();
    const [first, second] = [new Signal(), new Signal()];
    const failingPass = gate.run(undefined, () => first.opened.then(() => Promise.reject(new Error('failed'))));
    const working = gate.run(undefined, async () => {
      await second.opened;
      return 'done';
    });
    let isClosed = false;
    const closing = gate.close().then(() => {
      isClosed = true;
    });
    first.open();
    await expect(failingPass).rejects.toThrow('failed');
    await settle();
    expect(isClosed).toBe(false);
    second.open();
    expect(await working).toBe('done');
    await runPromptly(() => closing);
  });

  it('can be closed again, and waits again', async () => {
    const gate = new Gate();
    for (let round = 0; round < 2; round++) {
      const finishSignal = new Signal();
      void gate.run(undefined, () => finishSignal.opened);
      let isClosed = false;
      const closing = gate.close().then(() => {
        isClosed = true;
      });
      await settle();
      expect(isClosed).toBe(false);
      finishSignal.open();
      await runPromptly(() => closing);
      gate.open();
    }
  });

  it('stays closed for work that was woken while it was closed again', async () => {
    const gate = new Gate();
    await gate.close();
    let isInside = false;
    const waitingPass = gate.run(undefined, async () => {
      isInside = true;
    });
    gate.open();
    await gate.close();
    await settle();
    expect(isInside).toBe(false);
    gate.open();
    await runPromptly(() => waitingPass);
  });

  it('ends the wait of work that is aborted, and that work never begins', async () => {
    const gate = new Gate();
    await gate.close();
    const controller = new AbortController();
    let isInside = false;
    const waitingPass = gate.run(controller.signal, async () => {
      isInside = true;
    });
    controller.abort(new Error('stopped'));
    await expect(runPromptly(() => waitingPass)).rejects.toThrow('stopped');
    gate.open();
    await settle();
    expect(isInside).toBe(false);
  });

  it('does nothing when it is opened without having been closed', async () => {
    const gate = new Gate();
    gate.open();
    await runPromptly(() => gate.close());
  });
});
