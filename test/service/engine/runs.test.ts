import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunHost } from '../../../src/service/runtimes/run-host.ts';
import { eventually } from '../../support/eventually.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { heldDisk } from '../helpers/disk.ts';
import { type Behaviour, Gate, runOnce } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

const approval = async (host: RunHost) => {
  const answer = host.answer('ok');
  if (answer?.type !== 'approval')
    return { status: 'waiting' as const, step: 'ok', request: { type: 'approval' as const, title: 'Pay 3 invoices?' } };
  const text = answer.approved ? 'paid' : `not paid: ${answer.reason ?? 'no reason'}`;
  await host.commit('paid', null, [{ kind: 'text', id: 'said', text }]);
  return { status: 'completed' as const };
};

describe('a run', () => {
  it('executes its steps, shows its messages, and completes', async () => {
    const api = await startApi({
      behaviours: {
        steps: async (host) => {
          await host.emit([{ kind: 'text', id: 'hello', text: `hello ${host.userMessages.join()} ${host.run.agentName}` }]);
          await host.commit('look', { amount: 3 }, [
            { kind: 'text', id: 'hello', text: 'never stored twice' },
            { kind: 'tool_call', id: 'call', name: 'erp.lookup', arguments: { id: 'A-1' } },
            { kind: 'tool_result', id: 'result', callId: 'call', result: { amount: 3 } },
          ]);
          return { status: 'completed' };
        },
      },
    });
    const agentId = await api.agent('steps', 'Clerk');
    const { run } = await api.ok('startRun', { body: { agent_id: agentId, message: 'A-1\nand more' } });
    expect(run).toMatchObject({ status: 'pending', agent_id: agentId, source: 'api', started_at: null });
    const endedRun = await api.until(run.id, 'completed');
    expect(endedRun.started_at).not.toBeNull();
    expect(endedRun.completed_at).not.toBeNull();
    const { messages, total } = await api.ok('listRunMessages', { params: { run_id: run.id } });
    expect(messages.map(({ type, role }) => [type, role])).toEqual([
      ['message', 'user'],
      ['message', 'assistant'],
      ['tool_call', 'assistant'],
      ['tool_result', 'tool'],
    ]);
    expect(messages[1]?.text_content).toBe('hello A-1\nand more Clerk');
    expect(messages[3]?.tool_result).toEqual({ tool_call_id: messages[2]?.tool_call?.id, result: { amount: 3 } });
    expect(total).toBe(4);
  });

  it('fails with the message of the error, without its stack', async () => {
    const api = await startApi({ behaviours: { broken: () => Promise.reject(new Error('no such invoice')) } });
    const run = await api.run('broken');
    expect(await api.until(run.id, 'failed')).toMatchObject({ error: 'no such invoice' });
    const refusal = await api.call('postRunMessage', { params: { run_id: run.id }, body: { message: 'again' } });
    expect([refusal.status, (refusal.body as unknown as { error: string }).error]).toEqual([409, 'run_failed']);
  });

  it('sleeps without occupying a slot, and continues in time', async () => {
    const clock = new ManualClock();
    const api = await startApi({
      clock,
      runConcurrency: 1,
      behaviours: {
        nap: async (host) => {
          await runOnce(host, 'until', async () => host.clock.now() + 3_600_000);
          const until = host.journal.get('until') as number;
          return host.clock.now() < until ? { status: 'sleeping', until } : { status: 'completed' };
        },
      },
    });
    const run = await api.run('nap');
    await api.until(run.id, 'running');
    const otherRun = await api.run('done');
    await api.until(otherRun.id, 'completed');
    expect((await api.ok('getRun', { params: { run_id: run.id } })).run.status).toBe('running');
    clock.advance(3_600_000);
    await api.until(run.id, 'completed');
  });

  it('shows messages sent while it runs to later steps, and starts a new turn for one that came too late', async () => {
    const [arrival, resumeGate] = [new Gate(), new Gate()];
    const observations: string[][] = [];
    const api = await startApi({
      behaviours: {
        listen: async (host) => {
          arrival.open();
          await resumeGate.opened;
          observations.push([...host.userMessages]);
          return { status: 'completed' };
        },
      },
    });
    const run = await api.run('listen', 'one');
    await arrival.opened;
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'two' } });
    resumeGate.open();
    await api.until(run.id, 'completed');
    expect(observations).toEqual([['one'], ['one', 'two']]);
  });

  it('starts a new turn when a message is sent after it has completed', async () => {
    const api = await startApi({
      behaviours: {
        echo: async (host) => {
          await runOnce(host, 'echo', async () => null);
          await host.emit([{ kind: 'text', id: 'echo', text: `heard ${host.userMessages.at(-1)}` }]);
          return { status: 'completed' };
        },
      },
    });
    const run = await api.run('echo', 'one');
    await api.until(run.id, 'completed');
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'two' } });
    await api.until(run.id, 'completed');
    expect(await api.texts(run.id)).toEqual(['one', 'heard one', 'two', 'heard two']);
    const detail = await api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId: run.id } });
    expect(detail).toMatchObject({ resume_count: 1, submitted_prompt_count: 2 });
  });
});

