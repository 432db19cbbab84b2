import { describe, expect, it } from 'vitest';
import { RenderPool } from '../../../../src/service/runtimes/script/rendering/pool.ts';
import { createScriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { needsSqlite } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { crashImage } from '../../helpers/crash.ts';
import { type Api, config, startApi } from '../../helpers/service.ts';

/** A service in which steps with slow templates take an hour, and the interruptions that its runtime learns about. */
async function slowService(dataDirectory?: string): Promise<{ api: Api; report: Promise<number> }> {
  const script = createScriptRuntime({ pool: new RenderPool(), limits: { step: 3_600_000, pass: 3_600_000 } });
  let onBegin: (interruptions: number) => void = () => undefined;
  const interruptionReport = new Promise<number>((resolve) => {
    onBegin = resolve;
  });
  const runtimes = [
    {
      ...script,
      advance: (host: Parameters<typeof script.advance>[0]) => {
        onBegin(host.interruptions);
        return script.advance(host);
      },
    },
  ];
  return { api: await startApi({ runtimes, ...(dataDirectory === undefined ? {} : { dataDirectory }) }), report: interruptionReport };
}

const slowTemplate = "{{ message | split: '' | where_exp: 'x', 'message contains x' | size }}";
const procedure = [
  'version: 1',
  'steps:',
  '  - say: before',
  `  - write: { path: a.json, json: [${Array(1_000).fill(`"${slowTemplate}"`).join(', ')}] }`,
].join('\n');

async function startedRun(api: Api): Promise<string> {
  const { agent } = await api.ok('createAgent', { body: { name: 'Slow', build: { name: 'first', config: config(procedure, 'script') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id, message: 'y'.repeat(200_000) } });
  return run.id;
}

/** Resolves when the run has reached its slow step. */
async function inSlowStep(api: Api, runId: string): Promise<void> {
  while (!(await api.texts(runId)).includes('before')) await new Promise((resolve) => setImmediate(resolve));
}

describe('a step during which the service ends', () => {
  itNeeding(needsSqlite, 'fails after five times in a row', async () => {
    let { api, report } = await slowService();
    const runId = await startedRun(api);
    const interruptions = [await report];
    await inSlowStep(api, runId);
    for (let time = 1; time <= 5; time++) {
      ({ api, report } = await slowService(await crashImage(api)));
      interruptions.push(await report);
    }
    // The first one is counted from where the run was taken over.
    expect(interruptions).toEqual([0, 1, 2, 3, 4, 5]);
    const run = await api.until(runId, 'failed');
    expect(run.error).toBe('Step 2 (write, line 4) was abandoned: the service ended 5 times in a row while the step was running.');
  });

  it('does not fail if the service was stopped properly each time', async () => {
    let { api, report } = await slowService();
    const runId = await startedRun(api);
    await report;
    await inSlowStep(api, runId);
    for (let time = 1; time <= 6; time++) {
      await api.service.close();
      ({ api, report } = await slowService(api.dataDirectory));
      expect(await report).toBe(0);
    }
    await api.ok('stopRun', { params: { run_id: runId } });
    await api.until(runId, 'interrupted');
  });

  itNeeding(needsSqlite, 'can wait for a person across any number of restarts', async () => {
    const script = createScriptRuntime({ pool: new RenderPool() });
    let api = await startApi({ runtimes: [script] });
    const body = {
      name: 'Asks',
      build: { name: 'first', config: config('version: 1\nsteps:\n  - approve: { id: ok, title: Go on? }\n  - say: done', 'script') },
    };
    const { agent } = await api.ok('createAgent', { body });
    const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
    await api.until(run.id, 'waiting');
    for (let time = 1; time <= 6; time++) api = await startApi({ runtimes: [script], dataDirectory: await crashImage(api) });
    const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: run.id } });
    await api.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: request?.id ?? '' }, body: { approved: true } });
    await api.until(run.id, 'completed');
  });
});
