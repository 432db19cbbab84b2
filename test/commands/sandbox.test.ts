import { readdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const nowhere = '00000000-0000-4000-8000-000000000003';

let service: TestService;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  await service.file('in/a.csv', 'a,b\n');
  await service.file('in/sub/b.bin', Buffer.from([0, 255, 10, 13, 0]));
  run = await service.run(`
- write: { path: report.md, content: "# Report" }
- write: { path: deep/er/x.txt, content: "x" }
- exec: { run: "printf '\\\\000\\\\001\\\\377' > raw.bin" }
- exec: { run: "head -c 200000 /dev/zero | tr '\\\\0' 'x' > big.txt" }`);
  await service.until(run, 'completed');
});

const newSandbox = async (): Promise<string> => (await service.cli(['sandbox', 'create', '-o', 'id'])).stdout.trim();

describe('sandbox create, push, ls --sandbox', () => {
  it('stages files and folders', async () => {
    const created = await service.cli(['sandbox', 'create', '--json']);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const { sandbox_id: sandbox, id } = created.json<{ sandbox_id: string; id: string }>();
    expect(id).toBe(sandbox);
    const pushed = await service.cli(['sandbox', 'push', sandbox, 'in', 'in/a.csv', '--json']);
    expect(pushed).toMatchObject({ code: 0, stderr: '' });
    expect(pushed.json<{ data: unknown[] }>().data).toEqual([
      { path: '/workspace/in/a.csv', size_bytes: 4 },
      { path: '/workspace/in/sub/b.bin', size_bytes: 5 },
      { path: '/workspace/a.csv', size_bytes: 4 },
    ]);
    const listed = await service.cli(['sandbox', 'ls', '--sandbox', sandbox, '/workspace/in', '--json']);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.json<{ data: { name: string; type: string }[] }>().data.map(({ name, type }) => [name, type])).toEqual(
      expect.arrayContaining([
        ['a.csv', 'file'],
        ['sub', 'directory'],
      ]),
    );
  });

  it('leaves links out, and says so', async () => {
    const sandbox = await newSandbox();
    const file = await service.file('linked/real.txt', 'x');
    await symlink('/etc/hostname', path.join(path.dirname(file), 'link.txt'));
    const pushed = await service.cli(['sandbox', 'push', sandbox, 'linked', '-o', 'csv']);
    expect(pushed).toMatchObject({ code: 0, stdout: 'path,size_bytes\r\n/workspace/linked/real.txt,1\r\n' });
    expect(pushed.stderr).toBe('Left out, because only files and folders can be uploaded: linked/link.txt\n');
  });

  it('pushes into a folder', async () => {
    const sandbox = await newSandbox();
    const pushed = await service.cli(['sandbox', 'push', sandbox, 'in/a.csv', '--to', '/workspace/input', '-o', 'csv']);
    expect(pushed).toMatchObject({ code: 0, stdout: 'path,size_bytes\r\n/workspace/input/a.csv,4\r\n', stderr: '' });
  });

  it('gives the files to the run that takes the sandbox', async () => {
    const sandbox = await newSandbox();
    await service.cli(['sandbox', 'push', sandbox, 'in/a.csv']);
    const agent = await service.agent('- exec: { run: "cp a.csv copy.csv" }');
    const started = await service.cli(['runs', 'start', '--agent', agent, '--sandbox', sandbox, '--watch', '--json']);
    expect(started.code).toBe(0);
    const { id } = started.json<{ id: string }>();
    expect(await service.cli(['sandbox', 'cat', id, 'copy.csv'])).toMatchObject({ code: 0, stdout: 'a,b\n', stderr: '' });
  });

  it.each([
    ['a file that is not there', ['in/none.csv'], 2, 'in/none.csv cannot be read: there is no such file.'],
    ['a target outside the workspace', ['in/a.csv', '--to', '/etc'], 2, '/etc'],
  ])('refuses %s', async (_, argv, code, message) => {
    const sandbox = await newSandbox();
    const refused = await service.cli(['sandbox', 'push', sandbox, ...argv]);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr).toContain(message);
    expect((await service.cli(['sandbox', 'ls', '--sandbox', sandbox, '--json'])).json()).toMatchObject({ data: [] });
  });

  it('does not find a sandbox that is not there', async () => {
    for (const argv of [
      ['push', nowhere, 'in/a.csv'],
      ['ls', '--sandbox', nowhere],
    ]) {
      const missing = await service.cli(['sandbox', ...argv]);
      expect(missing).toMatchObject({ code: 3, stdout: '' });
      expect(missing.stderr).toMatch(/^error: .*sandbox/i);
    }
  });
});

