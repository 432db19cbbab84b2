import { beforeAll, describe, expect, it } from 'vitest';
import { operationIds } from '../../src/interface/operations.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- say: "Hello {{message}}"', 'greeter');
});

const api = (...argv: string[]) => service.cli(['api', ...argv]);

describe('aops api', () => {
  it('gets a path, whole or short', async () => {
    for (const path of [`/v2/agents/${agent}`, `agents/${agent}`, `/agents/${agent}`]) {
      const got = await api(path);
      expect(got).toMatchObject({ code: 0, stderr: '' });
      expect(got.json()).toMatchObject({ agent: { id: agent, name: 'greeter' } });
    }
    expect((await api('/v2/teams/{team}')).json()).toMatchObject({ team: { id: service.service.teamId } });
    expect((await api('get', 'teams/{team}')).code).toBe(0);
  });

  it('makes a query of fields for GET, a body for the others', async () => {
    const queried = await api('GET', 'teams/{team}/runs', '-f', 'status=waiting', '-F', 'limit=3');
    expect(queried).toMatchObject({ code: 0, stderr: '' });
    expect(queried.json()).toMatchObject({ data: [], total: 0 });
    const started = await api('teams/{team}/runs', '-f', `agent_id=${agent}`, '-f', 'message=api');
    expect(started).toMatchObject({ code: 0, stderr: '' });
    const { run } = started.json<{ run: { id: string } }>();
    await service.until(run.id, 'completed');
  });

  it('reads a body from a file or standard input, and adds fields to it', async () => {
    await service.file('body.json', JSON.stringify({ name: 'from-file' }));
    const created = await api('POST', 'teams/{team}/agents', '--input', 'body.json');
    expect(created.json()).toMatchObject({ agent: { name: 'from-file' } });
    const piped = await service.cli(['api', 'POST', 'teams/{team}/agents', '--input', '-', '-f', 'name=over'], {
      stdin: '{"name":"under"}',
    });
    expect(piped.json()).toMatchObject({ agent: { name: 'over' } });
  });

  it('filters with --jq, and shows headers with --include', async () => {
    expect(await api(`agents/${agent}`, '--jq', '.agent.name')).toMatchObject({ code: 0, stdout: 'greeter\n', stderr: '' });
    const included = await api(`agents/${agent}`, '--include');
    expect(included.stdout).toMatch(/^HTTP 200\n/);
    expect(included.stdout).toMatch(/^ratelimit-remaining: \d+$/m);
    expect(included.stdout).not.toContain(service.service.token);
  });

  it('lists the operations', async () => {
    const listed = await api('--list', '--json');
    expect(listed.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual(operationIds);
    expect((await api('--list')).stdout).toContain('GET\t/v2/teams/{teamId}\tgetTeam\t');
  });

  it.each([
    ['no path', [], 'Which path?'],
    ['a whole URL', ['https://example.com/v2/agents'], 'Give a path, not a whole URL'],
    ['a path that climbs', ['/v2/agents/../teams'], '".." segments'],
    ['a path with a space', ['/v2/agents/a b'], 'percent-encoded'],
    ['an unknown method', ['FETCH', '/v2/agents'], '"FETCH" is not a method.'],
    ['a header that is none', ['/v2/agents/x', '-H', 'nonsense'], '--header takes'],
    ['a header of its own', ['/v2/agents/x', '-H', 'Authorization: Bearer stolen'], '--header cannot set Authorization.'],
    ['an idempotency key as a header', ['POST', '/v2/sandboxes', '-H', 'Idempotency-Key: k'], 'Use --idempotency-key.'],
    ['a field that is none', ['POST', '/v2/sandboxes', '-f', 'nonsense'], '-f takes KEY=VALUE'],
    ['a file that is not there', ['POST', '/v2/sandboxes', '--input', 'nowhere.json'], 'nowhere.json cannot be read'],
    ['a file that is no JSON', ['POST', '/v2/sandboxes', '--input', 'broken.json'], 'broken.json is not valid JSON'],
  ])('refuses %s', async (_, argv, message) => {
    await service.file('broken.json', '{');
    const refused = await api(...argv);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(message);
    expect(refused.stderr).not.toContain('stolen');
  });

  it('passes on what the service says', async () => {
    const missing = await api('/v2/agents/00000000-0000-4000-8000-000000000006');
    expect(missing).toMatchObject({ code: 3, stdout: '' });
    const unknown = await api('/v2/nothing-here');
    expect(unknown).toMatchObject({ code: 3, stdout: '' });
    const bad = await api('POST', 'teams/{team}/runs', '-f', 'agent_id=5', '--json');
    expect(bad).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(bad.stderr)).toMatchObject({ error: { status: 400, exit: 2 } });
  });
});
