/**
 * Services that are killed at awkward moments and start again from what was on disk. The tests choose the moments: each takes an
 * image of the data directory at that instant (helpers/crash.ts). Real processes are killed in test/e2e.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/service/runtimes/runtime.ts';
import { AuthorizationServer } from '../../support/authorization-server.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { crashImage } from '../helpers/crash.ts';
import { Gate, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, startApi, type TestOptions } from '../helpers/service.ts';

/** The same service, after it was killed and started again. */
const restart = async (api: Api, options: TestOptions): Promise<Api> => startApi({ ...options, dataDirectory: await crashImage(api) });

/** Images of several instants while something is in progress. */
async function images(api: Api, count: number): Promise<string[]> {
  const imagePaths: string[] = [];
  for (; imagePaths.length < count; await setImmediate()) imagePaths.push(await crashImage(api));
  return imagePaths;
}

async function until<Value>(ask: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const value = await ask();
    if (value !== undefined) return value;
    await setImmediate();
  }
}

describe('a service that is killed', () => {
  it('while it dispatches cases loses none, works on none twice, and keeps to the limit of the trigger', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    afterTest(async () => gate.open());
    const heldOptions: TestOptions = {
      clock,
      behaviours: { work: async () => gate.opened.then(() => ({ status: 'completed' as const })) },
    };
    const api = await startApi(heldOptions);
    const agent_id = await api.agent('work');
    const { queue } = await api.ok('createQueue', { body: { name: 'work' } });
    await api.ok('createAgentCaseTrigger', { params: { agent_id }, body: { case_queue_id: queue.id, enabled: true, concurrency: 1 } });
    const cases = Array.from({ length: 6 }, (_, index) => ({ title: `case ${index}` }));
    const pendingCreation = api.ok('createCases', { params: { queue_id: queue.id }, body: { cases } });
    const imagePaths = await images(api, 6);
    await pendingCreation;
    const isClaimed = async () => (await api.ok('listRuns', { query: { status: 'running' } })).total > 0 || undefined;
    await until(isClaimed);
    imagePaths.push(...(await images(api, 2)));
    for (const dataDirectory of imagePaths) {
      const workCounts = new Map<string, number>();
      let maxConcurrent = 0;
      const restartedApi = await startApi({
        clock,
        dataDirectory,
        behaviours: {
          work: async (host) => {
            maxConcurrent += 1;
            expect(maxConcurrent).toBe(1);
            await setImmediate();
            const title = host.case?.title ?? 'none';
            workCounts.set(title, (workCounts.get(title) ?? 0) + 1);
            maxConcurrent -= 1;
            return { status: 'completed' };
          },
        },
      });
      // An image from before the commit has none.
      const { total } = await restartedApi.ok('listCases', { params: { queue_id: queue.id } }).catch(() => ({ total: 0 }));
      await until(async () => {
        const answer = await restartedApi.call('listCases', { params: { queue_id: queue.id }, query: { status: 'completed', limit: 100 } });
        return answer.status === 404 || answer.body.total === total || undefined;
      });
      expect([...workCounts.values()]).toEqual(Array(total).fill(1));
      for (const { id } of (await restartedApi.ok('listCases', { params: { queue_id: queue.id } })).cases)
        expect((await restartedApi.ok('listCaseRuns', { params: { case_id: id } })).runs).toHaveLength(1);
      await restartedApi.service.close();
    }
    gate.open();
  });

  it('while a schedule fires starts one run for that instant, and one for the next', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const agent_id = await api.agent();
    await api.ok('createSchedule', { params: { agent_id }, body: { enabled: true, frequency: 'hourly', timezone: 'UTC' } });
    clock.advance(3_600_000);
    const imagePaths = await images(api, 8);
    await until(async () => (await api.ok('listRuns')).total === 1 || undefined);
    imagePaths.push(await crashImage(api));
    for (const dataDirectory of imagePaths) {
      const imageClock = new ManualClock(clock.now());
      const restartedApi = await startApi({ clock: imageClock, dataDirectory });
      const untilFired = (count: number) => until(async () => (await restartedApi.ok('listRuns')).total >= count || undefined);
      await untilFired(1);
      imageClock.advance(3_600_000);
      await within(10_000, imageClock, async () => (await restartedApi.ok('listRuns')).total >= 2);
      for (let attempt = 0; attempt < 10; attempt++) await restartedApi.send('GET', '/healthz');
      const { schedules } = await restartedApi.ok('listAgentSchedules', { params: { agent_id } });
      expect([(await restartedApi.ok('listRuns')).total, schedules[0]?.next_run_at]).toEqual([2, '2026-07-18T12:00:00.000Z']);
      await restartedApi.service.close();
    }
  });

  it('while a builder works executes the builder run again, and proposes one revision', async () => {
    const gate = new Gate();
    afterTest(async () => gate.open());
    let isStuck = true;
    const building = new Gate();
    const runtime: Runtime = {
      ...testRuntime({ done: async () => ({ status: 'completed' }), better: async () => ({ status: 'completed' }) }),
      builder: {
        build: async (_, enter) => {
          await enter('planning');
          building.open();
          if (isStuck) await gate.opened;
          return { status: 'proposed', procedure: 'better', changes: [], setupChanges: [], scheduleSuggested: false };
        },
      },
    };
    const api = await startApi({ runtimes: [runtime] });
    const { build } = await api.ok('createAgent', { body: { name: 'A', build: { name: 'one', config: config('done') } } });
    const buildInput = { params: { build_id: build?.id as string } };
    const result = await api.call('generateRevision', {
      ...buildInput,
      body: { prompt: 'Do better' },
      headers: { 'idempotency-key': 'k' },
    });
    await building.opened;
    const image = await crashImage(api);
    isStuck = false;
    const restartedApi = await startApi({ dataDirectory: image, runtimes: [runtime] });
    const latest = await until(async () => {
      const run = await restartedApi.ok('getLatestBuilderRun', buildInput);
      return run.status === 'waiting_for_approve' ? run : undefined;
    });
    const replay = await restartedApi.call('generateRevision', {
      ...buildInput,
      body: { prompt: 'Do better' },
      headers: { 'idempotency-key': 'k' },
    });
    expect([replay.text, replay.headers['idempotency-replayed']]).toEqual([result.text, 'true']);
    await restartedApi.ok('acceptRevision', { ...buildInput, body: {} });
    expect((await restartedApi.ok('getLatestBuilderRun', buildInput)).id).toBe(latest.id);
    const { agents } = await restartedApi.ok('listAgents');
    const { build: after } = await restartedApi.ok('getRevision', {
      params: { agent_id: agents[0]?.id as string, build_id: buildInput.params.build_id },
    });
    expect(after.config).toMatchObject({ data: { input: 'better' } });
  });

  it('while a page is generated generates it once', async () => {
    const api = await startApi();
    const { artifact_id } = await api.ok('createArtifact', { body: { message: 'title "Page"; runs' } });
    const artifactInput = { params: { artifactId: artifact_id } };
    for (const dataDirectory of await images(api, 8)) {
      const restartedApi = await startApi({ dataDirectory });
      await until(async () => (await restartedApi.ok('getArtifact', artifactInput)).artifact.status === 'completed' || undefined);
      const { revisions } = await restartedApi.ok('listArtifactRevisions', artifactInput);
      const { data: messages } = await restartedApi.ok('listArtifactMessages', artifactInput);
      expect([revisions.length, messages.map(({ role }) => role)]).toEqual([1, ['user', 'assistant']]);
      await restartedApi.service.close();
    }
  });

  it('between the end of a run and its evaluation evaluates the run once', async () => {
    const api = await startApi();
    const agentId = await api.agent();
    await api.ok('createEvalRubric', { params: { agentId }, body: { title: 'Said', description: 'The final message contains "done".' } });
    const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
    for (const dataDirectory of await images(api, 8)) {
      const restartedApi = await startApi({ dataDirectory });
      await restartedApi.until(run.id, 'completed');
      const evaluation = await until(async () => {
        const { data } = await restartedApi.ok('listRuns');
        const summary = data[0]?.eval_summaries ?? undefined;
        return summary?.status === 'in_progress' ? undefined : summary;
      });
      expect(evaluation).toMatchObject({ status: 'ready', passed: 4, total: 5 });
      await restartedApi.service.close();
    }
  });

  it('in the middle of an upload keeps nothing of the file, which can be sent again', async () => {
    const api = await startApi();
    const { sandbox_id } = await api.ok('createSandbox');
    const uploadInput = { params: { sandbox_id }, body: { path: 'in/large.bin' } };
    const { upload_url } = await api.ok('createSandboxUploadUrl', uploadInput);
    const halfGate = new Gate();
    const resumeGate = new Gate();
    async function* body() {
      yield Buffer.alloc(200_000, 'a');
      halfGate.open();
      await resumeGate.opened;
      yield Buffer.alloc(200_000, 'b');
    }
    const upload = request(upload_url, { method: 'PUT', body: body() as never }).then((answer) => answer.body.dump());
    await halfGate.opened;
    const stagingOf = (dataDirectory: string) => join(dataDirectory, 'sandboxes', sandbox_id, 'staging');
    await until(async () => (await readdir(stagingOf(api.dataDirectory)).catch(() => [])).length === 1 || undefined);
    const image = await crashImage(api);
    resumeGate.open();
    await upload;
    const staging = stagingOf(image);
    expect(await readdir(staging)).toHaveLength(1);
    const restartedApi = await startApi({ dataDirectory: image });
    // The bytes received so far are not kept for as long as the sandbox is, either.
    await until(async () => (await readdir(staging)).length === 0 || undefined);
    const { run } = await restartedApi.ok('startRun', { body: { agent_id: await restartedApi.agent(), sandbox_id } });
    await restartedApi.until(run.id, 'completed');
    const listFiles = async () =>
      (await restartedApi.ok('listRunSandboxFiles', { params: { run_id: run.id } })).data.entries.map(({ name }) => name);
    expect((await listFiles()).filter((name) => name !== 'in')).toEqual([]);
    const repeatedSandbox = await restartedApi.ok('createSandbox');
    const uploadGrant = await restartedApi.ok('createSandboxUploadUrl', { params: repeatedSandbox, body: uploadInput.body });
    expect((await request(uploadGrant.upload_url, { method: 'PUT', body: 'whole' })).statusCode).toBeLessThan(300);
  });

  it('while a person authorizes a connection finishes the authorization, and creates one connection', async () => {
    const server = await McpServer.start();
    const issuer = await AuthorizationServer.start();
    afterTest(() => Promise.all([server.close(), issuer.close()]));
    issuer.protect(server);
    const api = await startApi();
    const { authorization_url } = await api.ok('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url: server.url } });
    const restartedApi = await restart(api, {});
    const redirect = await fetch(authorization_url, { redirect: 'manual' });
    // A service that is killed comes back on its port; this one runs next to it.
    const callback = new URL(redirect.headers.get('location') as string);
    const answer = () => fetch(`${restartedApi.service.url}${callback.pathname}${callback.search}`);
    expect((await answer()).status).toBe(200);
    expect((await restartedApi.ok('listConnections')).integrations).toMatchObject([{ name: 'tickets', has_oauth_tokens: true }]);
    expect((await answer()).status).toBeGreaterThanOrEqual(400);
    expect((await restartedApi.ok('listConnections')).total).toBe(1);
  });
});
