/** Runs that are started in bulk by a process that is killed at random points: each row is started exactly once. */
import { spawn } from 'node:child_process';
import { type FSWatcher, statSync, watch } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { defaultPlan } from '../../src/service/store/access/plan.ts';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { commandLine } from '../support/machine.ts';
import { randomFrom } from '../support/random.ts';
import { startTestService, type TestService } from '../support/service.ts';

const rowCount = 1_000;
const kills = 5;

interface Ending {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** Runs the command. @param killAt the size of the ledger in bytes at which it is killed */
async function startRows(service: TestService, argv: readonly string[], killAt = Number.POSITIVE_INFINITY): Promise<Ending> {
  const child = spawn(...commandLine(...argv), { cwd: service.folder, env: { ...cleanEnvironment(), ...service.env } });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  const watcher: FSWatcher = watch(service.folder, (_, name) => {
    if (name !== 'rows.ndjson.aops-ledger') return;
    const size = statSync(path.join(service.folder, name), { throwIfNoEntry: false })?.size ?? 0;
    if (size >= killAt) child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      watcher.close();
      resolve({ code, signal, ...output });
    });
  });
}

it('starts each of a thousand rows exactly once, although the process is killed several times', async () => {
  // Only one run is executed, and it does not end, so that the test measures starting.
  const service = await startTestService({ plan: { ...defaultPlan, maxConcurrentRuns: 1 } });
  const agent = await service.agent('- exec: { run: "sleep 300" }');
  const random = randomFrom(20_261_123);
  await service.file('rows.ndjson', Array.from({ length: rowCount }, (_, index) => `{"n":${index}}\n`).join(''));
  const argv = ['runs', 'start', '--agent', agent, '--from', 'rows.ndjson', '--message', 'row {{ n }}', '--concurrency', '8', '-o', 'id'];
  const printed = new Set<string>();
  // About 250 bytes are written for each row.
  const share = (rowCount * 250) / (kills + 1);
  for (let attempt = 0; attempt < kills; attempt += 1) {
    const ending = await startRows(service, argv, Math.floor((attempt + random()) * share));
    expect(ending).toMatchObject({ signal: 'SIGKILL', stderr: '' });
    for (const id of ending.stdout.split('\n').slice(0, -1)) printed.add(id);
  }
  const ending = await startRows(service, argv);
  expect(ending).toMatchObject({ code: 0, stderr: '' });
  const ids = ending.stdout.trimEnd().split('\n');
  expect(new Set(ids).size).toBe(rowCount);
  expect([...printed].filter((id) => !ids.includes(id))).toEqual([]);
  const messages: string[] = [];
  for (let offset = 0; offset < rowCount; offset += 100) {
    const { data, total } = await service.api<{ data: { title: string }[]; total: number }>(
      'GET',
      `/teams/${service.service.teamId}/runs?limit=100&offset=${offset}`,
    );
    expect(total).toBe(rowCount);
    messages.push(...data.map(({ title }) => title));
  }
  expect(new Set(messages).size).toBe(rowCount);
});
