/**
 * What the limits of contained programs prevent, as root and as another user. Each test also shows that the same command succeeds with a
 * higher limit, so that it cannot pass because the command fails for another reason.
 */
import path from 'node:path';
import process from 'node:process';
import { beforeAll, expect, it } from 'vitest';
import { execute } from '../../../src/service/sandbox/exec.ts';
import { ContainedRuns, needsContainment } from '../../support/contained.ts';
import { runPromptly } from '../../support/promptly.ts';
import { describeNeeding, itNeeding } from '../../support/requirements.ts';
import { commandLines, drive, hasControlGroups, mebibyte, ownerOf, stageFor, users } from './drive.ts';
import type { Order, Outcome } from './escape-driver.ts';

/** Processes that all hold their memory at the same time: together more than the limit, but not much, because using memory takes time. */
const holders = 8;
const holder = 'head -c 12000000 /dev/zero | tail -c 12000000 | (sleep 2; wc -c)';

const orders = (owner: number): Record<string, Order> => {
  const processes = 'i=0; while [ $i -lt 100 ]; do sleep 30 & i=$((i+1)); done; echo started $i';
  const memory = 'head -c 90000000 /dev/zero | tail -c 90000000 | wc -c';
  const totalMemory = `i=0; while [ $i -lt ${holders} ]; do (${holder}) & i=$((i+1)); done; wait`;
  const file = 'head -c 3000000 /dev/zero > large; wc -c < large; rm large';
  const temporary = (place: string): string => `head -c 3000000 /dev/zero > ${place}/large; wc -c < ${place}/large`;
  const limited = (name: string, command: string, limits: [Order['limits'], Order['limits']]): Record<string, Order> => ({
    [name]: { command, limits: limits[0] ?? {} },
    [`${name}, allowed`]: { command, limits: limits[1] ?? {} },
  });
  return {
    ...limited('processes', processes, [{ processes: 50 }, { processes: 300 }]),
    ...limited('memory', memory, [{ memory: 64 * mebibyte }, { memory: 1_024 * mebibyte }]),
    ...limited('total memory', totalMemory, [{ memory: 64 * mebibyte }, { memory: 1_024 * mebibyte }]),
    ...limited('file size', file, [{ fileSize: mebibyte }, { fileSize: 4 * mebibyte }]),
    ...limited('/tmp', temporary('/tmp'), [{ temporarySize: mebibyte }, { temporarySize: 4 * mebibyte }]),
    ...limited('/dev/shm', temporary('/dev/shm'), [{ temporarySize: mebibyte }, { temporarySize: 4 * mebibyte }]),
    'core dumps': { command: 'ulimit -Hc' },
    'a fork bomb': { command: `bomb() { sleep 4343.${owner} & bomb | bomb & }; bomb; wait`, limits: { processes: 50 }, endAfter: 700 },
  };
};

for (const user of users) {
  describeNeeding(user.missing, `the limits of a contained program of ${user.name}`, () => {
    const owner = ownerOf(user);
    let outcomes: Record<string, Outcome>;
    const output = (name: string): string => (outcomes[name] as Outcome).stdout.trim();
    const needsControlGroups = hasControlGroups(user) ? undefined : 'this user cannot create control groups';

    beforeAll(async () => {
      outcomes = await drive(await stageFor(user), { port: 1, orders: orders(owner) });
    });

    // The kernel does not limit the processes of root in another way.
    itNeeding(owner === 0 ? needsControlGroups : undefined, 'limit the number of processes', () => {
      expect(output('processes')).toBe('');
      expect(outcomes.processes?.stderr).toMatch(/fork|Resource temporarily unavailable/i);
      expect(output('processes, allowed')).toBe('started 100');
    });

    it('end a fork bomb with all its processes', () => {
      expect(commandLines().filter((line) => line.includes(`4343.${owner}`))).toEqual([]);
    });

    it('limit the memory of a process', () => {
      expect(output('memory')).not.toBe('90000000');
      expect(output('memory, allowed')).toBe('90000000');
    });

    itNeeding(needsControlGroups, 'limit the memory of all processes together', () => {
      const complete = (name: string): number => output(name).match(/^12000000$/gm)?.length ?? 0;
      expect(complete('total memory')).toBeLessThan(holders);
      expect(complete('total memory, allowed')).toBe(holders);
    });

    it('limit the size of a file', () => {
      expect(Number(output('file size'))).toBe(mebibyte);
      expect(Number(output('file size, allowed'))).toBe(3_000_000);
    });

    it.each(['/tmp', '/dev/shm'])('limit the size of %s', (place) => {
      expect(Number(output(place))).toBeLessThanOrEqual(mebibyte);
      expect(Number(output(`${place}, allowed`))).toBe(3_000_000);
    });

    it('prevent core dumps', () => {
      expect(output('core dumps')).toBe('0');
    });
  });
}

describeNeeding(needsContainment, 'a contained command', () => {
  let runs: ContainedRuns;
  beforeAll(async () => {
    runs = await ContainedRuns.start();
  });
  const run = async (command: string, options: { timeoutMs?: number; outputLimit?: number }) => {
    const folder = await runs.folder('limited');
    const place = { directory: path.join(folder, 'workspace'), temporary: path.join(folder, 'tmp'), searchPath: process.env.PATH ?? '' };
    const signal = new AbortController().signal;
    return await execute(command, place, { launcher: runs.containment, timeoutMs: 10_000, outputLimit: 10_000, signal, ...options });
  };

  // Enough time for a sandbox to start, even on a loaded machine.
  const startTime = 2_000;

  it('ends at its time limit, with a daemon that ignores SIGTERM', async () => {
    const daemon = `setsid sh -c 'trap "" TERM; while :; do sleep 4444.1; done' >/dev/null 2>&1 </dev/null &`;
    const command = `${daemon} trap '' TERM; echo before; while :; do sleep 1; done`;
    const result = await runPromptly(() => run(command, { timeoutMs: startTime }), startTime + 2_000);
    expect(result).toMatchObject({ timedOut: true, signal: 'SIGKILL', stdout: 'before\n' });
    expect(commandLines().filter((line) => line.includes('4444.1'))).toEqual([]);
  });

  it('loses output beyond the limit, and continues', async () => {
    const result = await run('yes | head -c 3000000; yes | head -c 3000000 >&2; echo done > done', { outputLimit: 100 });
    expect(result).toMatchObject({ exitCode: 0, truncated: true, stdout: 'y\n'.repeat(50), stderr: 'y\n'.repeat(50) });
    expect((await run('cat done', {})).stdout).toBe('done\n');
  });
});
