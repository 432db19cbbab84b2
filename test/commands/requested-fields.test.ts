/** Names in --fields and --template are checked before a command changes something or waits; other commands print what the service sends. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const missing = '00000000-0000-4000-8000-000000000002';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
});

describe('a field that no result has', () => {
  it.each([
    ['a command that waits for a run', ['runs', 'wait', missing, '--fields', 'nope']],
    ['a command that watches a run', ['runs', 'watch', missing, '--json', '--template', '{{ nope }}']],
    ['a command that waits for cases', ['cases', 'wait', missing, '--fields', 'nope']],
    ['a command without events', ['queues', 'create', 'q', '-o', 'ndjson', '--fields', 'seq']],
  ])('is rejected by %s before it sends a request', async (_, argv) => {
    const result = await service.cli(argv, { env: { AOPS_BASE_URL: 'http://127.0.0.1:9' } });
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('The result has no field ') });
  });

  it('is not looked for by a command that only reads', async () => {
    const result = await service.cli(['runs', 'get', missing, '--fields', 'nope']);
    expect(result).toMatchObject({ code: 3, stderr: expect.not.stringContaining('nope') });
  });

  it('is reported with the fields of the result, and of events if those can be printed', async () => {
    const argv = ['runs', 'start', '--agent', 'greeter', '--watch', '--fields', 'sttus'];
    const hintOf = async (...flags: string[]): Promise<string> => {
      const { stderr } = await service.cli([...argv, ...flags]);
      return /(Did you mean .*?\.)(?="|\n)/.exec(stderr)?.[1] ?? stderr;
    };
    const fields = 'agent_id, build_id, completed_at, created_at, error, human_in_the_loop_enabled, id, pending_human_request';
    expect(await hintOf()).toBe(`Did you mean status? Fields: ${fields}, run_number, sandbox_id, source, started_at, status, updated_at.`);
    expect(await hintOf('-o', 'ndjson')).toMatch(/^Did you mean status\? Fields: agent_id, .*, seq, .*, type, updated_at, v\.$/);
    expect(await service.countRuns()).toBe(0);
  });
});

describe('a field that only some results have', () => {
  it('is accepted: that of an event, of a tool, and of a response', async () => {
    const events = await service.cli(['runs', 'start', '--agent', 'greeter', '--watch', '-o', 'ndjson', '--fields', 'seq,run_id']);
    expect([events.code, Object.keys(events.lines<object>()[0] as object)]).toEqual([0, ['seq', 'run_id']]);
    const called = await service.cli(['mcp', 'call', 'list_runs', '--fields', 'run_number', '--json']);
    expect([called.code, called.stderr]).toEqual([0, '']);
    const response = await service.cli(['api', 'getTeam', '--fields', 'team.id', '--json']);
    expect(response).toMatchObject({ code: 0 });
  });
});
