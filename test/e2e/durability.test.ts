/** Nothing that was acknowledged is lost when the service is killed in the middle of runs and started again. */
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { eventually } from '../support/eventually.ts';
import { Machine, type StartedProcess } from '../support/machine.ts';

/** Each test has a separate machine with a service, so that services are killed independently. */
async function startMachine(): Promise<Machine> {
  const machine = await Machine.create();
  expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
  return machine;
}

const cat = async (machine: Machine, run: string, file: string): Promise<string> =>
  (await machine.here('sandbox', 'cat', run, file)).stdout;

describe.concurrent('kill -9 of the service', () => {
  it('in the middle of a command: the run continues from its last completed step', async () => {
    const machine = await startMachine();
    // The command waits for a file outside the run, so that the test decides when it ends.
    const gate = `${machine.folder}/gate`;
    await machine.agent(
      'long',
      `
- say: "one {{message}}"
- exec: { id: before, run: "echo before >> steps.log; echo $$" }
- exec: { id: long, run: "echo long >> steps.log; until test -e ${gate}; do sleep 0.05; done" }
- exec: { id: after, run: "echo after >> steps.log" }
- say: "two {{steps.before.stdout}}"`,
    );
    const run = await machine.startRun('long', '--message', 'message');
    await eventually('the command runs', async () => (await cat(machine, run, 'steps.log')) === 'before\nlong\n');
    await machine.killService();
    await machine.file('gate', '');
    expect(await machine.here('local', 'up', '--exec', 'host')).toMatchObject({ code: 0, stderr: 'The local service is running.\n' });

    const watchResult = await machine.aops('runs', 'watch', run);
    expect(watchResult).toMatchObject({ code: 0, stderr: '' });
    const steps = (await cat(machine, run, 'steps.log')).trimEnd().split('\n');
    expect(steps.filter((step) => step === 'before')).toHaveLength(1);
    expect(steps.filter((step) => step === 'after')).toHaveLength(1);
    expect(steps.at(-1)).toBe('after');
    // Each message appears once, in order, with the previous result of the step.
    expect(watchResult.stdout.match(/^one message$/gm)).toHaveLength(1);
    expect(watchResult.stdout.match(/^two \d+$/gm)).toHaveLength(1);
    expect(await machine.getRun(run)).toMatchObject({ status: 'completed' });
  });

  it('while a run waits or sleeps: the request stays the same, and the sleep continues', async () => {
    const machine = await startMachine();
    await machine.agent('asking', '- say: before\n- approve: { id: pay, title: "Pay?" }\n- say: after');
    await machine.agent('asleep', '- say: before\n- sleep: 1500ms\n- say: after');
    const askingRun = await machine.startRun('asking');
    const sleepingRun = await machine.startRun('asleep');
    const { pending_human_request: request } = await machine.json<{ pending_human_request: { id: string } }>(
      'runs',
      'wait',
      askingRun,
      '--for',
      'waiting',
    );
    await machine.killService();
    expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);

    expect((await machine.getRun(askingRun)).pending_human_request?.id).toBe(request.id);
    expect((await machine.here('runs', 'respond', askingRun, request.id, '--approve')).code).toBe(0);
    for (const run of [askingRun, sleepingRun]) {
      const watchResult = await machine.aops('runs', 'watch', run);
      expect(watchResult).toMatchObject({ code: 0, stderr: '' });
      expect(watchResult.stdout.match(/^before$/gm)).toHaveLength(1);
      expect(watchResult.stdout.match(/^after$/gm)).toHaveLength(1);
    }
  });

  it('right after a run was started: it is executed once', async () => {
    const machine = await startMachine();
    await machine.agent('quick', '- exec: { run: "echo x >> once.log" }');
    const run = await machine.startRun('quick', '--idempotency-key', 'once');
    await machine.killService();
    expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    const repeatFinished = await machine.aops('runs', 'start', '--agent', 'quick', '--idempotency-key', 'once', '-o', 'id');
    expect(repeatFinished).toMatchObject({ code: 0, stdout: `${run}\n` });
    expect(repeatFinished.stderr).toContain('used before');
  });

  it('while it handles idempotency keys: each is executed exactly once, immediately after the restart', async () => {
    const machine = await startMachine();
    const { url } = await machine.hereJson<{ url: string }>('local', 'status');
    const headers = { authorization: `Bearer ${(await machine.read('data/local/token')).trim()}`, 'content-type': 'application/json' };
    const { teams } = (await (await fetch(`${url}/v2/local/teams`, { headers })).json()) as { teams: { id: string }[] };
    const agents = `${url}/v2/teams/${teams[0]?.id}/agents`;
    const create = async (key: string) => {
      const body = JSON.stringify({ name: `Agent ${key}` });
      const response = await fetch(agents, { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body });
      return { status: response.status, replayed: response.headers.get('idempotency-replayed') === 'true', text: await response.text() };
    };
    const keys = Array.from({ length: 300 }, (_, number) => `k${number}`);
    const attempts = keys.map((key) => create(key).catch(() => undefined));
    await Promise.race(attempts);
    await machine.killService();
    const answers = await Promise.all(attempts);
    expect((await machine.here('local', 'up', '--exec', 'host', '--port', new URL(url).port)).code).toBe(0);
    for (const [index, key] of keys.entries()) {
      const before = answers[index];
      const { status, replayed, text } = await create(key);
      expect([key, status]).toEqual([key, 201]);
      // Acknowledged changes exist. The others are executed now, or had been committed without an acknowledgement.
      if (before !== undefined) expect([replayed, text]).toEqual([true, before.text]);
    }
    expect(await (await fetch(`${agents}?limit=1`, { headers })).json()).toMatchObject({ total: keys.length });
  });

  it('does not stop a watching client if the service comes back on the same port', async () => {
    const machine = await startMachine();
    await machine.agent('asking', '- approve: { id: pay, title: "Pay?" }');
    const run = await machine.startRun('asking');
    const { url } = await machine.hereJson<{ url: string }>('local', 'status');
    const watcher = machine.start('aops', ['runs', 'watch', run, '--on-request', 'wait', '-o', 'ndjson']);
    const inbox = machine.start('aops', ['inbox', '--watch', '-o', 'ndjson']);
    await watcher.says('human_request.pending');
    await inbox.says('human_request.pending');
    await machine.killService();
    expect((await machine.here('local', 'up', '--exec', 'host', '--port', new URL(url).port)).code).toBe(0);
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    const { code, stdout } = await watcher.finished;
    expect(code).toBe(0);
    await inbox.says('human_request.resolved');
    inbox.child.kill('SIGINT');
    expect((await inbox.finished).code).toBe(130);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as RunEvent);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => type === 'human_request.pending')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', data: { run: { status: 'completed' } } });
  });
});

