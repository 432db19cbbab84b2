import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const procedure = 'version: 1\nsteps:\n  - say: "Hello {{message}}"\n';
const noAgent = '00000000-0000-4000-8000-000000000001';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('procedure.yaml', procedure);
});

describe('agents create', () => {
  it('creates an agent that can be run', async () => {
    const createResult = await service.cli(['agents', 'create', 'greeter', '--procedure', 'procedure.yaml', '--json']);
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    const agent = createResult.json<{ id: string; name: string; team_id: string }>();
    expect(agent).toMatchObject({ name: 'greeter', team_id: service.service.teamId });
    const run = await service.start(agent.id, 'World');
    await service.until(run, 'completed');
    expect((await service.messages(run)).map(({ text_content }) => text_content)).toContain('Hello World');
  });

  it('copies the procedure of another agent', async () => {
    const [automation, thread] = [randomUUID(), randomUUID()];
    await service.cli(['agents', 'create', 'first', '--procedure', 'procedure.yaml']);
    const argv = ['agents', 'create', 'second', '--from', 'first@live', '--automation', automation, '--thread', thread, '--json'];
    expect((await service.cli(argv)).json()).toMatchObject({ name: 'second', automation_id: automation, thread_id: thread });
    const texts = await service.cli(['revisions', 'get', 'second@live', '--jq', '.config.data.input']);
    expect(texts.stdout).toBe((await service.cli(['revisions', 'get', 'first@live', '--jq', '.config.data.input'])).stdout);
    expect((await service.cli(['agents', 'update', 'second', '--thread', automation, '--json'])).json()).toMatchObject({
      thread_id: automation,
    });
    expect((await service.cli(['agents', 'create', 'third', '--from', 'first@9'])).code).toBe(3);
    expect((await service.cli(['agents', 'create', 'third', '--from', 'first@live', '--procedure', 'procedure.yaml'])).code).toBe(2);
  });

  it('suggests the option for a file if --from is given a file', async () => {
    for (const argv of [
      ['agents', 'create', 'mistaken', '--from', 'procedure.yaml'],
      ['revisions', 'create', 'mistaken', '--from', 'procedure.yaml'],
    ]) {
      const { code, stderr } = await service.cli(argv);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/--from must be a revision, not "procedure\.yaml"\.[\s\S]*--procedure/)]);
    }
  });

  it('shows the agent to a person', async () => {
    const createResult = await service.cli(['agents', 'create', 'shown', '--procedure', 'procedure.yaml', '--color', 'never'], {
      tty: true,
    });
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    expect(createResult.stdout).toMatch(/Name: +shown/);
  });

  it('says that an agent without a procedure cannot run, and how to add one', async () => {
    const createResult = await service.cli(['agents', 'create', 'bare one']);
    expect(createResult.code).toBe(0);
    expect(createResult.stderr).toBe(
      "The agent cannot run yet, because it has no procedure. Add one with: aops agents update 'bare one' --procedure FILE\n",
    );
    const startResult = await service.cli(['runs', 'start', '--agent', 'bare one']);
    expect(startResult).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringContaining('`aops agents update AGENT --procedure FILE`'),
    });
    const promoteResult = await service.cli(['revisions', 'promote', 'bare one@latest']);
    expect(promoteResult).toMatchObject({ code: 3, stderr: expect.stringMatching(/`aops agents update \S+ --procedure FILE`/) });
    await service.file('later.yaml', procedure);
    expect((await service.cli(['agents', 'update', 'bare one', '--procedure', 'later.yaml'])).code).toBe(0);
    expect((await service.cli(['runs', 'start', '--agent', 'bare one', '--message', 'x'])).code).toBe(0);
    const copyResult = await service.cli(['agents', 'create', 'a copy', '--from', 'bare one@live']);
    expect(copyResult).toMatchObject({ code: 0, stderr: '' });
  });

  it('suggests what to do if the name is taken', async () => {
    await service.file('taken.yaml', procedure);
    const argv = ['agents', 'create', 'taken', '--procedure', 'taken.yaml'];
    await service.cli(argv);
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain('hint: Choose another name, or give the existing agent a new procedure with `aops agents update NAME');
  });

  it('reads the procedure from standard input', async () => {
    const createResult = await service.cli(['agents', 'create', 'piped', '--procedure', '-'], { stdin: procedure });
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    expect(createResult.stdout).toContain('Name\tpiped\n');
  });

  it('reports the file and line of each mistake and creates nothing', async () => {
    await service.file('wrong.yaml', 'version: 1\nsteps:\n  - say: fine\n  - aks: { id: who }\n  - write: { path: a.txt }\n');
    const agents = await service.countAgents();
    const argv = ['agents', 'create', 'wrong', '--procedure', 'wrong.yaml'];
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('error: The procedure has 2 errors:');
    expect(refusal.stderr).toMatch(/wrong\.yaml:4:5: unknown step `aks`; did you mean `ask`\?/);
    expect(refusal.stderr).toMatch(/wrong\.yaml:5:\d+: `write` needs `content` or `json`/);
    expect(refusal.stderr).toContain('hint: Nothing was changed.');

    const json = await service.cli([...argv, '--json']);
    expect(json).toMatchObject({ code: 2, stdout: '' });
    const { error } = JSON.parse(json.stderr) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code: 'invalid_procedure', exit: 2 });
    expect(await service.countAgents()).toBe(agents);
  });

  it.each([
    ['a procedure that is not YAML', 'steps: [', /bad\.yaml:\d+/],
    ['a procedure without steps', 'version: 1\n', /bad\.yaml:1/],
    ['an empty procedure', '', /procedure/i],
    ['a template that cannot be read', 'version: 1\nsteps:\n  - say: "{{ answers.who"\n', /bad\.yaml:3/],
    ['a reference to an answer that nobody gives', 'version: 1\nsteps:\n  - say: "{{ answers.who }}"\n', /bad\.yaml:3.*who/],
  ])('rejects %s', async (_, content, location) => {
    await service.file('bad.yaml', content);
    const agents = await service.countAgents();
    const refusal = await service.cli(['agents', 'create', 'bad', '--procedure', 'bad.yaml']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(location);
    expect(await service.countAgents()).toBe(agents);
  });

  it('requires a name and an existing file', async () => {
    const nameless = await service.cli(['agents', 'create', '--procedure', 'procedure.yaml']);
    expect(nameless).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: The agent needs a name.\nhint: Use `aops agents create NAME`.\n',
    });
    const refusal = await service.cli(['agents', 'create', 'x', '--procedure', 'nowhere.yaml']);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: 'error: nowhere.yaml cannot be read: there is no such file.\n' });
    const folder = await service.cli(['agents', 'create', 'x', '--procedure', '.']);
    expect(folder).toMatchObject({ code: 2, stdout: '', stderr: 'error: . cannot be read: it is a directory.\n' });
  });

  it('rejects a second agent with the same name', async () => {
    await service.agent('- say: hi', 'twin');
    const repeatResult = await service.cli(['agents', 'create', 'twin', '--procedure', 'procedure.yaml']);
    expect(repeatResult).toMatchObject({ code: 6, stdout: '' });
    expect(repeatResult.stderr).toContain('twin');
  });

  it('rejects an unknown runtime', async () => {
    const agents = await service.countAgents();
    const refusal = await service.cli(['agents', 'create', 'odd', '--procedure', 'procedure.yaml', '--runtime', 'abacus']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('abacus');
    expect(await service.countAgents()).toBe(agents);
  });
});

