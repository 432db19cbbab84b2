import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  const agent = await service.agent(
    '- remember: { path: suppliers/acme.md, content: "# Acme\\n" }\n- remember: { path: notes.md, content: "\\e[31mred" }',
    'shop',
  );
  run = await service.start(agent);
  await service.until(run, 'completed');
});

const memory = (...argv: string[]) => service.cli(['agents', 'memory', ...argv]);

describe('agents memory', () => {
  it('lists the memory files of an agent', async () => {
    const list = await memory('list', 'shop', '--json');
    expect(list).toMatchObject({ code: 0, stderr: '' });
    expect(list.json<{ data: object[] }>().data).toMatchObject([
      { path: 'notes.md', name: 'notes.md', source_type: 'job', source_agent_run_id: run, generation: '1' },
      { path: 'suppliers/acme.md', name: 'acme.md', size: 7 },
    ]);
    const result = await service.cli(['agents', 'memory', 'list', 'shop', '--color', 'never'], { tty: true });
    expect(result.stdout).toMatch(/^PATH +SIZE +CHANGES +RUN +UPDATED\nnotes\.md +8 B +1 /);
    await service.agent('- say: hi', 'blank');
    expect((await memory('list', 'blank')).stderr).toContain('The agent has no memory files.');
  });

  it('prints a file, sanitised on a terminal', async () => {
    expect(await memory('get', 'shop', 'suppliers/acme.md')).toMatchObject({ code: 0, stdout: '# Acme\n', stderr: '' });
    const result = await service.cli(['agents', 'memory', 'get', 'shop', 'notes.md', '--color', 'never'], { tty: true });
    expect(result.stdout).not.toContain('\u001b');
    expect((await memory('get', 'shop', 'notes.md', '--json')).json()).toMatchObject({ path: 'notes.md', content: '\u001b[31mred' });
    const otherResult = await memory('get', 'shop', 'acme.md');
    expect(otherResult).toMatchObject({ code: 3, stdout: '' });
    expect(otherResult.stderr).toContain('hint: Its memory files are: notes.md, suppliers/acme.md\n');
    expect((await memory('get', 'shop', 'note.md')).stderr).toContain('hint: Did you mean notes.md?\n');
    const outsideResult = await memory('get', 'shop', '../x');
    expect(outsideResult).toMatchObject({ code: 2, stdout: '' });
    expect(outsideResult.stderr).toContain('not "../x"');
  });

  it('downloads all files, and overwrites none without --force', async () => {
    const pullResult = await memory('pull', 'shop', '--to', 'kept', '--json');
    expect(pullResult).toMatchObject({ code: 0, stderr: '' });
    expect(pullResult.json<{ data: object[] }>().data).toEqual([
      { path: 'notes.md', file: 'kept/notes.md', size: 8 },
      { path: 'suppliers/acme.md', file: 'kept/suppliers/acme.md', size: 7 },
    ]);
    expect(await service.read('kept/suppliers/acme.md')).toBe('# Acme\n');
    expect((await memory('pull', 'shop', '--to', 'kept')).code).toBe(2);
    expect((await memory('pull', 'shop', '--to', 'kept', '--force')).code).toBe(0);
  });

  it('explains how to read files that cannot be saved together', async () => {
    const steps = ['notes', 'notes/a.md'].map((path) => `- remember: { path: ${path}, content: x }`);
    await service.until(await service.start(await service.agent(steps.join('\n'), 'clashing')), 'completed');
    const refusal = await memory('pull', 'clashing', '--to', 'clashing');
    expect(refusal).toMatchObject({ code: 1, stdout: '' });
    expect(refusal.stderr).toContain('hint: Nothing was written. Print the files one by one with `aops agents memory get AGENT PATH`.\n');
  });
});
