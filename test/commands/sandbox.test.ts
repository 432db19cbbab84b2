import { spawnSync } from 'node:child_process';
import { mkdir, readdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { afterTest } from '../support/temporary.ts';

const unknownId = '00000000-0000-4000-8000-000000000003';

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
    const createResult = await service.cli(['sandbox', 'create', '--json']);
    expect(createResult).toMatchObject({ code: 0, stderr: '' });
    const { sandbox_id: sandbox, id } = createResult.json<{ sandbox_id: string; id: string }>();
    expect(id).toBe(sandbox);
    const pushResult = await service.cli(['sandbox', 'push', sandbox, 'in', 'in/a.csv', '--json']);
    expect(pushResult).toMatchObject({ code: 0, stderr: '' });
    expect(pushResult.json<{ data: unknown[] }>().data).toEqual([
      { path: '/workspace/in/a.csv', size_bytes: 4 },
      { path: '/workspace/in/sub/b.bin', size_bytes: 5 },
      { path: '/workspace/a.csv', size_bytes: 4 },
    ]);
    const listResult = await service.cli(['sandbox', 'ls', '--sandbox', sandbox, '/workspace/in', '--json']);
    expect(listResult).toMatchObject({ code: 0, stderr: '' });
    expect(listResult.json<{ data: { name: string; type: string }[] }>().data.map(({ name, type }) => [name, type])).toEqual(
      expect.arrayContaining([
        ['a.csv', 'file'],
        ['sub', 'directory'],
      ]),
    );
  });

  it('skips symbolic links with a note', async () => {
    const sandbox = await newSandbox();
    const file = await service.file('linked/real.txt', 'x');
    await symlink('/etc/hostname', path.join(path.dirname(file), 'link.txt'));
    const pushResult = await service.cli(['sandbox', 'push', sandbox, 'linked', '-o', 'csv']);
    expect(pushResult).toMatchObject({ code: 0, stdout: 'path,size_bytes\r\n/workspace/linked/real.txt,1\r\n' });
    expect(pushResult.stderr).toBe('Only files and folders can be uploaded, so these were skipped: linked/link.txt\n');
  });

  it('pushes into a folder', async () => {
    const sandbox = await newSandbox();
    const pushResult = await service.cli(['sandbox', 'push', sandbox, 'in/a.csv', '--to', '/workspace/input', '-o', 'csv']);
    expect(pushResult).toMatchObject({ code: 0, stdout: 'path,size_bytes\r\n/workspace/input/a.csv,4\r\n', stderr: '' });
  });

  it('accepts the sandbox as a flag, and then only files', async () => {
    const sandbox = await newSandbox();
    const pushResult = await service.cli(['sandbox', 'push', 'in/a.csv', '--sandbox', sandbox, '-o', 'csv']);
    expect(pushResult).toMatchObject({ code: 0, stdout: 'path,size_bytes\r\n/workspace/a.csv,4\r\n', stderr: '' });
    const refusal = await service.cli(['sandbox', 'push', 'in/a.csv']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('aops sandbox push in/a.csv --sandbox ID');
  });

  it('passes the files to the run that uses the sandbox', async () => {
    const sandbox = await newSandbox();
    await service.cli(['sandbox', 'push', sandbox, 'in/a.csv']);
    const agent = await service.agent('- exec: { run: "cp a.csv copy.csv" }');
    const startResult = await service.cli(['runs', 'start', '--agent', agent, '--sandbox', sandbox, '--watch', '--json']);
    expect(startResult.code).toBe(0);
    const { id } = startResult.json<{ id: string }>();
    expect(await service.cli(['sandbox', 'cat', id, 'copy.csv'])).toMatchObject({ code: 0, stdout: 'a,b\n', stderr: '' });
  });

  it.each([
    ['a missing file', ['in/none.csv'], 2, 'in/none.csv cannot be read: there is no such file.'],
    ['a target outside the workspace', ['in/a.csv', '--to', '/etc'], 2, '/etc'],
  ])('rejects %s', async (_, argv, code, message) => {
    const sandbox = await newSandbox();
    const refusal = await service.cli(['sandbox', 'push', sandbox, ...argv]);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect((await service.cli(['sandbox', 'ls', '--sandbox', sandbox, '--json'])).json()).toMatchObject({ data: [] });
  });

  it('names a folder that cannot be read, like the other commands that read folders', async () => {
    // Nobody may read a folder whose path is longer than the system accepts.
    const start = path.join(service.folder, 'unreadable');
    await mkdir(start);
    afterTest(() => void spawnSync('rm', ['-rf', start]));
    const script = `for (const name of Array(20).fill('d'.repeat(250))) { fs.mkdirSync(name); process.chdir(name); }`;
    expect(spawnSync(process.execPath, ['-e', script], { cwd: start })).toMatchObject({ status: 0 });
    const sandbox = await newSandbox();
    for (const argv of [
      ['sandbox', 'push', sandbox, 'unreadable'],
      ['sandbox', 'diff', run, 'unreadable'],
      ['agents', 'test', 'unreadable'],
    ]) {
      const refusal = await service.cli(argv);
      expect(refusal, argv.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toMatch(/^error: unreadable\/d{250}[/d]* cannot be read: ENAMETOOLONG/);
    }
  });

  it('reports a missing sandbox', async () => {
    for (const argv of [
      ['push', unknownId, 'in/a.csv'],
      ['ls', '--sandbox', unknownId],
    ]) {
      const refusal = await service.cli(['sandbox', ...argv]);
      expect(refusal).toMatchObject({ code: 3, stdout: '' });
      expect(refusal.stderr).toMatch(/^error: .*sandbox/i);
    }
  });
});

