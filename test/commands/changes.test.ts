/** What every command that changes something shares: --dry-run and --idempotency-key. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadAllCommands } from '../../src/commands/describe.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
let waiting: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- say: "Hello {{message}}"', 'greeter');
  waiting = await service.run('- approve: { id: pay, title: "Pay?" }');
  await service.until(waiting, 'waiting');
  await service.file('procedure.yaml', 'version: 1\nsteps:\n  - say: hi\n');
});

/** A way to call each command that changes something, with the request that it would send first. */
const changes = (): Record<string, { argv: string[]; method: string; path: string | RegExp; body?: unknown }> => {
  const team = `/v2/teams/${service.service.teamId}`;
  return {
    'runs start': {
      argv: ['--agent', 'greeter', '--message', 'm'],
      method: 'POST',
      path: `${team}/runs`,
      body: { agent_id: agent, message: 'm' },
    },
    'runs respond': { argv: [waiting, '--approve'], method: 'POST', path: /\/respond$/, body: { approved: true } },
    'runs send': { argv: [waiting, 'hello'], method: 'POST', path: `/v2/runs/${waiting}/messages`, body: { message: 'hello' } },
    'runs stop': { argv: [waiting], method: 'POST', path: `/v2/runs/${waiting}/stop` },
    'agents create': { argv: ['--name', 'new', '--procedure', 'procedure.yaml'], method: 'POST', path: `${team}/agents` },
    'agents update': { argv: ['greeter', '--name', 'renamed'], method: 'PATCH', path: `/v2/agents/${agent}`, body: { name: 'renamed' } },
    'agents delete': { argv: ['greeter', '--yes'], method: 'DELETE', path: `/v2/agents/${agent}` },
    'sandbox create': { argv: [], method: 'POST', path: '/v2/sandboxes' },
    'sandbox push': {
      argv: ['00000000-0000-4000-8000-000000000007', 'procedure.yaml'],
      method: 'POST',
      path: /\/v2\/sandboxes\/.*\/files$/,
    },
    api: { argv: ['POST', 'teams/{team}/agents', '-f', 'name=new'], method: 'POST', path: `${team}/agents`, body: { name: 'new' } },
  };
};

const changing = (await loadAllCommands()).filter(({ command }) => command.mutates).map(({ path }) => path.join(' '));

describe.each(changing)('aops %s --dry-run', (id) => {
  it('shows the request, and changes nothing', async () => {
    const change = changes()[id];
    if (change === undefined) throw new Error(`add a call of "${id}" to the list above`);
    const [runs, agents, messages] = [await service.countRuns(), await service.countAgents(), await service.messages(waiting)];
    const shown = await service.cli([...id.split(' '), ...change.argv, '--dry-run']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    const request = shown.json<{ method: string; url: string; headers: Record<string, string>; body?: unknown }>();
    expect(request.method).toBe(change.method);
    const path = request.url.slice(service.service.url.length);
    if (typeof change.path === 'string') expect(path).toBe(change.path);
    else expect(path).toMatch(change.path);
    if (change.body !== undefined) expect(request.body).toEqual(change.body);
    expect(shown.stdout).not.toContain(service.service.token);
    expect(Object.keys(request.headers)).toContain('idempotency-key');
    expect([await service.countRuns(), await service.countAgents(), await service.messages(waiting)]).toEqual([runs, agents, messages]);
    expect((await service.get(waiting)).run.status).toBe('waiting');
    expect((await service.cli(['agents', 'get', 'greeter', '-o', 'id'])).stdout).toBe(`${agent}\n`);
  });
});

describe('--dry-run', () => {
  it('still finds mistakes', async () => {
    expect(await service.cli(['runs', 'start', '--agent', 'nobody', '--dry-run'])).toMatchObject({ code: 3, stdout: '' });
    expect(await service.cli(['runs', 'start', '--agent', 'greeter', '--upload', 'nowhere', '--dry-run'])).toMatchObject({
      code: 2,
      stdout: '',
    });
  });
});

describe('--idempotency-key', () => {
  it('twice is one run, and says so', async () => {
    const runs = await service.countRuns();
    const argv = ['runs', 'start', '--agent', 'greeter', '--message', 'once', '--idempotency-key', 'nightly-2026-11-20', '--json'];
    const first = await service.cli(argv);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const second = await service.cli(argv);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('nightly-2026-11-20');
    expect(second.stderr).toMatch(/used before; nothing was done now/);
    expect(second.json()).toMatchObject({ id: first.json<{ id: string }>().id });
    expect(await service.countRuns()).toBe(runs + 1);
  });

  it('covers every change of a command: a run with an upload is the same run again', async () => {
    const runs = await service.countRuns();
    const file = await service.file('numbers.csv', 'a,b\n1,2\n');
    const argv = [
      'runs',
      'start',
      '--agent',
      'greeter',
      '--message',
      'with a file',
      '--upload',
      file,
      '--idempotency-key',
      'with-upload',
      '--json',
    ];
    const first = await service.cli(argv);
    expect(first).toMatchObject({ code: 0 });
    const second = await service.cli(argv);
    expect(second).toMatchObject({ code: 0 });
    expect(second.json()).toMatchObject({
      id: first.json<{ id: string }>().id,
      sandbox_id: first.json<{ sandbox_id: string }>().sandbox_id,
    });
    expect(await service.countRuns()).toBe(runs + 1);
  });

  it('for something else is refused', async () => {
    const key = ['--idempotency-key', 'one-thing'];
    expect((await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'a', ...key])).code).toBe(0);
    const runs = await service.countRuns();
    const other = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'b', ...key, '--json']);
    expect(other).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(other.stderr)).toMatchObject({ error: { code: 'idempotency_key_reused', exit: 2, idempotency_key: 'one-thing' } });
    expect(await service.countRuns()).toBe(runs);
  });

  it('is a new one for each change that names none', async () => {
    const runs = await service.countRuns();
    const results = await Promise.all(
      ['a', 'b'].map(() => service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'same', '-o', 'id'])),
    );
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(2);
    expect(await service.countRuns()).toBe(runs + 2);
  });

  it.each([
    ['an empty key', ''],
    ['a key with a space', 'sk secret'],
    ['a key with a line break', 'sk-secret\nX: y'],
    ['a key that is no ASCII', 'schlüssel'],
    ['a key that is too long', 'k'.repeat(256)],
  ])('refuses %s, without repeating it', async (_, key) => {
    const runs = await service.countRuns();
    for (const format of [[], ['--json']]) {
      const refused = await service.cli(['runs', 'start', '--agent', 'greeter', '--idempotency-key', key, ...format]);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('idempotency key must be 1 to 255 visible ASCII characters');
      if (key !== '') expect(refused.stderr).not.toContain(key);
    }
    expect(await service.countRuns()).toBe(runs);
  });
});
