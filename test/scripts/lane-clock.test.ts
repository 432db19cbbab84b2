/** The clock of mutation testing: a limit is about the tests, not about what else the machine does. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { descendants, LaneClock } from '../../scripts/mutate/lane-clock.js';
import { temporaryDirectory } from '../support/temporary.ts';

let proc: string;
let now: number;

beforeEach(async () => {
  proc = await temporaryDirectory();
  now = 5000;
});

/** Writes the state of a thread: how long it was executed and how long it waited for a processor, and what it started. */
function writeThread(pid: number, thread: number, milliseconds: { executed: number; waited: number }, children: number[] = []): void {
  const folder = path.join(proc, String(pid), 'task', String(thread));
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'schedstat'), `${milliseconds.executed * 1e6} ${milliseconds.waited * 1e6} 7\n`);
  writeFileSync(path.join(folder, 'children'), children.map((child) => `${child} `).join(''));
}

const startClock = (): LaneClock => new LaneClock(10, { now: () => now, proc });

describe('the clock of a lane', () => {
  it('counts the time during which its processes are executed or have nothing to do', () => {
    writeThread(10, 10, { executed: 100, waited: 900 });
    const clock = startClock();
    now += 3000;
    writeThread(10, 10, { executed: 1100, waited: 900 });
    expect(clock.time()).toBe(3000);
    now += 500;
    expect(clock.time()).toBe(3500);
  });

  it('stands still while one of them waits for a processor', () => {
    writeThread(10, 10, { executed: 0, waited: 0 }, [20]);
    writeThread(20, 20, { executed: 0, waited: 50 });
    writeThread(20, 21, { executed: 0, waited: 0 }, [30]);
    const clock = startClock();
    now += 4000;
    writeThread(20, 21, { executed: 100, waited: 1000 }, [30]);
    writeThread(30, 30, { executed: 200, waited: 3500 });
    expect(clock.time()).toBe(500);
    now += 1000;
    writeThread(20, 20, { executed: 0, waited: 1050 });
    expect(clock.time()).toBe(500);
    rmSync(path.join(proc, '30'), { recursive: true });
    now += 100;
    expect(clock.time()).toBe(600);
  });

  it('shows a loop also while several threads wait at the same time', () => {
    writeThread(10, 10, { executed: 0, waited: 0 });
    writeThread(10, 11, { executed: 0, waited: 0 });
    const clock = startClock();
    now += 1000;
    writeThread(10, 10, { executed: 100, waited: 900 });
    writeThread(10, 11, { executed: 0, waited: 900 });
    expect(clock.time()).toBe(100);
  });

  it('is an ordinary clock where the state of processes is unknown', () => {
    const clock = startClock();
    now += 700;
    expect(clock.time()).toBe(700);
    expect(descendants(10, proc)).toEqual([]);
  });
});

it('the descendants of a process are those that any of its threads started, and theirs', () => {
  writeThread(10, 10, { executed: 0, waited: 0 }, [20, 40]);
  writeThread(20, 20, { executed: 0, waited: 0 });
  writeThread(20, 21, { executed: 0, waited: 0 }, [30]);
  writeThread(99, 99, { executed: 0, waited: 0 });
  expect(descendants(10, proc)).toEqual([20, 30, 40]);
});
