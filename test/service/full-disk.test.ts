/** Runs on a disk that really is full: the data directory is on a small disk. */
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { Run } from '../../src/interface/types.ts';
import { misbehaving } from '../agents/installed.ts';
import { eventually } from '../support/eventually.ts';
import { describeNeeding } from '../support/requirements.ts';
import { needsSmallDisk, smallDisk } from '../support/small-disk.ts';
import { AgentMachine } from './helpers/agent-machine.ts';
import { ManualClock } from './helpers/clock.ts';
import { config } from './helpers/service.ts';

const diskSize = 32 * 1024 * 1024;

async function startScript(machine: AgentMachine, steps: string): Promise<Run> {
  const build = { name: 'first', config: config(`version: 1\nsteps:\n${steps}`, 'script') };
  const { agent } = await machine.api.ok('createAgent', { body: { name: 'Script', build } });
  return (await machine.api.ok('startRun', { body: { agent_id: agent.id } })).run;
}

const readiness = async ({ api }: AgentMachine): Promise<string> => (await api.send('GET', '/readyz')).text;

describeNeeding(needsSmallDisk, 'on a full disk', () => {
  it('a command learns that there is no space, and its run says so', async () => {
    const disk = await smallDisk(diskSize);
    const machine = await AgentMachine.start({ dataDirectory: disk.folder });
    const run = await startScript(
      machine,
      `- exec: { id: fill, run: "cat /dev/zero > big; code=$?; rm big; exit $code", on_error: continue }
- say: "{{ steps.fill.exit_code }}: {{ steps.fill.stderr }}"`,
    );
    expect(await machine.until(run.id, 'completed', 'failed')).toMatchObject({ status: 'completed' });
    expect((await machine.texts(run)).at(-1)).toMatch(/^1: .*No space left on device/);
    machine.expectNoProcess(run);
  });

  it('a run waits until there is space, and then continues', async () => {
    const disk = await smallDisk(diskSize);
    const clock = new ManualClock();
    const machine = await AgentMachine.start({ dataDirectory: disk.folder, clock });
    const run = await startScript(machine, '- exec: { run: "test -e enough || cat /dev/zero > big; touch done" }\n- say: Done');
    await eventually('the service reports the full disk', async () => {
      clock.advance(1_000);
      return (await readiness(machine)).includes('"reason":"disk_full"');
    });
    expect((await machine.api.ok('getRun', { params: { run_id: run.id } })).run.status).toBe('running');
    await rm(machine.file(run, 'big'));
    await writeFile(machine.file(run, 'enough'), '');
    await eventually('the end of the run', async () => {
      // The service tries again after a while.
      clock.advance(10_000);
      return ['completed', 'failed'].includes((await machine.api.ok('getRun', { params: { run_id: run.id } })).run.status);
    });
    const { run: endedRun } = await machine.api.ok('getRun', { params: { run_id: run.id } });
    expect(endedRun).toMatchObject({ status: 'completed', error: null });
    expect(await readiness(machine)).toContain('"status":"ready"');
    machine.expectNoProcess(run);
  });

  it('an answer that cannot be stored is refused, and can be given again', async () => {
    const disk = await smallDisk(diskSize);
    const machine = await AgentMachine.start({ dataDirectory: disk.folder });
    const run = await machine.run({ command: misbehaving('well-behaved') }, 'Hello');
    const { id } = await machine.pending(run);
    await disk.fill();
    const request = { params: { run_id: run.id, request_id: id }, body: { approved: true } };
    const refusal = await machine.api.call('respondToHumanRequest', request);
    expect([refusal.status, refusal.body]).toEqual([503, expect.objectContaining({ error: 'disk_full' })]);
    expect(existsSync(machine.file(run, 'result.txt'))).toBe(false);
    await disk.free();
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
    expect(readFileSync(machine.file(run, 'result.txt'), 'utf8')).toBe('Hello');
    await eventually('the end of the process', () => {
      machine.expectNoProcess(run);
      return true;
    });
  });
});