describe('a human request', () => {
  it('is answered once, after which the run continues', async () => {
    const api = await startApi({ behaviours: { approval } });
    const run = await api.run('approval');
    const waitingRun = await api.until(run.id, 'waiting');
    const request = waitingRun.pending_human_request;
    expect(request).toMatchObject({ type: 'approval', title: 'Pay 3 invoices?' });
    const params = { run_id: run.id, request_id: request?.id as string };
    const { human_request: answeredRequest } = await api.ok('respondToHumanRequest', { params, body: { approved: true } });
    expect(answeredRequest).toMatchObject({ run_id: run.id, response: 'approved' });
    await api.until(run.id, 'completed');
    expect(await api.texts(run.id)).toEqual(['Approved: Pay 3 invoices?', 'paid']);
    const secondAnswer = await api.call('respondToHumanRequest', { params, body: { approved: false } });
    expect(secondAnswer).toMatchObject({ status: 409, body: { error: 'human_request_already_answered' } });
    const unknownAnswer = await api.call('respondToHumanRequest', { params: { ...params, request_id: run.id }, body: { approved: true } });
    expect(unknownAnswer.status).toBe(404);
  });

  it('accepts one of many answers sent at the same time', async () => {
    const api = await startApi({ behaviours: { approval } });
    const run = await api.run('approval');
    const { pending_human_request: request } = await api.until(run.id, 'waiting');
    const params = { run_id: run.id, request_id: request?.id as string };
    const answers = await Promise.all(
      [true, false, true, false].map((approved) => api.call('respondToHumanRequest', { params, body: { approved } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  it('counts as denied if a message is sent instead', async () => {
    const api = await startApi({ behaviours: { approval } });
    const run = await api.run('approval');
    await api.until(run.id, 'waiting');
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'ask Anna first' } });
    await api.until(run.id, 'completed');
    expect(await api.texts(run.id)).toEqual(['ask Anna first', 'not paid: ask Anna first']);
  });

  it('is withdrawn when the run is stopped, and made again when it is resumed', async () => {
    const api = await startApi({ behaviours: { approval } });
    const run = await api.run('approval');
    const { pending_human_request: request } = await api.until(run.id, 'waiting');
    await api.ok('stopRun', { params: { run_id: run.id } });
    const stoppedRun = await api.ok('getRun', { params: { run_id: run.id } });
    expect(stoppedRun).toMatchObject({ run: { status: 'interrupted' }, pending_human_request: null });
    const lateAnswer = await api.call('respondToHumanRequest', {
      params: { run_id: run.id, request_id: request?.id as string },
      body: { approved: true },
    });
    expect(lateAnswer).toMatchObject({ status: 409, body: { error: 'run_not_waiting' } });
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'go on' } });
    const result = await api.until(run.id, 'waiting');
    expect(result.pending_human_request?.id).not.toBe(request?.id);
  });
});

describe('stopping', () => {
  it('interrupts a run in the middle of a step, which can then no longer write', async () => {
    const [arrival, resumeGate, endGate] = [new Gate(), new Gate(), new Gate()];
    let refusal: unknown;
    const api = await startApi({
      behaviours: {
        stubborn: async (host) => {
          if (host.journal.has('first')) return { status: 'completed' };
          await host.commit('first', null);
          arrival.open();
          await resumeGate.opened;
          refusal = await host.commit('second', null, [{ kind: 'text', id: 'late', text: 'too late' }]).catch((error: unknown) => error);
          endGate.open();
          return { status: 'completed' };
        },
      },
    });
    const run = await api.run('stubborn');
    await arrival.opened;
    const stoppedRun = await api.ok('stopRun', { params: { run_id: run.id } });
    expect(stoppedRun.success).toBe(true);
    expect((await api.ok('getRun', { params: { run_id: run.id } })).run).toMatchObject({ status: 'interrupted', error: null });
    resumeGate.open();
    await endGate.opened;
    expect(refusal).toMatchObject({ name: 'RunLostError' });
    expect(await api.texts(run.id)).toEqual([]);
    const repeatedStop = await api.ok('stopRun', { params: { run_id: run.id } });
    expect(repeatedStop).toMatchObject({ success: true, message: expect.stringContaining('interrupted') });
    await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'continue' } });
    await api.until(run.id, 'completed');
  });

  it('also interrupts runs that sleep or wait, and the runs of an agent that is deleted', async () => {
    const api = await startApi({
      behaviours: { approval, nap: async (host) => ({ status: 'sleeping', until: host.clock.now() + 60_000 }) },
    });
    const runs = [await api.run('approval'), await api.run('nap')];
    await api.until(runs[0]?.id as string, 'waiting');
    await api.until(runs[1]?.id as string, 'running');
    for (const run of runs) {
      await api.ok('deleteAgent', { params: { agent_id: run.agent_id as string } });
      await api.until(run.id, 'interrupted');
      const refusal = await api.call('postRunMessage', { params: { run_id: run.id }, body: { message: 'hm' } });
      expect(refusal).toMatchObject({ status: 409, body: { error: 'agent_deleted' } });
    }
  });
});

