/** Reporting an outage while watching: once when it begins, and once when it is over. */
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Transcript } from '../../src/cli/records/transcript.ts';
import { TranscriptSink } from '../../src/commands/runs/sinks.ts';
import { plainStyles } from '../../src/terminal/style.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { eventually } from '../support/eventually.ts';
import { Forwarder } from '../support/forwarder.ts';
import type { CliOptions, CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const approvalStep = '- approve: { id: pay, title: "Pay?" }';
const env = (proxy: Forwarder) => ({ AOPS_BASE_URL: proxy.url });

async function approve(run: string): Promise<void> {
  const { request } = await service.get(run);
  await service.api('POST', `/runs/${run}/human-requests/${request?.id}/respond`, { approved: true });
}

/** Makes the service unreachable for a while, during which the run is approved. */
async function interruptProxy(proxy: Forwarder, run: string): Promise<void> {
  await eventually('it is followed', () => proxy.requests.some((path) => path.includes(run)));
  proxy.goDown();
  await eventually('it was tried a few times', () => proxy.refusedCount >= 4);
  await approve(run);
  proxy.up = true;
}

it('people see two messages', async () => {
  const proxy = await Forwarder.to(service.service.url);
  const run = await service.waiting(approvalStep);
  const pendingResult = service.cli(['runs', 'watch', run, '--on-request', 'wait'], { env: env(proxy) });
  await interruptProxy(proxy, run);
  const { code, stderr } = await pendingResult;
  expect(code).toBe(0);
  expect(
    stderr.match(/^Could not reach http:\S+: .*\.\nThe service has not answered since \d\d:\d\d:\d\d\. Retrying for up to 1m\.$/gm),
  ).toHaveLength(1);
  expect(stderr.match(/^The service is reachable again after \S+\.$/gm)).toHaveLength(1);
  expect(stderr).not.toContain('Trying again in');
});

it('programs receive two objects', async () => {
  const proxy = await Forwarder.to(service.service.url);
  const run = await service.waiting(approvalStep);
  const pendingWait = service.cli(['runs', 'wait', run, '--json'], { env: env(proxy) });
  await interruptProxy(proxy, run);
  const { code, stderr } = await pendingWait;
  expect(code).toBe(0);
  const notes = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string });
  expect(notes).toMatchObject([
    { event: 'service.unreachable', since: expect.stringMatching(/^\d{4}-.*Z$/), reason: expect.stringContaining('Could not reach') },
    { event: 'service.reachable', after_seconds: expect.any(Number) },
  ]);
});

describe('a command that starts during an outage waits for the service', () => {
  /** Runs a command while the service is down; it comes back after as many attempts as a request has that is not part of watching. */
  async function early(argv: string[], options: CliOptions = {}): Promise<CliResult> {
    const proxy = await Forwarder.to(service.service.url);
    proxy.goDown();
    const result = service.cli(argv, { ...options, env: env(proxy) });
    await eventually(`${argv.join(' ')} was tried a few times`, () => proxy.refusedCount >= 4);
    proxy.up = true;
    return result;
  }

  it('if it begins by reading a run', async () => {
    const run = await service.waiting(approvalStep);
    expect(await early(['runs', 'wait', run, '--for', 'waiting', '-o', 'id'])).toMatchObject({ code: 0, stdout: `${run}\n` });
  });

  it('if it begins by looking up a name, or cases', async () => {
    const agent = await service.agent(approvalStep, 'asker');
    const { run } = await service.until(await service.start(agent), 'waiting');
    const doneRun = (await service.until(await service.run('- say: Done.'), 'completed')).run;
    await service.cli(['queues', 'create', 'early']);
    const addedId = (await service.cli(['cases', 'create', 'early', 'one', '-o', 'id'])).stdout.trim();
    expect((await service.cli(['cases', 'set-status', addedId, '--to', 'completed'])).code).toBe(0);
    let interrupt = (): void => undefined;
    const untilOutput: CliOptions = {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => stdout !== '' && interrupt(),
    };
    const [waitResult, watchResult, evaluateResult, cases, inbox] = await Promise.all([
      early(['runs', 'wait', `#${run.run_number}`, '--for', 'waiting', '-o', 'id']),
      early(['runs', 'watch', `${doneRun.run_number}`]),
      early(['runs', 'evaluation', `${doneRun.run_number}`, '--wait', '--json']),
      early(['cases', 'wait', '-', '--json'], { stdin: `${addedId}\n` }),
      early(['inbox', '--watch', '--agent', 'asker', '-o', 'ndjson'], untilOutput),
    ]);
    expect(waitResult).toMatchObject({ code: 0, stdout: `${run.id}\n` });
    expect(waitResult.stderr).toMatch(/^The service has not answered since \S+ Retrying for up to 1m\.$/m);
    expect(waitResult.stderr).toMatch(/^The service is reachable again after \S+\.$/m);
    expect(waitResult.stderr).not.toContain('Trying again in');
    expect([watchResult.code, watchResult.stdout]).toEqual([0, expect.stringContaining('Done.')]);
    expect([evaluateResult.code, evaluateResult.json()]).toEqual([0, expect.objectContaining({ status: 'ready' })]);
    expect([cases.code, cases.json()]).toEqual([0, expect.objectContaining({ completed: 1 })]);
    expect(inbox.stdout).toContain(run.id);
  });

  it('if it begins by looking up a revision', async () => {
    const { agent_id } = (await service.get(await service.run('- say: Done.'))).run;
    await service.cli(['revisions', 'generate', `${agent_id}@latest`, '--prompt', 'say "Bye"', '--decline']);
    const watchResult = await early(['revisions', 'watch', `${agent_id}@latest`]);
    expect([watchResult.code, watchResult.stderr]).toEqual([11, expect.stringContaining('error: The builder run was declined.\n')]);
  });
});

it('the status line reports the outage', async () => {
  const proxy = await Forwarder.to(service.service.url);
  const run = await service.waiting(approvalStep);
  const pendingResult = service.cli(['runs', 'watch', run, '--on-request', 'wait'], { env: env(proxy), tty: true });
  await interruptProxy(proxy, run);
  const { code, stderr } = await pendingResult;
  expect(code).toBe(0);
  expect(stripVTControlCharacters(stderr)).toMatch(/no answer from the service for \d/);
});

it('the status line does not show an outdated status during an outage', async () => {
  let headline = (): string => '';
  const start = (text: () => string): void => {
    headline = text;
  };
  const live = { start, refresh() {}, hide() {}, show() {}, stop() {} };
  const sink = new TranscriptSink(async () => undefined, new Transcript(plainStyles, 80), plainStyles, systemClock, live, false);
  await sink.event({ v: 1, seq: 1, type: 'run.status', run_id: 'x', ts: '', data: { status: 'running', previous: null } } as RunEvent);
  expect(headline()).toMatch(/^running /);
  sink.outage({ since: systemClock.now() - 12_000, reason: 'Could not reach it.' });
  expect(headline()).toBe('no answer from the service for 12s');
  sink.outage(undefined);
  expect(headline()).toMatch(/^running /);
});
