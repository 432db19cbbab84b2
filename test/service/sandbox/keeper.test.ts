import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startKeeper } from '../../../src/service/sandbox/keeper.ts';
import { eventually } from '../../support/eventually.ts';
import { isAlive } from '../../support/processes.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'aops-keeper-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('reports that there is no group before one is set', async () => {
  const keeper = await startKeeper();
  expect(await keeper.signal('0')).toBe(false);
  expect(await keeper.signal('KILL')).toBe(false);
  keeper.dismiss();
});

itNeeding(needsLinux, 'kills a running command and its daemon when the service is killed', async () => {
  const sandboxModule = path.resolve(import.meta.dirname, '../../../src/service/sandbox/sandbox-store.ts');
  const launchModule = path.resolve(import.meta.dirname, '../../../src/service/sandbox/launch.ts');
  const source = path.join(folder, 'service.ts');
  const built = path.join(folder, 'service.mjs');
  await writeFile(
    source,
    `import { SandboxStore } from ${JSON.stringify(sandboxModule)};
import { hostLauncher as launcher } from ${JSON.stringify(launchModule)};
const sandbox = await new SandboxStore(${JSON.stringify(folder)}).create('s1');
const daemon = "setsid sh -c 'echo $$ > daemon; while :; do sleep 1; done' & while [ ! -s daemon ]; do sleep 0.01; done; ";
await sandbox.exec(daemon + 'echo $$ > pid; kill -KILL $PPID; while :; do sleep 1; done', { launcher, timeoutMs: 60000, outputLimit: 10, signal: new AbortController().signal });`,
  );

  const bundle = await rolldown({ input: source, platform: 'node', logLevel: 'silent' });
  await bundle.write({ file: built, format: 'esm' });
  await bundle.close();
  // The command kills the service, which is its parent; then only the keeper can end the command.
  const error = await promisify(execFile)(process.execPath, [built]).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ signal: 'SIGKILL' });
  for (const name of ['pid', 'daemon']) {
    const pid = Number(await readFile(path.join(folder, 's1', 'workspace', name), 'utf8'));
    await eventually(`the process in ${name} has ended`, async () => !isAlive(pid), 5_000);
  }
});

it('removes a folder when the service dies, but not when it is dismissed', async () => {
  const keepAndEnd = async (name: string, end: string): Promise<string> => {
    const profile = path.join(folder, name);
    const source = path.join(folder, `${end}.ts`);
    const built = path.join(folder, `${end}.mjs`);
    await mkdir(profile);
    await writeFile(
      source,
      `import { startKeeper } from ${JSON.stringify(path.resolve(import.meta.dirname, '../../../src/service/sandbox/keeper.ts'))};
const keeper = await startKeeper();
keeper.keep(999999999, ${JSON.stringify(profile)});
await keeper.signal('0');
${end === 'dismissed' ? 'keeper.dismiss();' : "process.kill(process.pid, 'SIGKILL');"}`,
    );
    const bundle = await rolldown({ input: source, platform: 'node', logLevel: 'silent' });
    await bundle.write({ file: built, format: 'esm' });
    await bundle.close();
    await promisify(execFile)(process.execPath, [built]).catch(() => undefined);
    return profile;
  };
  const removedFolder = await keepAndEnd("a folder's", 'killed');
  await eventually('the folder is gone', async () => !existsSync(removedFolder));
  // A dismissed keeper ends before the process that started it, so nothing happens later.
  expect(existsSync(await keepAndEnd('other', 'dismissed'))).toBe(true);
});
