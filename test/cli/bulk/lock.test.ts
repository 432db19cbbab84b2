/** Bulk work is done by one process at a time; the lock of a process that was killed on this machine does not have to expire. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { lockWork } from '../../../src/cli/bulk/lock.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import { failureOf } from '../../client/harness.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const newFile = async (): Promise<string> => path.join(await temporaryFolder(), 'rows.lock');

/** Takes the lock as the process with the ID 2. @param ended the IDs of processes that have ended */
function lock(file: string, { pid = 2, ended = [] }: { pid?: number; ended?: number[] } = {}) {
  const kill = (id: number, signal: number): void => {
    expect(signal).toBe(0);
    if (ended.includes(id)) throw Object.assign(new Error('no such process'), { code: 'ESRCH' });
    // Of another user.
    throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
  };
  const context = { signal: new AbortController().signal, launcher: { pid, kill } } as unknown as Context;
  return lockWork(context, file, { activity: 'importing rows.csv', code: 'import_running' });
}

const refusal = { code: 'import_running', exit: 6, message: 'Another process is importing rows.csv.' };

it('is released', async () => {
  const file = await newFile();
  (await lock(file))();
  expect(await failureOf(stat(file))).toMatchObject({ code: 'ENOENT' });
  (await lock(file))();
});

it('is refused while another process has it, and taken from one that was killed', async () => {
  const file = await newFile();
  await lock(file, { pid: 1 });
  expect(await readFile(file, 'utf8')).toMatch(new RegExp(` 1 ${hostname()}$`));
  expect(await failureOf(lock(file))).toMatchObject(refusal);
  (await lock(file, { ended: [1] }))();
});

it.each([`1 other-machine`, 'unknown', ''])('is not taken from "%s", which may still be running', async (holder) => {
  const file = await newFile();
  await writeFile(file, `mark ${holder}`);
  expect(await failureOf(lock(file, { ended: [1] }))).toMatchObject(refusal);
});

it('reports where it cannot be written', async () => {
  const file = path.join(await newFile(), 'missing', 'lock');
  expect(await failureOf(lock(file))).toMatchObject({ message: expect.stringContaining(file) });
});
