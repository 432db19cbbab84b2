import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startKeeper } from '../../../src/service/sandbox/keeper.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'aops-keeper-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('answers that there is no group before it knows one', async () => {
  const keeper = await startKeeper();
  expect(await keeper.signal('0')).toBe(false);
  expect(await keeper.signal('KILL')).toBe(false);
  keeper.dismiss();
});

it('kills a running command when the service is killed', async () => {
  const sandboxModule = path.resolve(import.meta.dirname, '../../../src/service/sandbox/sandbox.ts');
  const source = path.join(folder, 'service.ts');
  const built = path.join(folder, 'service.mjs');
  await writeFile(
    source,
    `import { SandboxStore } from ${JSON.stringify(sandboxModule)};
const sandbox = await new SandboxStore(${JSON.stringify(folder)}).create('s1');
await sandbox.exec('echo $$ > pid; kill -KILL $PPID; while :; do sleep 1; done', { timeoutMs: 60000, outputLimit: 10, signal: new AbortController().signal });`,
  );

  const bundle = await rolldown({ input: source, platform: 'node', logLevel: 'silent' });
  await bundle.write({ file: built, format: 'esm' });
  await bundle.close();
  // The command kills the service, which is its parent; then nobody but the keeper can end the command.
  const error = await promisify(execFile)(process.execPath, [built]).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ signal: 'SIGKILL' });
  const pid = Number(await readFile(path.join(folder, 's1', 'workspace', 'pid'), 'utf8'));
  const state = async () =>
    (await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }))).stdout.trim();
  const deadline = Date.now() + 5_000;
  while (!['', 'Z'].includes((await state()).charAt(0)) && Date.now() < deadline);
  expect(['', 'Z']).toContain((await state()).charAt(0));
});
