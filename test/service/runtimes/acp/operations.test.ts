/** Whatever starts, limits, reports, stores, and removes runs does so with runs of agents that are processes. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { defaultPlan } from '../../../../src/service/store/access/plan.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsSqlite } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { runCli } from '../../../support/run-cli.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { AgentMachine } from '../../helpers/agent-machine.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { receiver } from '../../helpers/webhooks.ts';

const worker = { command: misbehaving('well-behaved') };

/** The only run of an agent, once it has been started. */
const runOfAgent = (machine: AgentMachine, agent_id: string) =>
  eventually('a run of the agent', async () => (await machine.api.ok('listRuns', { query: { agent_id } })).data[0]);

it('a schedule starts an agent with its task', async () => {
  const clock = new ManualClock();
  const machine = await AgentMachine.start({ clock });
  const agent_id = await machine.create(worker);
  const body = { enabled: true, frequency: 'hourly', timezone: 'UTC', task: 'Check the invoices' } as const;
  await machine.api.ok('createSchedule', { params: { agent_id }, body });
  clock.advance(60 * 60 * 1_000);
  const run = await machine.until((await runOfAgent(machine, agent_id)).id, 'waiting', 'failed');
  expect((await machine.pending(run)).description).toContain('+Check the invoices');
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
});

it('a case starts an agent, which gets its title and its data', async () => {
  const machine = await AgentMachine.start();
  const agent_id = await machine.create(worker);
  const { queue } = await machine.api.ok('createQueue', { body: { name: 'Invoices' } });
  await machine.api.ok('createAgentCaseTrigger', {
    params: { agent_id },
    body: { case_queue_id: queue.id, enabled: true, concurrency: 1 },
  });
  const { added_cases: cases } = await machine.api.ok('createCases', {
    params: { queue_id: queue.id },
    body: { case: { title: 'Invoice 7', data: 'Amount: 12' } },
  });
  const run = await machine.until((await runOfAgent(machine, agent_id)).id, 'waiting', 'failed');
  expect((await machine.pending(run)).description).toContain('+Invoice 7\n+\n+Amount: 12');
  const caseOf = async () => (await machine.api.ok('getCase', { params: { case_id: cases[0]?.id as string } })).case;
  expect(await caseOf()).toMatchObject({ claimed_by_run_id: run.id, pending_human_request_id: expect.any(String) });
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
});

it('webhooks report its permissions with their diffs', async () => {
  const hooks = await receiver();
  const machine = await AgentMachine.start({ webhooks: { allow: ['loopback'] } });
  await machine.api.ok('createTeamWebhook', { body: { url: hooks.url, events: ['human_request.created'] } });
  const run = await machine.run(worker, 'Hello');
  const received = await eventually('the delivery', () => hooks.deliveries[0]);
  const text = received.body.toString();
  expect(JSON.parse(text)).toMatchObject({ type: 'human_request.created' });
  expect(text).toContain(run.id);
  expect(text).toContain('+++ b/result.txt');
});

it('its runs count towards the quota of the team', async () => {
  const machine = await AgentMachine.start({ plan: { ...defaultPlan, name: 'trial', limits: { ...defaultPlan.limits, agentRuns: 1 } } });
  const run = await machine.run({ command: misbehaving('text') }, 'Hello');
  expect(run.status).toBe('completed');
  const usage = await machine.api.ok('getTeamUsage');
  expect(usage.agentRuns).toEqual({ used: 1, limit: 1, remaining: 0 });
  const refusal = await machine.api.call('startRun', { body: { agent_id: run.agent_id as string, message: 'Again' } });
  expect(refusal.status).toBeGreaterThanOrEqual(400);
});

it('its home folder is removed with the files of its run', async () => {
  const clock = new ManualClock();
  const machine = await AgentMachine.start({ clock, sandboxRetention: 60_000 });
  const run = await machine.run({ command: misbehaving('text') }, 'Hello');
  expect(existsSync(machine.home(run))).toBe(true);
  clock.advance(10 * 60_000);
  await eventually('the files are removed', () => !existsSync(path.dirname(machine.home(run))));
});

itNeeding(needsSqlite, 'a backup contains its home folder, so that a run that waits continues its session after a restore', async () => {
  const machine = await AgentMachine.start();
  const run = await machine.run(worker, 'Hello');
  expect(run.status).toBe('waiting');
  // Where agents store their sessions.
  await mkdir(path.join(machine.home(run), '.agent/sessions'), { recursive: true });
  await writeFile(path.join(machine.home(run), '.agent/sessions/1.jsonl'), '{"session":1}\n');
  const folder = await temporaryDirectory();
  const env = {
    AOPS_CONFIG_DIR: path.join(folder, 'config'),
    AOPS_DATA_DIR: path.join(folder, 'data'),
    AOPS_CACHE_DIR: path.join(folder, 'cache'),
  };
  const file = path.join(folder, 'backup.tar.gz');
  await machine.close();
  expect(await runCli(['local', 'backup', file, '--data-dir', machine.dataDirectory], { env })).toMatchObject({ code: 0 });
  await rm(machine.dataDirectory, { recursive: true });
  expect(await runCli(['local', 'restore', file, '--data-dir', machine.dataDirectory, '--yes'], { env })).toMatchObject({ code: 0 });
  await machine.restart();
  expect(await readFile(path.join(machine.home(run), '.agent/sessions/1.jsonl'), 'utf8')).toBe('{"session":1}\n');
  // This agent puts its prompt into the file, so it asks again, for another file than the one that was approved.
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting', error: null });
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed', error: null });
  expect(await machine.texts(run, 'notice')).toEqual(['The session of Misbehaving agent was resumed.']);
  expect(await readFile(machine.file(run, 'result.txt'), 'utf8')).toContain('A person has approved this: Write result.txt');
});
