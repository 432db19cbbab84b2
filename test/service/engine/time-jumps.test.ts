/** Everything that depends on the clock, with extreme settings and when the clock is set: nothing loops, is lost, or waits for ever. */
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { Worker } from '../../../src/service/engine/jobs/worker.ts';
import { Readiness } from '../../../src/service/operating/readiness.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { fillable, withEverything } from '../helpers/everything.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Api, startApi } from '../helpers/service.ts';
import { storedRows } from '../helpers/stored.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** How often each job was claimed, in a database that no service has open. */
const claims = (directory: string): Promise<{ kind: string; epoch: number }[]> =>
  storedRows(directory, 'select kind, max(epoch) as epoch from jobs group by kind');

/** Long enough for a loop without a pause to turn hundreds of times. */
async function passTime(api: Api): Promise<void> {
  for (let attempt = 0; attempt < 40; attempt++) await api.send('GET', '/healthz', { anonymous: true });
}

/** Resolves when the files of the run are gone. */
const untilRemoved = (api: Api, clock: ManualClock, runId: string): Promise<void> =>
  within(10_000, clock, async () => {
    const { run } = await api.ok('getRun', { params: { run_id: runId } });
    const { data } = await api.ok('listRunSandboxFiles', { params: { run_id: run.id } });
    return data.entries.length === 0;
  });

describe('a service whose clock stands still', () => {
  it('is idle when its work is done, even with retention times of zero and however the clock was set', async () => {
    const clock = new ManualClock();
    const settings = { sandboxRetention: 0, runRetention: 0, webhooks: { timeScale: 0, random: () => 0 } };
    const api = await fillable({ clock, ...settings });
    const ownedIds = await withEverything(api);
    const artifact = { params: { artifactId: ownedIds.artifactId as string } };
    await api.ok('updateArtifact', { ...artifact, body: { refresh_frequency: 'every_15_minutes' } });
    const { agent } = await api.ok('createAgent', { body: { name: 'without a revision' } });
    const trigger = { case_queue_id: ownedIds.queue_id as string, enabled: true };
    await api.ok('createAgentCaseTrigger', { params: { agent_id: agent.id }, body: trigger });
    const jumps = [0, minute, -hour, day, -day, 60 * day, -365 * day, 400 * day];
    for (const jump of jumps) {
      clock.advance(jump);
      await passTime(api);
    }
    await api.service.close();
    // Each attempt at a delivery is a claim, and there are some of them at each jump.
    expect((await claims(api.dataDirectory)).filter(({ kind, epoch }) => epoch > jumps.length * (kind === 'deliver' ? 30 : 6))).toEqual([]);
  });

  it('removes the files of runs within a minute of their end if they are not to be kept', async () => {
    const clock = new ManualClock();
    const write = async (host: { sandbox: { write(path: string, bytes: Buffer): Promise<unknown> } }) => {
      await host.sandbox.write('note.txt', Buffer.from('note'));
      return { status: 'completed' as const };
    };
    const api = await startApi({ clock, sandboxRetention: 0, behaviours: { write } });
    const first = await api.run('write');
    await api.until(first.id, 'completed');
    clock.advance(minute);
    await untilRemoved(api, clock, first.id);
    const second = await api.run('write');
    await api.until(second.id, 'completed');
    clock.advance(minute);
    await untilRemoved(api, clock, second.id);
  });

  it('accepts retention times that go beyond the first possible date', async () => {
    const log: string[] = [];
    const clock = new ManualClock();
    const retention = { runRetention: 1e300, sandboxRetention: 1e300 };
    const api = await startApi({ clock, ...retention, log: ({ level, message }) => log.push(`${level} ${message}`) });
    const run = await api.run();
    await api.until(run.id, 'completed');
    for (const jump of [hour, hour, hour]) {
      clock.advance(jump);
      await passTime(api);
    }
    expect(log.filter((line) => /^(error|warn)/.test(line))).toEqual([]);
    expect((await api.ok('listRuns')).total).toBe(1);
  });
});

/** A clock whose time of day is set by the test, while time itself passes. */
class SetClock implements Clock {
  offset = 0;
  now = (): number => systemClock.now() + this.offset;
  steady = (): number => performance.now();
  sleep = systemClock.sleep;
}

