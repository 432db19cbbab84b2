/** How the job of a run ends: what becomes of the run, and of the job, in each case. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import { startRun } from '../../../../src/service/engine/runs/lifecycle.ts';
import { runJob } from '../../../../src/service/engine/runs/run-driver.ts';
import { RunLostError } from '../../../../src/service/engine/runs/run-record.ts';
import type { RunRow } from '../../../../src/service/store/database/schema.ts';
import { claimJob, revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, idleEngine } from '../../helpers/engine.ts';
import { type Behaviour, testRuntime } from '../../helpers/runtime.ts';
import { config, startApi } from '../../helpers/service.ts';
import { ignoreReferences } from '../../helpers/stored.ts';

/** A run of an agent that behaves like this. The test executes its job. */
async function pendingRun(behaviour: Behaviour) {
  const clock = new ManualClock();
  const runtime = testRuntime({ behaves: behaviour });
  const api = await startApi({ clock, runtimes: [runtime] });
  const agentId = await api.agent('behaves');
  await api.service.close();
  const logEntries: string[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes: [runtime] }, (_, message) =>
    logEntries.push(message),
  );
  afterTest(() => closeEngine(engine));
  const { id } = await startRun(engine, { teamId: api.service.teamId, agentId, source: 'api' });
  const controller = new AbortController();
  return {
    ...{ engine, clock, id, logEntries, controller, runtime, dataDirectory: api.dataDirectory },
    run: async (): Promise<RunRow> => (await runById(engine.store, id)) as RunRow,
    job: () =>
      engine.store
        .selectFrom('jobs')
        .select(['status', 'owner', 'due_at'])
        .where('kind', '=', 'run')
        .where('subject_id', '=', id)
        .executeTakeFirstOrThrow(),
    execute: async (executor: StartableEngine = engine) =>
      runJob.run(executor, await claimedJob(engine, runJob.kind, id), controller.signal),
  };
}

const completeBehaviour: Behaviour = async () => ({ status: 'completed' });

describe('a run', () => {
  it('is running from its first execution on, whose time is when it started', async () => {
    const { clock, execute, run, job } = await pendingRun(async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 }));
    const started_at = new Date(clock.now()).toISOString();
    await execute();
    expect(await run()).toMatchObject({ status: 'running', started_at, completed_at: null });
    expect(await job()).toEqual({ status: 'queued', owner: null, due_at: clock.now() + 60_000 });
    clock.advance(60_000);
    await execute();
    expect(await run()).toMatchObject({ status: 'running', started_at });
  });

  it.each([
    [async () => Promise.reject(new Error('No step 3.')), 'No step 3.'],
    [async () => Promise.reject('a text'), 'a text'],
    [async () => ({ status: 'failed' as const, error: 'Denied.' }), 'Denied.'],
  ])('fails with the error of its runtime (%#)', async (behaviour, error) => {
    const { clock, execute, run, job, logEntries } = await pendingRun(behaviour);
    await execute();
    // A failure that the runtime reports is part of the run; one that it throws can be its mistake.
    expect(logEntries).toEqual([...(error === 'Denied.' ? [] : ['a run failed with an error of its runtime']), 'run advanced']);
    expect(await run()).toMatchObject({ status: 'failed', error, completed_at: new Date(clock.now()).toISOString() });
    expect((await job()).status).toBe('done');
  });

  it('fails if its runtime is missing', async () => {
    const { engine, execute, run } = await pendingRun(completeBehaviour);
    await execute({ ...engine, worker: engine.worker, runtimes: new Map() });
    expect(await run()).toMatchObject({ status: 'failed', error: 'The runtime "test" is not available in this service.' });
  });

  it('does not end because of trouble of the host', async () => {
    const diskFullError = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write' });
    const { execute, run, job, logEntries } = await pendingRun(() => Promise.reject(diskFullError));
    await expect(execute()).rejects.toBe(diskFullError);
    expect(await run()).toMatchObject({ status: 'running', error: null });
    expect([(await job()).status, logEntries]).toEqual(['running', []]);
  });

  it.each([
    ['waiting', 'parked'],
    ['completed', 'done'],
    ['failed', 'done'],
    ['interrupted', 'done'],
  ] as const)('that is %s is not executed: its job is %s', async (status, expected) => {
    const { engine, execute, run, job } = await pendingRun(completeBehaviour);
    await engine.store.updateTable('runs').set({ status }).execute();
    const before = await run();
    await execute();
    expect([await run(), (await job()).status]).toEqual([before, expected]);
  });
});