describe('sandbox ls', () => {
  it("lists a folder of a run's sandbox", async () => {
    const listResult = await service.cli(['sandbox', 'ls', run]);
    expect(listResult).toMatchObject({ code: 0 });
    expect(listResult.stdout).toMatch(/^report\.md\t8$/m);
    expect(listResult.stdout).toMatch(/^deep\/\t$/m);
    const longResult = await service.cli(['sandbox', 'ls', '-l', run]);
    expect(longResult.stdout).toMatch(/^file\ttext\t8\t\d{4}-\S+\treport\.md$/m);
    expect(longResult.stdout).toMatch(/^file\tbinary\t3\t\d{4}-\S+\traw\.bin$/m);
    expect(longResult.stdout).toMatch(/^directory\t\t\t\d{4}-\S+\tdeep\/$/m);
    const result = await service.cli(['sandbox', 'ls', run], { tty: true, env: { NO_COLOR: '1' } });
    expect(result.stdout).toMatch(/^big\.txt +200 kB$/m);
    const deepResult = await service.cli(['sandbox', 'ls', run, 'deep/er', '--json']);
    expect(deepResult.json<{ data: unknown[] }>().data).toMatchObject([{ name: 'x.txt', type: 'file', size: 1 }]);
  });

  it('requires a run or a sandbox, and an existing folder', async () => {
    expect(await service.cli(['sandbox', 'ls'])).toMatchObject({ code: 2, stdout: '' });
    const refusal = await service.cli(['sandbox', 'ls', run, 'none']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('none');
    expect(await service.cli(['sandbox', 'ls', unknownId])).toMatchObject({ code: 3, stdout: '' });
  });

  it.each(['../..', '/etc'])('does not leave the workspace for %s', async (folder) => {
    const refusal = await service.cli(['sandbox', 'ls', run, folder]);
    expect([2, 3]).toContain(refusal.code);
    expect(refusal.stdout).toBe('');
  });
});

describe('sandbox tree', () => {
  it('shows all files with totals', async () => {
    const ascii = await service.cli(['sandbox', 'tree', run], { tty: true, env: { NO_COLOR: '1' } });
    expect(ascii).toMatchObject({ code: 0, stderr: '' });
    expect(ascii.stdout).toBe(`/workspace
|-- big.txt  200 kB
|-- deep/
|   \`-- er/
|       \`-- x.txt  1 B
|-- raw.bin  3 B
\`-- report.md  8 B

2 folders, 4 files, 200 kB
`);
    const treeResult = await service.cli(['sandbox', 'tree', run, 'deep'], { tty: true, env: { NO_COLOR: '1', LANG: 'C.UTF-8' } });
    expect(treeResult.stdout).toBe('/workspace/deep\n└── er/\n    └── x.txt  1 B\n\n1 folder, 1 file, 1 B\n');
  });

  it('prints paths and sizes in a pipe, and a resource as JSON', async () => {
    const pipedResult = await service.cli(['sandbox', 'tree', run]);
    expect(pipedResult.stdout.split('\n').slice(0, 4)).toEqual([
      '/workspace/big.txt\t200000',
      '/workspace/deep/\t',
      '/workspace/deep/er/\t',
      '/workspace/deep/er/x.txt\t1',
    ]);
    const tree = (await service.cli(['sandbox', 'tree', run, '--json'])).json<{ entries: { path: string }[] }>();
    expect(tree).toMatchObject({ path: '/workspace', directories: 2, files: 4, size: 200_012, complete: true });
    expect(tree.entries).toHaveLength(6);
  });

  it('respects --depth and --limit, and reports that the list is incomplete', async () => {
    const shallow = await service.cli(['sandbox', 'tree', run, '--depth', '1', '--json']);
    expect(shallow.json()).toMatchObject({ directories: 1, files: 3, complete: false });
    const fewResult = await service.cli(['sandbox', 'tree', run, '--limit', '2'], { tty: true, env: { NO_COLOR: '1' } });
    expect(fewResult.stdout).toContain('\n1 folder, 1 file, 200 kB; the list is incomplete\n');
    expect((await service.cli(['sandbox', 'tree', run, '--limit', '6', '--json'])).json()).toMatchObject({ complete: true });
  });
});

describe('sandbox diff', () => {
  let changedSandbox: string;
  beforeAll(async () => {
    await service.file('base/a.txt', 'one\ntwo\nthree\n');
    await service.file('base/same.txt', 'same');
    await service.file('base/gone.txt', 'bye\n');
    await service.file('base/sub/raw.bin', Buffer.from([0, 1, 2]));
    const sandbox = await newSandbox();
    await service.cli(['sandbox', 'push', sandbox, 'base']);
    const agent = await service.agent(
      '- exec: { run: "cd base; sed -i s/two/2/ a.txt; rm gone.txt; printf \'\\\\000\\\\001\\\\003\' > sub/raw.bin; echo hi > new.txt; : > empty" }',
    );
    changedSandbox = (
      await service.cli(['runs', 'start', '--agent', agent, '--sandbox', sandbox, '--watch', '-o', 'id', '-q'])
    ).stdout.trim();
    await service.until(changedSandbox, 'completed');
  });

  it('shows what the run changed', async () => {
    const diff = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base']);
    expect(diff).toMatchObject({ code: 0, stderr: '' });
    expect(diff.stdout).toBe(`--- base/a.txt
+++ /workspace/base/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
Added: empty (nothing to 0 B)
--- base/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
--- /dev/null
+++ /workspace/base/new.txt
@@ -0,0 +1 @@
+hi
Differs: sub/raw.bin (3 B to 3 B)
`);
    const colouredResult = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base'], { tty: true, env: { FORCE_COLOR: '1' } });
    expect(colouredResult.stdout).toContain('\u001b[32m+2\u001b[39m');
  });

  it('lists the changes', async () => {
    const json = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base', '--json']);
    expect(json.json()).toMatchObject({
      data: [
        { path: 'a.txt', change: 'changed', size_before: 14, size_after: 12 },
        { path: 'empty', change: 'added', size_before: null, size_after: 0 },
        { path: 'gone.txt', change: 'removed', size_before: 4, size_after: null },
        { path: 'new.txt', change: 'added', size_before: null, size_after: 3 },
        { path: 'sub/raw.bin', change: 'changed', size_before: 3, size_after: 3 },
      ],
      total: 5,
    });
    expect(json.stdout).not.toContain('three');
    const names = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base', '--name-only']);
    expect(names.stdout).toBe('a.txt\nempty\ngone.txt\nnew.txt\nsub/raw.bin\n');
    const stat = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base', '--stat']);
    expect(stat.stdout).toMatch(/^changed\t14\t12\ta\.txt\nadded\t\t0\tempty\n/);
  });

  it('fails for differences only with --exit-code', async () => {
    const differs = await service.cli(['sandbox', 'diff', changedSandbox, 'base', 'base', '--name-only', '--exit-code']);
    expect(differs.code).toBe(6);
    expect(differs.stdout).toContain('a.txt\n');
    expect(differs.stderr).toContain('error: 5 files differ.');
    await service.cli(['sandbox', 'pull', changedSandbox, '--to', 'copy']);
    const unchangedResult = await service.cli(['sandbox', 'diff', changedSandbox, 'copy', '--exit-code']);
    expect(unchangedResult).toMatchObject({ code: 0, stdout: '', stderr: 'There are no differences.\n' });
    expect((await service.cli(['sandbox', 'diff', changedSandbox, 'copy', '--json'])).json()).toMatchObject({ data: [], total: 0 });
  });

  it.each([
    ['a missing folder', ['nowhere'], 2, 'nowhere cannot be read: there is no such file.'],
    ['a file', ['base/a.txt'], 2, 'base/a.txt is not a folder.'],
    ['a folder that the sandbox has not', ['none', 'base'], 3, 'none'],
    ['two ways to show it', ['base', '--stat', '--name-only'], 2, 'cannot be combined'],
  ])('rejects %s', async (_, argv, code, message) => {
    const refusal = await service.cli(['sandbox', 'diff', changedSandbox, ...argv]);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });
});

describe('--agent', () => {
  it('finds the files of a run by its agent, but not by another agent', async () => {
    const agent = (await service.get(run)).run.agent_id as string;
    await service.agent('- say: hi', 'bystander');
    const commands = [
      ['ls', run],
      ['tree', run],
      ['cat', run, 'report.md'],
      ['pull', run, 'report.md', '--to', 'by-agent'],
      ['diff', run, 'by-agent', '--name-only'],
    ];
    for (const argv of commands) {
      const ownResult = await service.cli(['sandbox', ...argv, '--agent', agent]);
      expect(ownResult.code, ownResult.stderr).toBe(0);
      expect(ownResult.stdout).not.toBe('');
      const otherResult = await service.cli(['sandbox', ...argv, '--agent', 'bystander', ...(argv[0] === 'pull' ? ['--force'] : [])]);
      expect(otherResult).toMatchObject({ code: 3, stdout: '' });
    }
    expect(await service.cli(['sandbox', 'ls', '--sandbox', unknownId, '--agent', agent])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('sandbox cat', () => {
  it('prints a file, byte for byte', async () => {
    expect(await service.cli(['sandbox', 'cat', run, 'report.md'])).toMatchObject({ code: 0, stdout: '# Report', stderr: '' });
    const big = await service.cli(['sandbox', 'cat', run, 'big.txt']);
    expect(big.stdout).toHaveLength(200_000);
    expect((await service.cli(['sandbox', 'cat', '@latest', 'report.md'])).code).not.toBe(1);
  });

  it('prints a binary file in a pipe', async () => {
    const expected = Buffer.from([0, 1, 255]).toString();
    expect(await service.cli(['sandbox', 'cat', run, 'raw.bin'])).toMatchObject({ code: 0, stdout: expected, stderr: '' });
  });

  it('does not print binary files on a terminal', async () => {
    const refusal = await service.cli(['sandbox', 'cat', run, 'raw.bin'], { tty: true });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('aops sandbox pull');
  });

  it('reports missing files', async () => {
    expect(await service.cli(['sandbox', 'cat', run, 'none.txt'])).toMatchObject({ code: 3, stdout: '' });
    const folder = await service.cli(['sandbox', 'cat', run, 'deep']);
    expect(folder).toMatchObject({ code: 2, stdout: '' });
    expect(folder.stderr).toContain('deep');
  });
});

describe('sandbox pull', () => {
  const local = (name: string): string => path.join(service.folder, name);

  it('downloads everything', async () => {
    const pullResult = await service.cli(['sandbox', 'pull', run, '--to', 'all']);
    expect(pullResult).toMatchObject({ code: 0, stderr: '' });
    expect(pullResult.stdout).toContain('all/deep/er/x.txt\t1\n');
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

  it('requests a single file once, and saves it in the current folder by default', async () => {
    const pullResult = await service.cli(['sandbox', 'pull', run, 'deep/er/x.txt', '--debug']);
    expect(pullResult).toMatchObject({ code: 0, stdout: 'x.txt\t1\n' });
    expect(await service.read('x.txt')).toBe('x');
    expect(pullResult.stderr.match(/GET \S*\/sandbox\/files\S*/g)).toEqual([expect.stringContaining('/sandbox/files/archive?')]);
  });

  it('overwrites nothing without --force', async () => {
    await service.file('kept/report.md', 'mine');
    const refusal = await service.cli(['sandbox', 'pull', run, 'report.md', '--to', 'kept']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toMatch(/report\.md already exists\.\nhint: .*--force/);
    expect(await service.read('kept/report.md')).toBe('mine');
    expect((await service.cli(['sandbox', 'pull', run, 'report.md', '--to', 'kept', '--force'])).code).toBe(0);
    expect(await service.read('kept/report.md')).toBe('# Report');
    expect(await readdir(local('kept'))).toEqual(['report.md']);
  });

  it('writes the files whose names can be used, and reports the others', async () => {
    const oddRun = await service.run(
      String.raw`- exec: { run: "touch aux.c end. 'a\\b' Case case; printf 'x\\ty\\0x\\nz' | xargs -0 touch" }`,
    );
    await service.until(oddRun, 'completed');
    const pullResult = await service.cli(['sandbox', 'pull', oddRun, '--to', 'odd', '-o', 'ndjson']);
    const names = ['Case', 'a\\b', 'aux.c', 'case', 'end.'];
    expect(pullResult.code).toBe(1);
    expect(pullResult.lines<{ path: string }>().map(({ path: name }) => name)).toEqual(names.map((name) => `/workspace/${name}`));
    expect((await readdir(local('odd'))).sort()).toEqual(names);
    const reason = '(it has a control character)';
    expect(JSON.parse(pullResult.stderr)).toMatchObject({
      error: {
        code: 'names_not_usable',
        message: `2 of 7 files were not written because of their names: "/workspace/x\\ty" ${reason} and "/workspace/x\\nz" ${reason}.`,
      },
    });
  });

  it('leaves nothing behind for a missing file', async () => {
    const refusal = await service.cli(['sandbox', 'pull', run, 'none', '--to', 'nothing']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(await readdir(local('nothing')).catch(() => [])).toEqual([]);
  });
});
