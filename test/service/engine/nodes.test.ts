/** Several nodes on one database: work is done once, counted exactly, and continued by another node. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/service.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { png } from '../../support/png.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { runPromptly } from '../../support/promptly.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { openNode } from '../helpers/postgres.ts';
import { type Behaviour, Gate, runOnce } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

/** Starts nodes one after the other, each behind a proxy to the database. */
async function newCluster(behaviours: Record<string, Behaviour>, options: Partial<ServiceOptions> = {}) {
  const url = await newDatabase();
  const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
  return async () => {
    const proxy = await DatabaseProxy.to(url);
    return { proxy, api: await startApi({ ...options, behaviours, database: { url: proxy.url, maxConnections: 5, secretKeyFile } }) };
  };
}

async function startNodes(behaviours: Record<string, Behaviour>) {
  const startNode = await newCluster(behaviours);
  const { api, proxy } = await startNode();
  return { a: api, b: (await startNode()).api, url: proxy.url };
}

describeNeeding(needsPostgres, 'two nodes', () => {
  it('accept the same tokens, and show what the other one has changed immediately', async () => {
    const { a, b } = await startNodes({});
    expect(a.service.teamId).toBe(b.service.teamId);
    expect(a.service.token).not.toBe(b.service.token);
    const agentId = await a.agent();
    const { agents } = await b.as(a.service.token).ok('listAgents');
    expect(agents.map(({ id }) => id)).toEqual([agentId]);
  });

  it('must have the same key for secrets', async () => {
    const url = await newDatabase();
    await startApi({ database: { url, maxConnections: 2 } });
    await expect(startApi({ database: { url, maxConnections: 2 } })).rejects.toMatchObject({ code: 'secret_key_mismatch', exit: 1 });
  });

  it('are not backed up by copying files', async () => {
    const { a } = await startNodes({});
    const { status, text } = await a.call('createBackupHold');
    expect([status, text]).toEqual([409, expect.stringMatching(/backup_not_supported.*pg_dump/)]);
  });

  it('refuse a revoked token within a second', async () => {
    const { a, b } = await startNodes({});
    const { token, secret } = await a.ok('createLocalToken', { body: { name: 'revoked' } });
    expect((await b.as(secret).call('listAgents')).status).toBe(200);
    await a.ok('revokeLocalToken', { params: { token_id: token.id } });
    const refusal = eventually('it is refused', async () => (await b.as(secret).call('listAgents')).status === 401);
    await runPromptly(() => refusal, 1_000);
    expect((await a.as(secret).call('listAgents')).status).toBe(401);
  });

  it('number the runs of a team without gaps, and execute each once', async () => {
    const executions = new Map<string, number>();
    const { a, b } = await startNodes({
      count: async (host) => {
        await runOnce(host, 'count', async () => executions.set(host.run.id, (executions.get(host.run.id) ?? 0) + 1).size);
        return { status: 'completed' };
      },
    });
    const agentId = await a.agent('count');
    const start = (index: number) => (index % 2 === 0 ? a : b).ok('startRun', { body: { agent_id: agentId } });
    const runs = await Promise.all(Array.from({ length: 24 }, (_, index) => start(index)));
    for (const { run } of runs) await b.until(run.id, 'completed');
    const { data: listed, total } = await a.ok('listRuns', { query: { limit: 50 } });
    const all = Array.from({ length: 24 }, (_, index) => index + 1);
    expect([total, listed.map((run) => Number(run.run_number)).sort((x, y) => x - y)]).toEqual([24, all]);
    expect([...executions.values()]).toEqual(all.map(() => 1));
  });

  it('record each of the messages and cases that they receive at the same time', async () => {
    const { a, b, url } = await startNodes({ wait: async () => ({ status: 'sleeping', until: Number.MAX_SAFE_INTEGER }) });
    const run = await a.run('wait');
    const { queue } = await a.ok('createQueue', { body: { name: 'Queue' } });
    await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const api = index % 2 === 0 ? a : b;
        await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: `message ${index}` } });
        await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: `case ${index}` } } });
      }),
    );
    expect((await a.texts(run.id)).filter((text) => text.startsWith('message'))).toHaveLength(16);
    const store = await openNode(url, 'test', 1);
    const [counted] = await store.selectFrom('runs').select('submitted_prompt_count').where('id', '=', run.id).execute();
    expect(counted).toEqual({ submitted_prompt_count: 16 });
    const { total } = await b.ok('listCases', { params: { queue_id: queue.id }, query: { limit: 1 } });
    expect(total).toBe(16);
  });

  it('accept one of several answers to a human request', async () => {
    const { a, b } = await startNodes({
      ask: async (host) =>
        host.answer('ask') === undefined
          ? { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Continue?' } }
          : { status: 'completed' },
    });
    const run = await a.run('ask');
    await a.until(run.id, 'waiting');
    const { pending_human_request: request } = await b.ok('getRun', { params: { run_id: run.id } });
    const answers = await Promise.all(
      [a, b, a, b].map((api) =>
        api.call('respondToHumanRequest', { params: { run_id: run.id, request_id: String(request?.id) }, body: { approved: true } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    await b.until(run.id, 'completed');
  });

  it('show the screenshots of runs that the other one executes', async () => {
    const { a, b } = await startNodes({
      look: async (host) => {
        const image = { name: 'page.png', mimeType: 'image/png', bytes: png(2, 2, [1, 2, 3]) };
        await host.emit([{ kind: 'screenshot', id: 'p', toolName: 'browser', action: 'open', startedAt: new Date(0), image }]);
        return { status: 'completed' };
      },
    });
    const runs = await Promise.all([a, b, a, b].map((api) => api.run('look')));
    for (const run of runs) {
      await a.until(run.id, 'completed');
      for (const api of [a, b]) {
        const { data } = await api.ok('getRunScreenshotTimeline', { params: { run_id: run.id } });
        const { status, headers } = await api.send('GET', data.toolExecutions[0]?.afterScreenshot?.signedUrl ?? '', { anonymous: true });
        expect([status, headers['content-length']]).toEqual([200, String(png(2, 2, [1, 2, 3]).byteLength)]);
      }
    }
    for (const api of [a, b]) expect(existsSync(path.join(api.dataDirectory, 'files'))).toBe(false);
  });

  it('stop the driver of a run on the other node', async () => {
    const isStarted = new Gate();
    const { a, b } = await startNodes({
      hang: (host) => {
        isStarted.open();
        return new Promise((_, reject) => host.signal.addEventListener('abort', () => reject(host.signal.reason)));
      },
    });
    const run = await a.run('hang');
    await isStarted.opened;
    // One of the two requests goes to the node that does not execute the run.
    for (const api of [b, a]) await api.ok('stopRun', { params: { run_id: run.id } });
    expect((await b.until(run.id, 'interrupted')).status).toBe('interrupted');
    await eventually(
      'the slot is free again',
      async () => (await a.ok('getRun', { params: { run_id: run.id } })).run.status === 'interrupted',
    );
  });

  it('continue a run of a node that has lost its database, after its last completed step, and fence that node off', async () => {
    const clock = new ManualClock();
    const steps: string[] = [];
    const gate = new Gate();
    const isHanging = new Gate();
    const lateWrite = new Gate();
    const lateErrors: string[] = [];
    let isFirst = true;
    const startNode = await newCluster(
      {
        two: async (host) => {
          await runOnce(host, 'one', async () => steps.push('one'));
          if (isFirst) {
            isFirst = false;
            isHanging.open();
            await gate.opened;
            await host.commit('late', null).catch((error: Error) => lateErrors.push(error.name));
            lateWrite.open();
            throw new Error('This node has lost the run.');
          }
          await runOnce(host, 'two', async () => steps.push('two'));
          return { status: 'completed' };
        },
      },
      { clock },
    );
    const { api: a, proxy } = await startNode();
    const run = await a.run('two');
    await isHanging.opened;
    const { api: b } = await startNode();
    proxy.cut();
    await within(60_000, clock, async () => (await b.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed');
    expect(steps).toEqual(['one', 'two']);
    proxy.restore();
    gate.open();
    await lateWrite.opened;
    expect(lateErrors).toHaveLength(1);
    expect((await b.ok('getRun', { params: { run_id: run.id } })).run.status).toBe('completed');
  });
});
