/** Which processes can have been started by a program. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { countStarts, hasRunningMember, isAscending, processesWith } from '../../../src/service/sandbox/process-table.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';

it.each([
  ['few processes were started since', { pid: 1_000, earlierStarts: 500 }, 600, true],
  ['only the process itself was started', { pid: 1_000, earlierStarts: 500 }, 501, true],
  ['IDs can have started again at the bottom', { pid: 1_000, earlierStarts: 500 }, 25_000, false],
  ['IDs are nearly used up', { pid: 24_500, earlierStarts: 500 }, 600, false],
  ['the number of starts is always the same', { pid: 1_000, earlierStarts: 500 }, 500, false],
  ['the number of starts was unknown', { pid: 1_000, earlierStarts: undefined }, 600, false],
  ['the number of starts is unknown', { pid: 1_000, earlierStarts: 500 }, undefined, false],
])('if %s, later processes have higher IDs: %j', (_, start, starts, expected) => {
  expect(isAscending(start, starts, 32_768)).toBe(expected);
});

it('relies on no order of IDs if their limit is unknown', () => {
  expect(isAscending({ pid: 1_000, earlierStarts: 500 }, 600, undefined)).toBe(false);
});

itNeeding(needsLinux, 'searches the process and later ones, and all processes if the order of their IDs is unknown', async () => {
  const variable = `AOPS_TEST_PROCESS=${Math.random()}`;
  const [name, value] = variable.split('=') as [string, string];
  const startProcess = async () => {
    const earlierStarts = await countStarts();
    const child = spawn('sleep', ['30'], { env: { PATH: process.env.PATH, [name]: value }, stdio: 'ignore' });
    afterTest(() => child.kill());
    await once(child, 'spawn');
    return { pid: child.pid as number, earlierStarts };
  };
  const [first, second] = [await startProcess(), await startProcess()];
  const unknown = { pid: second.pid, earlierStarts: undefined };
  expect(await processesWith(variable, unknown)).toEqual(expect.arrayContaining([first.pid, second.pid]));
  expect(await processesWith(variable, first)).toEqual(expect.arrayContaining([first.pid, second.pid]));
  // The limit is far away in most cases: it is 4 million on most machines.
  const limit = Number(await readFile('/proc/sys/kernel/pid_max', 'utf8'));
  if (first.pid < second.pid && second.pid < limit / 2) expect(await processesWith(variable, second)).toEqual([second.pid]);
});

itNeeding(needsLinux, 'knows whether a group has a running member, also if others run that are no members', async () => {
  const earlierStarts = await countStarts();
  const child = spawn('/bin/sh', ['-c', 'sleep 30 & echo started; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  afterTest(() => void process.kill(-(child.pid as number), 'SIGKILL'));
  await once(child.stdout, 'data');
  const leader = { pid: child.pid as number, earlierStarts };
  const other = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' });
  afterTest(() => void other.kill('SIGKILL'));
  await once(other, 'spawn');
  expect(await hasRunningMember(leader)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await hasRunningMember(leader)).toBe(true);
  expect(await hasRunningMember({ pid: process.pid + 10_000_000, earlierStarts: undefined })).toBe(false);
});
