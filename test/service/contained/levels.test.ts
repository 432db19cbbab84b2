import { readdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { Containment, type ExecSetting } from '../../../src/service/contained/containment.ts';
import { demonstrate } from '../../../src/service/contained/demonstration.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
import { ContainedRuns, listening, needsContainment } from '../../support/contained.ts';
import { itNeeding } from '../../support/requirements.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const containment = async (setting: ExecSetting, searchPath = process.env.PATH ?? ''): Promise<Containment> =>
  new Containment({ setting, dataDirectory: await temporaryFolder(), searchPath, node: process.execPath });

it.each(['auto', 'contained', 'off'] as const)('is off before anything was demonstrated (%s)', async (setting) => {
  const { level, refusal } = { level: (await containment(setting)).level, refusal: (await containment(setting)).refusal() };
  expect(level).toBe('off');
  expect(refusal).toContain('--exec host');
});

it('refuses to prepare a program while it is off', async () => {
  const off = await containment('off');
  const request = { program: '/bin/true', args: [], environment: {}, directory: '/', home: '/', temporary: '/tmp' };
  await expect(off.prepare(request)).rejects.toMatchObject({ status: 403, error: 'exec_off' });
});

itNeeding(needsContainment, 'is contained after the demonstration, which leaves nothing behind', async () => {
  const runs = await ContainedRuns.start();
  expect(runs.containment).toMatchObject({ level: 'contained', shortfall: undefined });
  expect(runs.containment.refusal()).toBeUndefined();
  expect((await readdir(path.join(runs.dataDirectory, 'contained'))).sort()).toEqual(['group', 'passwd']);
  expect(await readdir(runs.dataDirectory)).toEqual(['contained']);
});

it('notices in the demonstration that a program at the level host is not contained', async () => {
  const { port } = await listening();
  const dataDirectory = await temporaryFolder();
  const options = { dataDirectory, node: process.execPath, searchPath: process.env.PATH ?? '', host: '127.0.0.1', port };
  const shortfall = await demonstrate((request) => hostLauncher.prepare(request), options);
  expect(shortfall?.missing).toContain('could read the data directory, and');
  expect(shortfall?.missing).toContain('could connect to the service, and could write outside its folders');
  expect(await readdir(dataDirectory)).toEqual(['contained']);
});