describe('agents get', () => {
  it('accepts a name or an ID', async () => {
    const id = await service.agent('- say: hi', 'by-name');
    for (const agent of [id, id.toUpperCase(), 'by-name']) {
      const searchResult = await service.cli(['agents', 'get', agent, '-o', 'id']);
      expect(searchResult).toMatchObject({ code: 0, stdout: `${id}\n`, stderr: '' });
    }
  });

  it('suggests similar names if the name does not exist', async () => {
    await service.agent('- say: hi', 'invoice-check');
    const refusal = await service.cli(['agents', 'get', 'invoice']);
    expect(refusal).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'error: There is no agent "invoice".\nhint: Did you mean invoice-check?\n',
    });
    const mismatchResult = await service.cli(['agents', 'get', 'zebra']);
    expect(mismatchResult).toMatchObject({ code: 3, stdout: '' });
    expect(mismatchResult.stderr).toContain('hint: See the agents with `aops agents list`.');
  });

  it('reports an unknown ID', async () => {
    const refusal = await service.cli(['agents', 'get', noAgent]);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toMatch(/^error: .*agent/i);
  });
});

describe('agents list', () => {
  it('lists agents in pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await service.agent('- say: hi', name);
    const total = await service.countAgents();
    const secondResult = await service.cli(['agents', 'list', '--limit', '2', '--json']);
    expect(secondResult).toMatchObject({ code: 0, stderr: '' });
    expect(secondResult.json()).toMatchObject({ total, limit: 2, offset: 0 });
    expect(secondResult.json<{ data: unknown[] }>().data).toHaveLength(2);
    const allResult = await service.cli(['agents', 'list', '--all', '-o', 'id']);
    const ids = allResult.stdout.trimEnd().split('\n');
    expect(new Set(ids).size).toBe(total);
    const remainingResult = await service.cli(['agents', 'list', '--all', '--offset', '2', '-o', 'id']);
    expect(remainingResult.stdout.trimEnd().split('\n')).toEqual(ids.slice(2));
  });

  it('rejects invalid limits', async () => {
    for (const argv of [
      ['--limit', '0'],
      ['--limit', 'ten'],
      ['--offset', '-1'],
      ['--all', '--limit', '3'],
    ]) {
      const refusal = await service.cli(['agents', 'list', ...argv]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(argv[0] as string);
    }
  });
});

