import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
import { afterTest } from '../../support/temporary.ts';

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

/** The ID of a new process group. */
async function startGroup(): Promise<number> {
  const child = spawn('/bin/sh', ['-c', 'read -r line'], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  afterTest(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child.pid as number;
}

it('forgets its group when it is dismissed, and has no power over the next one', async () => {
  const first = await startKeeper();
  const firstGroup = await startGroup();
  first.keep(firstGroup);
  expect(await first.signal('0')).toBe(true);
  first.dismiss();
  const second = await startKeeper();
  expect(await second.signal('0')).toBe(false);
  const secondGroup = await startGroup();
  second.keep(secondGroup);
  first.keep(firstGroup);
  first.dismiss();
  expect(await first.signal('KILL')).toBe(false);
  expect(await first.signal('KILL', secondGroup)).toBe(false);
  const third = await startKeeper();
  third.keep(firstGroup);
  expect(await second.signal('0')).toBe(true);
  expect([firstGroup, secondGroup].map(isAlive)).toEqual([true, true]);
  expect(await second.signal('KILL')).toBe(true);
  await eventually('the second group has ended', () => !isAlive(secondGroup));
  expect(isAlive(firstGroup)).toBe(true);
  second.dismiss();
  third.dismiss();
});

/** The IDs of the shells of keepers that this process has started. */
const shells = (): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === process.pid && state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('dismiss)');
    } catch {
      return false;
    }
  });

itNeeding(needsLinux, 'lets its shell wait for the next command, and replaces a shell that was killed', async () => {
  (await startKeeper()).dismiss();
  const before = shells();
  expect(before.length).toBeGreaterThan(0);
  for (let count = 0; count < 3; count++) (await startKeeper()).dismiss();
  expect(shells()).toEqual(before);
  for (const pid of before) process.kill(Number(pid), 'SIGKILL');
  const keeper = await startKeeper();
  keeper.keep(await startGroup());
  expect(await keeper.signal('0')).toBe(true);
  expect(shells()).not.toEqual(before);
  keeper.dismiss();
});

itNeeding(needsLinux, 'lets only a few shells wait', async () => {
  const keepers = await Promise.all(Array.from({ length: 7 }, () => startKeeper()));
  expect(shells().length).toBeGreaterThanOrEqual(7);
  for (const keeper of keepers) keeper.dismiss();
  await eventually('the other shells have ended', () => shells().length <= 4);
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