describe.concurrent('a run that is watched while its service is killed, stopped and started', () => {
  it('is shown with every message once and in order, and each outage is reported once', async () => {
    const machine = await startMachine();
    const steps = Array.from({ length: 24 }, (_, index) => `- say: "m${index}"\n- sleep: 150ms`).join('\n');
    await machine.agent('talking', `${steps}\n- approve: { id: end, title: "Enough?" }`);
    const run = await machine.startRun('talking');
    const follow = (): StartedProcess => machine.start('aops', ['runs', 'watch', run, '--on-request', 'wait', '-o', 'ndjson']);
    const watchers = [follow(), follow()];
    for (const text of ['m3', 'm9']) {
      for (const watcher of watchers) await watcher.says(`"text_content":"${text}"`);
      await machine.killService();
      expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
    }
    for (const watcher of watchers) await watcher.says('"text_content":"m15"');
    expect((await machine.here('local', 'down')).code).toBe(0);
    expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
    for (const watcher of watchers) await watcher.says('human_request.pending');
    expect((await machine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    const { messages } = await machine.json<{ messages: { id: string }[] }>('api', `/v2/runs/${run}/messages?limit=50`);
    for (const watcher of watchers) {
      const { code, stdout } = await watcher.finished;
      expect(code).toBe(0);
      const events = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as RunEvent);
      expect(events.flatMap((event) => (event.type === 'message' ? [event.data.message.id] : []))).toEqual(messages.map(({ id }) => id));
      expect(events.filter(({ type }) => type === 'human_request.pending')).toHaveLength(1);
      expect(events.at(-1)?.type).toBe('run.finished');
    }
  });
});

describe.concurrent('aops local down', () => {
  it('in the middle of a run: the run continues after the next start', async () => {
    const machine = await startMachine();
    await machine.agent('slow', '- exec: { run: "echo a >> d.log" }\n- say: half\n- sleep: 1s\n- exec: { run: "echo b >> d.log" }');
    const run = await machine.startRun('slow');
    await eventually('the first command has ended', async () => (await machine.here('runs', 'messages', run)).stdout.includes('half'));
    expect((await machine.here('local', 'down')).code).toBe(0);
    expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    expect(await cat(machine, run, 'd.log')).toBe('a\nb\n');
  });
});
