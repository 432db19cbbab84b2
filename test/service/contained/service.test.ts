/** Contained commands of a whole service: what its runs record, and what remains when it dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import type { RunDetail } from '../../../src/interface/types.ts';
import { needsContainment } from '../../support/contained.ts';
import { eventually } from '../../support/eventually.ts';
import { itNeeding } from '../../support/requirements.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { temporaryFolder, whenDone } from '../../support/temporary.ts';
import type { Orders } from './escape-driver.ts';

async function detail(service: TestService, run: string): Promise<RunDetail> {
  const { run: details } = await service.get(run);
  return service.api<RunDetail>('GET', `/agent/${details.agent_id}/runs/${run}`);
}

itNeeding(needsContainment, 'runs commands contained, and records the level in the run', async () => {
  const service = await startTestService({ exec: 'contained', node: process.execPath });
  expect(service.service.exec).toBe('contained');
  const run =
    await service.run(`- exec: { id: look, run: "ls ${service.dataDirectory} && cat ${service.dataDirectory}/token; pwd; echo x > mine", on_error: continue }
- exec: { run: "cat mine" }
- say: "{{ steps.look.stdout }}"`);
  await service.until(run, 'completed');
  const { exec_level } = await detail(service, run);
  expect(exec_level).toBe('contained');
  const [text = ''] = (await service.texts(run)).filter((message) => message?.includes('workspace'));
  expect(text?.split('\n')).toEqual(['contained', 'sandboxes', expect.stringMatching(/workspace$/)].slice(1));
  expect((await (await fetch(`${service.service.url}/readyz`)).json()) as object).toMatchObject({ exec: 'contained' });
});

it('records the level host, and nothing for a run without commands', async () => {
  const service = await startTestService({ exec: 'host' });
  const withCommand = await service.run('- exec: { run: "true" }');
  const without = await service.run('- say: hello');
  for (const run of [withCommand, without]) await service.until(run, 'completed');
  expect((await detail(service, withCommand)).exec_level).toBe('host');
  expect((await detail(service, without)).exec_level).toBeNull();
});

it('records nothing when commands are off, and says how to allow them', async () => {
  const service = await startTestService({ exec: 'off' });
  const run = await service.run('- exec: { run: "true" }');
  const { run: failedRun } = await service.until(run, 'failed');
  expect(failedRun.error).toContain('This service does not run commands. Start it with `--exec auto` to run them contained');
  expect((await detail(service, run)).exec_level).toBeNull();
});

itNeeding(needsContainment, 'leaves no process of a contained command when the service is killed', async () => {
  const folder = await temporaryFolder();
  const built = path.join(folder, 'driver.mjs');
  const bundle = await rolldown({ input: path.join(import.meta.dirname, 'escape-driver.ts'), platform: 'node', logLevel: 'silent' });
  await bundle.write({ file: built, format: 'esm' });
  await bundle.close();
  const orders: Orders = {
    ...{ dataDirectory: folder, port: 1, searchPath: process.env.PATH ?? '', outcomes: path.join(folder, 'outcomes.json') },
    orders: { daemon: { command: "setsid sh -c 'sleep 4545.1' & sleep 4545.2" } },
  };
  await writeFile(path.join(folder, 'orders.json'), JSON.stringify(orders));
  const sleeping = (): number =>
    readdirSync('/proc').filter((name) => {
      try {
        return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith('sleep\x004545');
      } catch {
        return false;
      }
    }).length;
  const driver = spawn(process.execPath, [built, path.join(folder, 'orders.json')], { stdio: 'ignore' });
  whenDone(async () => void driver.kill('SIGKILL'));
  await eventually('the command and its daemon are running', async () => sleeping() === 2);
  driver.kill('SIGKILL');
  await once(driver, 'exit');
  await eventually('they have ended', async () => sleeping() === 0);
});