describe('a restart', () => {
  const counting = (effects: string[], arrival: Gate, gate: Gate) => async (host: RunHost) => {
    await runOnce(host, 'first', async () => effects.push('first'));
    if (host.journal.has('second')) return { status: 'completed' as const };
    arrival.open();
    await Promise.race([gate.opened, new Promise((_, reject) => host.signal.addEventListener('abort', () => reject(host.signal.reason)))]);
    await runOnce(host, 'second', async () => effects.push('second'));
    return { status: 'completed' as const };
  };

  it('continues a run after its last completed step if the service was closed properly', async () => {
    const dataDirectory = await temporaryDirectory();
    const effects: string[] = [];
    const arrival = new Gate();
    const first = await startApi({ dataDirectory, behaviours: { work: counting(effects, arrival, new Gate()) } });
    const run = await first.run('work');
    await arrival.opened;
    await first.service.close();
    const resumeGate = new Gate();
    resumeGate.open();
    const second = await startApi({ dataDirectory, behaviours: { work: counting(effects, new Gate(), resumeGate) } });
    expect(second.service.token).toBe(first.service.token);
    await second.until(run.id, 'completed');
    expect(effects).toEqual(['first', 'second']);
  });

  itNeeding(needsSqlite, 'executes nothing of a run that is not on disk', async () => {
    const effects: string[] = [];
    const api = await startApi({
      behaviours: {
        work: async () => {
          effects.push('executed');
          return { status: 'completed' };
        },
      },
    });
    const agentId = await api.agent('work');
    const resumeGate = new Gate();
    const sync = await heldDisk(resumeGate);
    const answer = api.ok('startRun', { body: { agent_id: agentId } });
    while (sync.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(effects).toEqual([]);
    resumeGate.open();
    await api.until((await answer).run.id, 'completed');
    expect(effects).toEqual(['executed']);
  });

  itNeeding(needsSqlite, 'continues runs after a crash, with everything that was acknowledged', async () => {
    const effects: string[] = [];
    const arrival = new Gate();
    const first = await startApi({ behaviours: { approval, work: counting(effects, arrival, new Gate()) } });
    const run = await first.run('work');
    const askingRun = await first.run('approval');
    await arrival.opened;
    const { pending_human_request: request } = await first.until(askingRun.id, 'waiting');
    // The files as a crash leaves them: nothing was closed, and the leases have not ended.
    const dataDirectory = await temporaryDirectory();
    for (const name of ['aops.db', 'aops.db-wal', 'token', 'sandboxes'])
      await cp(join(first.dataDirectory, name), join(dataDirectory, name), { recursive: true });
    const resumeGate = new Gate();
    resumeGate.open();
    const second = await startApi({ dataDirectory, behaviours: { approval, work: counting(effects, new Gate(), resumeGate) } });
    await second.until(run.id, 'completed');
    expect(effects).toEqual(['first', 'second']);
    await second.ok('respondToHumanRequest', {
      params: { run_id: askingRun.id, request_id: request?.id as string },
      body: { approved: true },
    });
    await second.until(askingRun.id, 'completed');
  });
});

it('a run is starting, and not running, until its folder exists', async () => {
  const clock = new ManualClock();
  const failures: string[] = [];
  const api = await startApi({ clock, log: ({ message }) => void failures.push(message) });
  const agentId = await api.agent();
  const folder = join(api.dataDirectory, 'sandboxes');
  await rm(folder, { recursive: true, force: true });
  await writeFile(folder, 'in the way');
  const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
  await eventually('the job has failed', () => failures.includes('a job failed and will be retried'));
  expect((await api.ok('getRun', { params: { run_id: run.id } })).run.status).toBe('starting');
  await rm(folder);
  clock.advance(10_000);
  await api.until(run.id, 'completed');
});

it('a run whose folder cannot be created when a step needs it is tried again, and does not fail', async () => {
  const clock = new ManualClock();
  const failures: string[] = [];
  const gate = new Gate();
  const work: Behaviour = async (host) => {
    await gate.opened;
    await host.sandbox.write('a', Buffer.from('b'));
    return { status: 'completed' };
  };
  const api = await startApi({ clock, behaviours: { work }, log: ({ message }) => void failures.push(message) });
  const { id } = await api.run('work');
  await api.until(id, 'running');
  const folder = join(api.dataDirectory, 'sandboxes');
  await rm(folder, { recursive: true, force: true });
  await writeFile(folder, 'in the way');
  gate.open();
  await eventually('the job has failed', () => failures.includes('a job failed and will be retried'));
  expect((await api.ok('getRun', { params: { run_id: id } })).run.status).toBe('running');
  await rm(folder);
  clock.advance(10_000);
  await api.until(id, 'completed');
});