describe('when the time of day is set back by an hour', () => {
  it('clients that wait for a run over MCP wait no longer than before', async () => {
    const clock = new SetClock();
    const gate = new Gate();
    const api = await startApi({ clock, behaviours: { held: async () => gate.opened.then(() => ({ status: 'completed' as const })) } });
    afterTest(async () => gate.open());
    const run = await api.run('held');
    await api.until(run.id, 'running');
    const wait = (timeout_seconds: number) =>
      api.send('POST', '/v2/mcp', {
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'wait_for_run', arguments: { run_id: run.id, timeout_seconds } },
        }),
      });
    // The first call loads the modules for the others, so that the clock is set while they wait.
    await wait(0);
    const startedAt = performance.now();
    const answer = wait(3);
    await passTime(api);
    clock.offset = -hour;
    expect((await answer).text).toContain('still_running');
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it('readiness is checked again, and a worker that hangs is detected', async () => {
    let offset = 0;
    let steadyCount = 0;
    const clock: Clock = { now: () => 1e12 + steadyCount + offset, steady: () => steadyCount, sleep: systemClock.sleep };
    const store = await openDatabase(await temporaryDirectory());
    const worker = new Worker({ store, clock, log: () => undefined, owner: 'me', lease: 1_000 });
    let hangs = false;
    const claim = async (): Promise<undefined> => (hangs ? new Promise(() => undefined) : undefined);
    const readiness = new Readiness({
      containment: hostLauncher,
      store,
      files: { check: async () => undefined },
      clock,
      log: () => undefined,
      worker,
    });
    worker.start([{ kind: 'run', concurrency: 1, run: async () => undefined, claim }], undefined);
    while (!worker.isAlive()) await new Promise((resolve) => setImmediate(resolve));
    expect((await readiness.state()).status).toBe('ready');
    // A day ahead; still, the worker has polled a moment ago.
    offset = day;
    expect(worker.isAlive()).toBe(true);
    offset = -hour;
    hangs = true;
    steadyCount = 5_000;
    expect(worker.isAlive()).toBe(false);
    await worker.close(1);
    await store.destroy();
    expect((await readiness.state()).checks.store).toBe('failed');
  });

  it('an unused sandbox is removed in time, and a schedule fires once at each instant', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { sandbox_id } = await api.ok('createSandbox');
    const agent_id = await api.agent();
    const body = { enabled: true, frequency: 'hourly', timezone: 'UTC' } as const;
    await api.ok('createSchedule', { params: { agent_id }, body });
    const runs = async () => (await api.ok('listRuns', { query: { count_only: 'true' } })).total;
    /** Advances minute by minute, as a clock does. */
    const until = async (time: number) => {
      while (clock.now() < time) {
        clock.advance(Math.min(10 * minute, time - clock.now()));
        await passTime(api);
      }
    };
    /** Resolves when this many runs have been started; no more come at this moment. */
    const untilFired = async (count: number) => {
      await within(10_000, clock, async () => (await runs()) >= count);
      await passTime(api);
      expect(await runs()).toBe(count);
    };
    const start = clock.now();
    await until(start + 90 * minute);
    await untilFired(1);
    clock.advance(-hour);
    await passTime(api);
    // A time that the clock reaches for the second time is not a new instant.
    await until(start + 110 * minute);
    expect(await runs()).toBe(1);
    await until(start + 130 * minute);
    await untilFired(2);
    clock.set(start + 25 * hour);
    await within(10_000, clock, async () => {
      const answer = await api.call('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'x' } });
      return answer.status === 404;
    });
    // A machine that was suspended makes up once for what it missed.
    await untilFired(3);
  });
});

it('a run that waits for a slot when the clock is set back by an hour still gets it', async () => {
  const clock = new ManualClock();
  const gate = new Gate();
  const api = await startApi({
    clock,
    runConcurrency: 1,
    behaviours: { held: async () => gate.opened.then(() => ({ status: 'completed' as const })) },
  });
  const first = await api.run('held');
  await api.until(first.id, 'running');
  const second = await api.run();
  clock.advance(-hour);
  gate.open();
  await api.until(first.id, 'completed');
  await api.until(second.id, 'completed');
});

it('a run that was waiting for a slot when the service was stopped gets it, even if the clock was set back before the next start', async () => {
  const clock = new ManualClock();
  const gate = new Gate();
  const behaviours = { held: async () => gate.opened.then(() => ({ status: 'completed' as const })) };
  const dataDirectory = await temporaryDirectory();
  const start = () => startApi({ clock, runConcurrency: 1, behaviours, dataDirectory });
  const api = await start();
  const first = await api.run('held');
  await api.until(first.id, 'running');
  const second = await api.run();
  await api.service.close();
  clock.advance(-hour);
  gate.open();
  const restartedApi = await start();
  await restartedApi.until(second.id, 'completed');
});