describe('agents update', () => {
  it('renames the agent and uses a new procedure for new runs', async () => {
    const id = await service.agent('- say: before', 'changing');
    await service.file('after.yaml', 'version: 1\nsteps:\n  - say: after\n');
    const updateResult = await service.cli(['agents', 'update', 'changing', '--name', 'changed', '--procedure', 'after.yaml', '--json']);
    expect(updateResult).toMatchObject({ code: 0, stderr: '' });
    expect(updateResult.json()).toMatchObject({ id, name: 'changed' });
    const run = await service.start(id);
    await service.until(run, 'completed');
    expect((await service.messages(run)).map(({ text_content }) => text_content)).toContain('after');
  });

  it('turns settings on and off', async () => {
    await service.agent('- say: hi', 'switches');
    const enableResult = await service.cli(['agents', 'update', 'switches', '--memory', '--slack', '--json']);
    expect(enableResult.json()).toMatchObject({ agentic_memory_enabled: true, slack_enabled: true });
    const disableResult = await service.cli(['agents', 'update', 'switches', '--no-memory', '--json']);
    expect(disableResult.json()).toMatchObject({ agentic_memory_enabled: false, slack_enabled: true });
  });

  it('keeps the live procedure if the new one is invalid', async () => {
    const id = await service.agent('- say: kept', 'keeper');
    await service.file('wrong.yaml', 'version: 1\nsteps:\n  - aks: {}\n');
    const refusal = await service.cli(['agents', 'update', 'keeper', '--name', 'renamed', '--procedure', 'wrong.yaml']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('wrong.yaml:3:');
    expect((await service.cli(['agents', 'get', 'keeper', '-o', 'id'])).stdout).toBe(`${id}\n`);
    const run = await service.start(id);
    await service.until(run, 'completed');
    expect((await service.messages(run)).map(({ text_content }) => text_content)).toContain('kept');
  });

  it('keeps the other settings of the live revision', async () => {
    const data = {
      models: { agent: { model: 'script' }, browsing: { provider: 'google', model: 'g' } },
      skills: ['s'],
      plugins: ['script'],
    };
    const fullAgent = { name: 'furnished', build: { name: 'b', config: { version: 'v2', data: { ...data, input: procedure } } } };
    await service.file('furnished.json', JSON.stringify(fullAgent));
    await service.cli(['agents', 'create', '--input', 'furnished.json']);
    const after = 'version: 1\nsteps:\n  - say: after\n';
    await service.file('after.yaml', after);
    expect((await service.cli(['agents', 'update', 'furnished', '--procedure', 'after.yaml'])).code).toBe(0);
    const config = async (revision: string) =>
      (await service.cli(['revisions', 'get', `furnished@${revision}`, '--json'])).json<{ config: unknown }>().config;
    const unsetFields = { files: null, subAgents: null };
    expect(await config('live')).toEqual({ version: 'v2', data: { ...data, ...unsetFields, input: after } });
    await service.cli(['revisions', 'create', 'furnished', '--procedure', 'procedure.yaml']);
    await service.cli(['revisions', 'create', 'furnished', '--from', '2', '--procedure', 'procedure.yaml']);
    const original = { version: 'v2', data: { ...data, ...unsetFields, input: procedure } };
    expect([await config('3'), await config('4')]).toEqual([original, original]);
  });

  it('promotes nothing if the settings are rejected', async () => {
    const id = await service.agent('- say: kept', 'first-of-two');
    await service.agent('- say: hi', 'second-of-two');
    await service.file('after.yaml', 'version: 1\nsteps:\n  - say: after\n');
    const refusal = await service.cli(['agents', 'update', 'first-of-two', '--name', 'second-of-two', '--procedure', 'after.yaml']);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    const live = await service.cli(['agents', 'get', id, '--jq', '.live_revision.revision_number']);
    expect(live.stdout).toBe('1\n');
  });

  it.each([
    ['agents', 'create', 'runtime-alone'],
    ['agents', 'update', 'whichever', '--name', 'x'],
    ['revisions', 'create', 'whichever'],
  ])('take no runtime without a procedure: %s %s', async (...argv) => {
    const refusal = await service.cli([...argv, '--runtime', 'script']);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--runtime can only be used with --procedure.') });
  });

  it('requires a change', async () => {
    const refusal = await service.cli(['agents', 'update', 'whichever']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('error: There is nothing to change.');
  });
});

describe('agents delete', () => {
  it('requires --yes without a terminal', async () => {
    await service.agent('- say: hi', 'doomed');
    const agents = await service.countAgents();
    const refusal = await service.cli(['agents', 'delete', 'doomed']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('Delete the agent "doomed"');
    expect(refusal.stderr).toContain('--yes');
    expect(await service.countAgents()).toBe(agents);
    const deleteResult = await service.cli(['agents', 'delete', 'doomed', '--yes']);
    expect(deleteResult).toMatchObject({ code: 0, stdout: 'Deleted doomed.\n', stderr: '' });
    expect(await service.countAgents()).toBe(agents - 1);
    expect((await service.cli(['agents', 'delete', 'doomed', '--yes'])).code).toBe(3);
  });

  it('lists what ends with the agent, and interrupts its runs', async () => {
    const id = await service.agent('- sleep: 1h', 'busy');
    const run = await service.start(id);
    await service.until(run, 'running');
    await service.cli(['queues', 'create', 'its-queue']);
    await service.cli(['agents', 'triggers', 'create', 'busy', '--queue', 'its-queue']);
    await service.cli(['agents', 'schedules', 'create', 'busy', '--frequency', 'daily']);
    expect((await service.cli(['agents', 'delete', 'busy'])).stderr).toContain(
      'Delete the agent "busy"? This ends 1 run, 1 schedule, and the case trigger on the queue "its-queue".',
    );
    expect((await service.cli(['agents', 'delete', 'busy', '-y'])).code).toBe(0);
    await service.until(run, 'interrupted');
  });
});