describe('a run that cannot be executed here', () => {
  it('is left unchanged if another worker has its job by now', async () => {
    const { engine, id, run, job, controller, logEntries } = await pendingRun(completeBehaviour);
    const claim = await claimedJob(engine, runJob.kind, id);
    const before = await run();
    await revokeJob(engine.store, runJob.kind, id);
    await runJob.run(engine, claim, controller.signal);
    expect([await run(), (await job()).status, logEntries]).toEqual([before, 'done', []]);
  });

  it('is not running before it has its folder', async () => {
    const { execute, run, dataDirectory } = await pendingRun(completeBehaviour);
    const sandboxes = join(dataDirectory, 'sandboxes');
    await rm(sandboxes, { recursive: true, force: true });
    await writeFile(sandboxes, 'in the way');
    await expect(execute()).rejects.toThrow();
    expect(await run()).toMatchObject({ status: 'pending', started_at: null });
  });

  it('gives back its workspace if what earlier executions recorded cannot be read', async () => {
    const { engine, clock, execute, run, job } = await pendingRun(async (host) => {
      await host.commit('one', null);
      return { status: 'sleeping', until: host.clock.now() + 60_000 };
    });
    let openCount = 0;
    const { workspaces } = engine;
    const open = workspaces.open.bind(workspaces);
    workspaces.open = async (...args) => {
      const workspace = await open(...args);
      openCount += 1;
      const close = workspace.close.bind(workspace);
      workspace.close = (isOver) => {
        openCount -= 1;
        close(isOver);
      };
      return workspace;
    };
    await execute();
    expect([openCount, (await job()).status]).toEqual([0, 'queued']);
    await sql`update journal set result = '{'`.execute(engine.store);
    clock.advance(60_000);
    await expect(execute()).rejects.toBeInstanceOf(SyntaxError);
    expect([openCount, (await run()).status]).toEqual([0, 'running']);
  });

  it.each([
    ['fails with trouble of the host', Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write' })],
    ['belongs to another worker', new RunLostError()],
  ])('leaves nothing running of what its runtime has started if it %s', async (_, error) => {
    const released: string[] = [];
    const execution = await pendingRun(() => {
      // With Postgres, processes of an execution on another node are released first.
      released.length = 0;
      return Promise.reject(error);
    });
    Object.assign(execution.runtime, { release: (runId: string) => released.push(runId) });
    await execution.execute().catch(() => undefined);
    expect(released).toEqual([execution.id]);
  });
});

describe('an execution that is aborted', () => {
  it('by the end of the service is continued by the next one, as if it had not been interrupted', async () => {
    const execution = await pendingRun(async (host) => {
      execution.controller.abort(new JobAborted('shutdown'));
      await host.commit('late', null).catch(() => undefined);
      return { status: 'completed' };
    });
    await execution.execute();
    expect(await execution.run()).toMatchObject({ status: 'running', completed_at: null });
    expect(await execution.job()).toEqual({ status: 'running', owner: null, due_at: execution.clock.now() });
    const next = await claimJob(execution.engine.store, 'run', { owner: 'next', now: execution.clock.now(), lease: 1_000 });
    expect(next).toMatchObject({ subject_id: execution.id, wasInterrupted: false });
    expect(await execution.engine.store.selectFrom('journal').select('step').execute()).toEqual([]);
    expect(execution.logEntries).toEqual([]);
  });

  it.each(['stopped', 'lost'] as const)('because its job was %s leaves the job unchanged', async (reason) => {
    const execution = await pendingRun(async () => {
      execution.controller.abort(new JobAborted(reason));
      throw new Error('aborted');
    });
    await execution.execute();
    expect(await execution.run()).toMatchObject({ status: 'running', error: null });
    expect(await execution.job()).toMatchObject({ status: 'running', owner: 'this' });
    expect(execution.logEntries).toEqual([]);
  });

  it('because another worker has the run is not reported as a failure of its runtime', async () => {
    const execution = await pendingRun(async (host) => {
      await revokeJob(execution.engine.store, 'run', host.run.id);
      await host.commit('late', null);
      return { status: 'completed' };
    });
    await execution.execute();
    expect(await execution.run()).toMatchObject({ status: 'running', error: null });
    expect(execution.logEntries).toEqual([]);
  });
});

it('a run of a case has the title of the case, whatever its message is', async () => {
  const { engine, run } = await pendingRun(completeBehaviour);
  const { team_id: teamId, agent_id: agentId } = await run();
  await ignoreReferences(engine.store, 'runs');
  const start = { teamId, agentId: agentId as string, source: 'api' as const, message: 'Work on this case.' };
  const { title, case_id } = await startRun(engine, { ...start, case: { id: 'c', title: 'Invoice 7' } });
  expect([title, case_id]).toEqual(['Invoice 7', 'c']);
});

describe('the title of a run', () => {
  const titles = async (messages: (string | undefined)[]): Promise<string[]> => {
    const api = await startApi({ behaviours: { work: completeBehaviour } });
    const { agent } = await api.ok('createAgent', { body: { name: 'Checker', build: { name: 'first', config: config('work') } } });
    for (const message of messages)
      await api.ok('startRun', { body: { agent_id: agent.id, ...(message === undefined ? {} : { message }) } });
    return (await api.ok('listRuns', { query: { sort_order: 'asc' } })).data.map(({ title }) => title);
  };

  it('is the first line of its message, or the name of the agent and the number of the run', async () => {
    const longText = 'x'.repeat(80);
    expect(await titles(['Check 7', '\r\n  \r\n  Check 8  \r\nnow', undefined, '  \n ', longText, `${longText}y`])).toEqual([
      'Check 7',
      'Check 8',
      'Checker #3',
      'Checker #4',
      longText,
      `${'x'.repeat(79)}\u2026`,
    ]);
  });
});