describe('sandbox ls', () => {
  it("lists a folder of a run's sandbox", async () => {
    const listed = await service.cli(['sandbox', 'ls', run]);
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.stdout).toMatch(/^report\.md\t8\t\d{4}-/m);
    expect(listed.stdout).toMatch(/^deep\/\t/m);
    const deep = await service.cli(['sandbox', 'ls', run, 'deep/er', '--json']);
    expect(deep.json<{ data: unknown[] }>().data).toMatchObject([{ name: 'x.txt', type: 'file', size: 1 }]);
  });

  it('wants a run or a sandbox, and a folder that is there', async () => {
    expect(await service.cli(['sandbox', 'ls'])).toMatchObject({ code: 2, stdout: '' });
    const missing = await service.cli(['sandbox', 'ls', run, 'none']);
    expect(missing).toMatchObject({ code: 3, stdout: '' });
    expect(missing.stderr).toContain('none');
    expect(await service.cli(['sandbox', 'ls', nowhere])).toMatchObject({ code: 3, stdout: '' });
  });

  it.each(['../..', '/etc'])('does not leave the workspace for %s', async (folder) => {
    const refused = await service.cli(['sandbox', 'ls', run, folder]);
    expect([2, 3]).toContain(refused.code);
    expect(refused.stdout).toBe('');
  });
});

describe('sandbox cat', () => {
  it('prints a file, byte for byte', async () => {
    expect(await service.cli(['sandbox', 'cat', run, 'report.md'])).toMatchObject({ code: 0, stdout: '# Report', stderr: '' });
    const big = await service.cli(['sandbox', 'cat', run, 'big.txt']);
    expect(big.stdout).toHaveLength(200_000);
    expect((await service.cli(['sandbox', 'cat', '@latest', 'report.md'])).code).not.toBe(1);
  });

  it('does not garble a terminal', async () => {
    const refused = await service.cli(['sandbox', 'cat', run, 'raw.bin'], { tty: true });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('aops sandbox pull');
  });

  it('does not find what is not there', async () => {
    expect(await service.cli(['sandbox', 'cat', run, 'none.txt'])).toMatchObject({ code: 3, stdout: '' });
    const folder = await service.cli(['sandbox', 'cat', run, 'deep']);
    expect(folder).toMatchObject({ code: 2, stdout: '' });
    expect(folder.stderr).toContain('deep');
  });
});

describe('sandbox pull', () => {
  const local = (name: string): string => path.join(service.folder, name);

  it('downloads everything', async () => {
    const pulled = await service.cli(['sandbox', 'pull', run, '--to', 'all']);
    expect(pulled).toMatchObject({ code: 0, stderr: '' });
    expect(pulled.stdout).toContain('all/deep/er/x.txt\t1\n');
    expect((await readdir(local('all'))).sort()).toEqual(['big.txt', 'deep', 'raw.bin', 'report.md']);
    expect((await stat(local('all/big.txt'))).size).toBe(200_000);
    expect((await stat(local('all/raw.bin'))).size).toBe(3);
  });

  it('downloads a folder or a file', async () => {
    expect((await service.cli(['sandbox', 'pull', run, 'deep', '--to', 'part'])).code).toBe(0);
    expect(await service.read('part/er/x.txt')).toBe('x');
    expect((await service.cli(['sandbox', 'pull', run, 'report.md', '--to', 'part'])).code).toBe(0);
    expect(await service.read('part/report.md')).toBe('# Report');
  });

  it('replaces nothing unless told to', async () => {
    await service.file('kept/report.md', 'mine');
    const refused = await service.cli(['sandbox', 'pull', run, 'report.md', '--to', 'kept']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/report\.md exists already\.\nhint: .*--force/);
    expect(await service.read('kept/report.md')).toBe('mine');
    expect((await service.cli(['sandbox', 'pull', run, 'report.md', '--to', 'kept', '--force'])).code).toBe(0);
    expect(await service.read('kept/report.md')).toBe('# Report');
    expect(await readdir(local('kept'))).toEqual(['report.md']);
  });

  it('leaves nothing behind for what is not there', async () => {
    const missing = await service.cli(['sandbox', 'pull', run, 'none', '--to', 'nothing']);
    expect(missing).toMatchObject({ code: 3, stdout: '' });
    expect(await readdir(local('nothing')).catch(() => [])).toEqual([]);
  });
});
