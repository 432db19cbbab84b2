/** What short commands load of Node: each of these modules takes milliseconds, and is only needed by other commands. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { beforeAll, expect } from 'vitest';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { binary, needsScript } from '../support/machine.ts';
import { itNeeding } from '../support/requirements.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** The modules of Node that a command loads. */
async function modulesOf(...argv: string[]): Promise<string[]> {
  const report = path.join(service.folder, 'report.cjs');
  await writeFile(report, "process.on('exit', () => process._rawDebug(process.moduleLoadList.join('\\n')));");
  const { stderr } = await promisify(execFile)(process.execPath, ['--require', report, binary, ...argv], {
    env: { ...cleanEnvironment(), ...service.env },
  });
  return [...stderr.matchAll(/^NativeModule (\S+)$/gm)].map((match) => match[1] as string);
}

itNeeding(needsScript, 'prints the version without a stream', async () => {
  const modules = await modulesOf('--version');
  expect(modules).toContain('fs');
  for (const name of ['stream', 'net', 'vm', 'v8']) expect(modules, name).not.toContain(name);
});

itNeeding(needsScript, 'lists runs without modules that only other commands need', async () => {
  const modules = await modulesOf('runs', 'list');
  expect(modules).toContain('net');
  for (const name of ['fs/promises', 'child_process', 'assert', 'perf_hooks', 'crypto', 'http', 'tls', 'worker_threads'])
    expect(modules, name).not.toContain(name);
});

itNeeding(needsScript, 'compiles the parser of responses once, and does not optimise it while the program ends', async () => {
  const argv = ['--trace-wasm-compilation-times', binary, 'runs', 'list'];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env: { ...cleanEnvironment(), ...service.env } });
  expect(stdout).toContain('using Liftoff');
  expect(stdout).not.toContain('using TurboFan');
});
