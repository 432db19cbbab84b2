/** Uploads of large files to a sandbox: the memory of client and service does not grow with them. */
import { Buffer } from 'node:buffer';
import { mkdir, truncate } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { binary, Machine, needsScript } from '../support/machine.ts';
import { peakFlag, peakOf } from '../support/peak-memory.ts';
import { itNeeding } from '../support/requirements.ts';

const mebibyte = 1024 * 1024;

it('the measured memory is that of the process itself, and not that of its parent', async () => {
  const machine = await Machine.create();
  const ballast = Buffer.alloc(256 * mebibyte, 1);
  const { stderr } = await machine.run(process.execPath, [peakFlag, '--eval', '']);
  expect(peakOf(stderr)).toBeGreaterThan(10);
  expect(peakOf(stderr)).toBeLessThan(ballast.length / mebibyte / 2);
});

itNeeding(
  needsScript,
  'a large file uses no more memory than one just too large to be sent directly, and many files use little',
  async () => {
    const machine = await Machine.create();
    const serve = machine.start(process.execPath, [
      peakFlag,
      binary,
      'serve',
      '--data-dir',
      path.join(machine.folder, 'data'),
      '--state-file',
      path.join(machine.folder, 'state.json'),
    ]);
    const state = await eventually('the service is up', () =>
      machine.read('state.json').then(
        (text) => JSON.parse(text) as { url: string; team_id: string },
        () => undefined,
      ),
    );
    const token = (await machine.read('data/token')).trim();
    Object.assign(machine.env, { AOPS_BASE_URL: state.url, AOPS_TEAM_ID: state.team_id, AOPS_API_KEY: token });
    const { id } = await machine.json<{ id: string }>('sandbox', 'create');
    const peak = async (name: string, size: number): Promise<number> => {
      // A sparse file, which can be read without using the disk.
      await truncate(await machine.file(name, ''), size);
      const pushResult = await machine.start(process.execPath, [peakFlag, binary, 'sandbox', 'push', name, '--sandbox', id, '--json'])
        .finished;
      expect(pushResult).toMatchObject({ code: 0 });
      expect(JSON.parse(pushResult.stdout)).toMatchObject({ data: [{ path: `/workspace/${name}`, size_bytes: size }] });
      return peakOf(pushResult.stderr);
    };
    const smallPeak = await peak('small.bin', 11 * mebibyte);
    const largePeak = await peak('large.bin', 256 * mebibyte);
    expect(smallPeak).toBeGreaterThan(10);
    expect(largePeak - smallPeak).toBeLessThan(64);
    // Sent directly, several at a time.
    await mkdir(path.join(machine.folder, 'folder'));
    for (let index = 0; index < 8; index += 1) await truncate(await machine.file(`folder/${index}.bin`, ''), 9 * mebibyte);
    const pushes = await Promise.all(
      ['a', 'b'].map((folderName) => machine.aops('sandbox', 'push', 'folder', '--sandbox', id, '--to', `/workspace/${folderName}`)),
    );
    expect(pushes.map(({ code }) => code)).toEqual([0, 0]);
    serve.child.kill('SIGTERM');
    const { stderr } = await serve.finished;
    expect(peakOf(stderr)).toBeLessThan(256);
  },
  120_000,
);
