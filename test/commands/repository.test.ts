/** Repositories on the command line: `runs start --repo`, `sandbox diff`, and `sandbox apply`. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LocalGit } from '../../src/commands/sandbox/repository/git.ts';
import { merge } from '../../src/commands/sandbox/repository/merge.ts';
import { treeOf } from '../support/folder-tree.ts';
import { gitEnvironment, newRepository, type TestRepository } from '../support/repository.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const files = {
  'a.txt': 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n',
  'src/b.txt': 'b\n',
  'c.bin': Buffer.from([0, 1, 2]),
  'keep.txt': 'keep\n',
};
let count = 0;
/** A new repository, and the ID of a run that has worked on it. */
async function runCommand(
  command: string,
  more: Record<string, string | Uint8Array> = {},
): Promise<{ source: TestRepository; run: string }> {
  count += 1;
  const source = await newRepository(path.join(service.folder, `repository-${count}`), { ...files, ...more });
  return { source, run: await workOn(source, command) };
}

async function workOn(source: TestRepository, command: string, ...args: string[]): Promise<string> {
  const agent = await service.agent(`- exec: { run: ${JSON.stringify(command)} }`);
  const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', source.folder, ...args, '--watch', '--json']);
  expect(startResult).toMatchObject({ code: 0 });
  return startResult.json<{ id: string }>().id;
}

const apply = (source: TestRepository, run: string, ...args: string[]) =>
  service.cli(['sandbox', 'apply', run, ...args], { cwd: source.folder, env: gitEnvironment });
const change = "sed -i s/one/1/ a.txt; echo new > new.txt; git rm -q src/b.txt; printf '\\000xyz' > c.bin; chmod +x keep.txt";

describe('runs start --repo', () => {
  it('accepts a folder relative to the current one, and a ref after #', async () => {
    const source = await newRepository(path.join(service.folder, 'a#b'), { 'a.txt': 'main' });
    await source.git('checkout', '--quiet', '-b', 'next');
    await source.commit('Next', { 'a.txt': 'next' });
    const agent = await service.agent('- exec: { run: "git log -1 --format=%s > subject" }');
    for (const [repo, subject] of [
      ['.', 'Next'],
      ['.#main', 'Start'],
      ['#main', 'Start'],
      ['../a#b', 'Next'],
      ['../a#b#main', 'Start'],
    ] as const) {
      const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', repo, '--watch', '--quiet', '-o', 'id'], {
        cwd: source.folder,
      });
      expect(startResult).toMatchObject({ code: 0, stderr: '' });
      expect((await service.cli(['sandbox', 'cat', startResult.stdout.trim(), 'subject'])).stdout).toBe(`${subject}\n`);
    }
  });

  it('says how uncommitted work can be included', async () => {
    const { source } = await runCommand('true');
    await source.write({ 'a.txt': 'dirty' });
    const agent = await service.agent('- say: done');
    const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', source.folder]);
    expect(startResult).toMatchObject({ code: 0 });
    expect(startResult.stderr).toBe(
      `Uncommitted work in 1 file of ${source.folder} is not included. To include changes of tracked files without committing them to a branch: --repo ${source.folder}#$(git -C ${source.folder} stash create)\n`,
    );
  });

  it.each([
    ['nowhere', 2, /^error: --repo: there is no folder .*nowhere\.\n.*--repo \.#main/s],
    ['.#', 2, /nothing follows #/],
    ['.#missing', 2, /There is no branch, tag, or commit missing in .*\./],
    ['git@github.com:team/shop.git', 2, /--repo https:\/\/github\.com\/team\/shop\.git/],
    ['ssh://git@github.com/team/shop.git', 2, /--repo https:\/\/github\.com\/team\/shop\.git/],
    ['file:///etc', 2, /not a folder, and not an http or https URL/],
    ['ext::sh -c touch% /tmp/x', 2, /not a folder, and not an http or https URL/],
    ['https://user:secret@example.com/a.git', 2, /must not contain a user name or password/],
    ['https://10.1.2.3/a.git', 2, /--allow-connection-host 10\.1\.2\.3/],
  ])('refuses %s', async (repo, code, message) => {
    count += 1;
    const source = await newRepository(path.join(service.folder, `refusing-${count}`), { a: 'a' });
    const agent = await service.agent('- say: done');
    const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', repo], { cwd: source.folder });
    expect(startResult).toMatchObject({ code, stdout: '' });
    expect(startResult.stderr).toMatch(message);
    expect(startResult.stderr).not.toContain('secret@');
  });

  it('refuses a folder for a service on another machine', async () => {
    const agent = '00000000-0000-4000-8000-000000000001';
    const env = { AOPS_BASE_URL: 'https://aops.example.com' };
    const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', '.'], { env });
    expect(startResult).toMatchObject({ code: 2, stdout: '' });
    expect(startResult.stderr).toContain('is a folder of this machine, and the service is on another one.');
  });
});

it('starts no run on a service that does not offer repositories', async () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_found"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const env = { AOPS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const agent = '00000000-0000-4000-8000-000000000001';
  const startResult = await service.cli(['runs', 'start', '--agent', agent, '--repo', '.'], { env });
  expect(startResult).toMatchObject({ code: 3, stdout: '' });
  expect(startResult.stderr).toContain('This service does not offer runs with a repository. No run was started.');
  expect(requests).toEqual(['GET /v2/openapi.json']);
});

describe('sandbox diff without a folder', () => {
  it('prints the exact patch to a pipe', async () => {
    const { source, run } = await runCommand(change);
    const diff = await service.cli(['sandbox', 'diff', run]);
    expect(diff).toMatchObject({ code: 0, stderr: '' });
    const patch = await service.file('exact.patch', diff.stdout);
    await source.git('apply', '--index', patch);
    expect(await source.git('status', '--porcelain')).toBe('M  a.txt\nM  c.bin\nM  keep.txt\nA  new.txt\nD  src/b.txt\n');
    expect(await readFile(path.join(source.folder, 'c.bin'))).toEqual(Buffer.from('\0xyz'));
  });

  it('shows the patch in colour on a terminal, without anything that could steer it', async () => {
    const { run } = await runCommand("printf 'x\\033]0;evil\\007\\n' > bell.txt; printf '\\000x' > c.bin");
    const diff = await service.cli(['sandbox', 'diff', run, '--color', 'always'], { tty: true });
    expect(diff.code).toBe(0);
    expect(diff.stdout).toContain('\u001b[32m+x^[]0;evil^G\u001b[39m\n');
    expect(diff.stdout).toContain('Binary file (3 B to 2 B)');
    expect(diff.stdout).toMatch(/index [0-9a-f]{7}\.\.[0-9a-f]{7} 100644/);
    expect(diff.stdout).not.toContain('GIT binary patch');
    expect(diff.stdout).not.toContain('\u0007');
  });

  it('lists the files with --stat, --name-only, and --json', async () => {
    const { run } = await runCommand(`${change}; git mv keep.txt kept.txt`);
    const stat = await service.cli(['sandbox', 'diff', run, '--stat']);
    expect(stat.stdout).toBe(
      'changed\t+1 -1\t34\t32\ta.txt\nchanged\tbinary\t3\t4\tc.bin\nrenamed\t+0 -0\t5\t5\tkeep.txt -> kept.txt\nadded\t+1 -0\t\t4\tnew.txt\nremoved\t+0 -1\t2\t\tsrc/b.txt\n',
    );
    expect((await service.cli(['sandbox', 'diff', run, '--name-only'])).stdout).toBe('a.txt\nc.bin\nkept.txt\nnew.txt\nsrc/b.txt\n');
    const { data } = (await service.cli(['sandbox', 'diff', run, '--json'])).json<{ data: object[] }>();
    expect(data).toHaveLength(5);
    expect(data[2]).toEqual({
      path: 'kept.txt',
      change: 'renamed',
      old_path: 'keep.txt',
      size_before: 5,
      size_after: 5,
      mode_before: '100644',
      mode_after: '100755',
      lines_added: 0,
      lines_removed: 0,
    });
  });

  it('exits with 6 if there are differences, with --exit-code', async () => {
    const { run } = await runCommand(change);
    for (const form of [[], ['--stat'], ['--json']]) {
      const diff = await service.cli(['sandbox', 'diff', run, '--exit-code', ...form]);
      expect(diff.code).toBe(6);
      expect(diff.stdout).not.toBe('');
    }
    const unchangedRun = await runCommand('true');
    expect(await service.cli(['sandbox', 'diff', unchangedRun.run, '--exit-code', '--stat'])).toMatchObject({ code: 0 });
    expect(await service.cli(['sandbox', 'diff', unchangedRun.run])).toMatchObject({ code: 0, stdout: '' });
  });

  it('says what to do for a run without a repository', async () => {
    const run = await service.run('- say: done');
    await service.until(run, 'completed');
    const diff = await service.cli(['sandbox', 'diff', run]);
    expect(diff).toMatchObject({ code: 2, stdout: '' });
    expect(diff.stderr).toContain('aops sandbox diff RUN FOLDER');
  });

  it('still compares with a folder, and accepts only runs of the agent', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    const diff = await service.cli(['sandbox', 'diff', run, source.folder, '--name-only']);
    expect(diff.stdout.split('\n')).toContain('a.txt');
    const other = await service.agent('- say: done');
    expect(await service.cli(['sandbox', 'diff', run, '--agent', other])).toMatchObject({ code: 3, stdout: '' });
  });

  it('mentions folders with a repository of their own', async () => {
    const { run } = await runCommand('mkdir sub; cd sub; git init -q; touch x');
    const diff = await service.cli(['sandbox', 'diff', run, '--stat']);
    expect(diff.stderr).toContain('Folders with a repository of their own are left out: sub.');
  });
});

describe('sandbox apply', () => {
  it('stages the changes in the checkout', async () => {
    const { source, run } = await runCommand(`${change}; git mv keep.txt kept.txt`);
    const applyResult = await apply(source, run, '--json');
    expect(applyResult).toMatchObject({ code: 0, stderr: 'Changed and staged 6 files. Review them with `git diff --cached`.\n' });
    expect(applyResult.json()).toEqual({
      run_id: run,
      checkout: source.folder,
      branch: null,
      commit: null,
      files: [
        { path: 'a.txt', change: 'changed' },
        { path: 'c.bin', change: 'changed' },
        { path: 'keep.txt', change: 'removed' },
        { path: 'kept.txt', change: 'added' },
        { path: 'new.txt', change: 'added' },
        { path: 'src/b.txt', change: 'removed' },
      ],
    });
    expect(await source.git('status', '--porcelain', '--no-renames')).toBe(
      'M  a.txt\nM  c.bin\nD  keep.txt\nA  kept.txt\nA  new.txt\nD  src/b.txt\n',
    );
    expect(await readFile(path.join(source.folder, 'c.bin'))).toEqual(Buffer.from('\0xyz'));
    // The objects are in the repository.
    await source.git('commit', '--quiet', '--message', 'Applied');
    await source.git('fsck', '--strict');
  });

  it('does nothing the second time', async () => {
    const { source, run } = await runCommand(change);
    expect(await apply(source, run)).toMatchObject({ code: 0 });
    await source.git('commit', '--quiet', '--message', 'Applied');
    const before = await treeOf(source.folder);
    const again = await apply(source, run);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr).toContain('There is nothing to apply');
    expect(await treeOf(source.folder)).toEqual(before);
  });

  it('combines the changes with those that were made in the meantime', async () => {
    const { source, run } = await runCommand('sed -i s/one/1/ a.txt');
    await source.commit('Meanwhile', { 'a.txt': files['a.txt'].replace('seven', '7'), 'other.txt': 'other' });
    expect(await apply(source, run)).toMatchObject({ code: 0 });
    expect(await readFile(path.join(source.folder, 'a.txt'), 'utf8')).toBe('1\ntwo\nthree\nfour\nfive\nsix\n7\n');
  });

  it('changes nothing if the changes conflict, and names the files', async () => {
    const { source, run } = await runCommand('sed -i s/one/1/ a.txt; git rm -q src/b.txt; echo n > new.txt; echo k >> keep.txt');
    await source.commit('Meanwhile', { 'a.txt': files['a.txt'].replace('one', 'ONE'), 'src/b.txt': 'changed\n', 'new.txt': 'mine\n' });
    const before = await treeOf(source.folder);
    const applyResult = await apply(source, run);
    expect(applyResult).toMatchObject({ code: 6, stdout: '' });
    expect(applyResult.stderr).toContain(`conflict with ${source.folder} in a.txt, new.txt, src/b.txt. Nothing was changed.`);
    expect(applyResult.stderr).toContain(`aops sandbox apply ${run} --branch NAME`);
    expect(await treeOf(source.folder)).toEqual(before);
  });

  it('changes nothing that has uncommitted work', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt; echo 1 > src/b.txt; echo 1 > new.txt; echo 1 > keep.txt');
    await source.write({ 'a.txt': 'mine', 'src/b.txt': 'staged', 'new.txt': 'untracked', 'other.txt': 'untouched' });
    await source.git('add', 'src/b.txt');
    const state = await source.git('status', '--porcelain=v2');
    const applyResult = await apply(source, run);
    expect(applyResult).toMatchObject({ code: 6, stdout: '' });
    expect(applyResult.stderr).toContain('would overwrite uncommitted work in a.txt, new.txt, src/b.txt. Nothing was changed.');
    expect(await source.git('status', '--porcelain=v2')).toBe(state);
    expect(await readFile(path.join(source.folder, 'keep.txt'), 'utf8')).toBe('keep\n');
  });

  it('replaces folders without files, and no files by folders', async () => {
    const { source, run } = await runCommand('echo 1 > new; mkdir folder; echo 1 > folder/file');
    await mkdir(path.join(source.folder, 'new/empty'), { recursive: true });
    await source.write({ folder: 'mine' });
    const refusal = await apply(source, run);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain('would overwrite uncommitted work in folder. Nothing was changed.');
    expect(await source.git('status', '--porcelain')).toBe('?? folder\n');
    await source.write({ folder: null, 'new/empty/file': 'mine' });
    expect((await apply(source, run)).stderr).toContain('would overwrite uncommitted work in new. Nothing was changed.');
    await source.write({ 'new/empty/file': null });
    expect(await apply(source, run)).toMatchObject({ code: 0 });
    expect(await source.git('status', '--porcelain')).toBe('A  folder/file\nA  new\n');
  });

  it('names all files in which the changes conflict, also without the commit from which the run started', async () => {
    const { run } = await runCommand('sed -i s/one/1/ a.txt; echo 1 > src/b.txt; echo 1 > new.txt');
    const other = await newRepository(path.join(service.folder, 'unrelated'), { ...files, 'keep.txt': 'different', 'a.txt': 'x\n' });
    const before = await treeOf(other.folder);
    const applyResult = await apply(other, run);
    expect(applyResult).toMatchObject({ code: 6, stdout: '' });
    expect(applyResult.stderr).toContain(`conflict with ${other.folder} in a.txt. Nothing was changed.`);
    expect(await treeOf(other.folder)).toEqual(before);
  });

  it('changes nothing if the patch does not fit the commit from which the run started', async () => {
    const repository = await newRepository(await temporaryDirectory(), { 'a.txt': 'one\n' });
    const base = (await repository.git('rev-parse', 'HEAD^{tree}')).trim();
    await repository.commit('Next', { 'b.txt': 'b\n' });
    const onto = (await repository.git('rev-parse', 'HEAD^{tree}')).trim();
    const folder = await temporaryDirectory();
    const patch = path.join(folder, 'patch');
    await writeFile(patch, 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-another line\n+1\n');
    const git = new LocalGit(repository.folder, { env: { ...process.env, ...gitEnvironment }, signal: new AbortController().signal });
    expect(await merge(git, { onto, base, patch, folder })).toEqual({ conflicts: ['a.txt'] });
  });

  it('keeps uncommitted work in other files', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    await source.write({ 'keep.txt': 'mine', 'src/b.txt': 'staged', 'untracked.txt': 'x' });
    await source.git('add', 'src/b.txt');
    expect(await apply(source, run)).toMatchObject({ code: 0 });
    expect(await source.git('status', '--porcelain')).toBe('M  a.txt\n M keep.txt\nM  src/b.txt\n?? untracked.txt\n');
    expect(await readFile(path.join(source.folder, 'src/b.txt'), 'utf8')).toBe('staged');
  });

  it('restores the files if writing them fails', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt; mkdir dir; echo 1 > dir/x.txt; echo 1 > src/b.txt');
    // As git does when the disk becomes full after it has written the first files.
    const before = await source.git('status', '--porcelain=v2', '--branch');
    const bin = path.join(service.folder, 'failing-git');
    await mkdir(bin, { recursive: true });
    const real = (await source.git('--exec-path')).trim();
    await service.file(
      'failing-git/git',
      `#!/bin/sh\nif [ "$1" = read-tree ] && [ "$2" = -m ]; then echo 1 > a.txt; mkdir -p dir; echo 1 > dir/x.txt; echo 'fatal: No space left on device' >&2; exit 128; fi\nexec ${real}/git "$@"\n`,
    );
    await chmod(path.join(bin, 'git'), 0o700);
    const applyResult = await service.cli(['sandbox', 'apply', run], {
      cwd: source.folder,
      env: { ...gitEnvironment, PATH: `${bin}:${gitEnvironment.PATH}` },
    });
    expect(applyResult).toMatchObject({ code: 1, stdout: '' });
    expect(applyResult.stderr).toContain('nothing was changed: fatal: No space left on device');
    expect(await source.git('status', '--porcelain=v2', '--branch')).toBe(before);
    expect(await readFile(path.join(source.folder, 'a.txt'), 'utf8')).toBe(files['a.txt']);
  });

  it('only checks with --check', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    const before = await treeOf(path.join(source.folder, 'src'));
    const checkResult = await apply(source, run, '--check');
    expect(checkResult).toMatchObject({ code: 0, stderr: 'The changes can be applied: 1 file.\n' });
    expect(await source.git('status', '--porcelain')).toBe('');
    expect(await treeOf(path.join(source.folder, 'src'))).toEqual(before);
  });

  it('names the checkout with --to, and finds the top of it', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    expect(await service.cli(['sandbox', 'apply', run, '--to', path.join(source.folder, 'src')], { env: gitEnvironment })).toMatchObject({
      code: 0,
    });
    expect(await source.git('status', '--porcelain')).toBe('M  a.txt\n');
  });

  it('applies to a checkout without a commit', async () => {
    const { run } = await runCommand('echo 1 > new.txt');
    const empty = await newRepository(path.join(service.folder, 'empty-checkout'));
    expect(await apply(empty, run)).toMatchObject({ code: 0 });
    expect(await empty.git('status', '--porcelain')).toBe('A  new.txt\n');
  });

  it.each([
    ['a folder that is not a checkout', '/', /is not a checkout of a git repository/],
    ['a folder that does not exist', '/nonexistent/shop', /There is no folder \/nonexistent\/shop/],
  ])('refuses %s', async (_, folder, message) => {
    const { run } = await runCommand('true');
    const applyResult = await service.cli(['sandbox', 'apply', run, '--to', folder], { env: gitEnvironment });
    expect(applyResult).toMatchObject({ code: 2, stdout: '' });
    expect(applyResult.stderr).toMatch(message);
  });

  it('says that git is missing', async () => {
    const { source, run } = await runCommand('true');
    const applyResult = await service.cli(['sandbox', 'apply', run], { cwd: source.folder, env: { PATH: '/nonexistent' } });
    expect(applyResult).toMatchObject({ code: 1, stdout: '' });
    expect(applyResult.stderr).toContain('git is not installed, or not in your PATH.');
  });
});

describe('sandbox apply --branch', () => {
  it('commits the changes on top of the commit from which the run started, and leaves the checkout alone', async () => {
    const { source, run } = await runCommand(change);
    const start = (await source.git('rev-parse', 'HEAD')).trim();
    await source.commit('Meanwhile', { 'a.txt': 'completely different' });
    await source.write({ 'keep.txt': 'uncommitted' });
    const state = await source.git('status', '--porcelain=v2', '--branch');
    const applyResult = await apply(source, run, '--branch', 'fix/it', '--message', 'Fix it\n\nBecause.', '--json');
    expect(applyResult).toMatchObject({ code: 0, stderr: 'Committed 5 files. Merge them with `git merge fix/it`.\n' });
    expect(await source.git('log', '--format=%H %P %an%n%B', '-1', 'fix/it')).toBe(
      `${applyResult.json<{ commit: string }>().commit} ${start} Ada\nFix it\n\nBecause.\n\n`,
    );
    expect(await source.git('diff', '--name-status', start, 'fix/it')).toBe('M\ta.txt\nM\tc.bin\nM\tkeep.txt\nA\tnew.txt\nD\tsrc/b.txt\n');
    expect(await source.git('status', '--porcelain=v2', '--branch')).toBe(state);
  });

  it('refuses an existing branch without --force, and one that is checked out', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    await source.git('branch', 'taken');
    const refusalResult = await apply(source, run, '--branch', 'taken');
    expect(refusalResult).toMatchObject({ code: 6, stdout: '' });
    expect(refusalResult.stderr).toContain('There is already a branch taken. Nothing was changed.');
    expect(await apply(source, run, '--branch', 'taken', '--force')).toMatchObject({ code: 0 });
    expect(await source.git('show', 'taken:a.txt')).toBe('1\n');
    const current = await apply(source, run, '--branch', 'main', '--force');
    expect(current).toMatchObject({ code: 1, stdout: '' });
    expect(current.stderr).toMatch(/main.*(?:checked out|used by)/);
  });

  it('explains how to tell git who you are', async () => {
    const { source, run } = await runCommand('echo 1 > a.txt');
    const env = {
      PATH: gitEnvironment.PATH as string,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.useConfigOnly',
      GIT_CONFIG_VALUE_0: 'true',
    };
    const applyResult = await service.cli(['sandbox', 'apply', run, '--branch', 'fix'], { cwd: source.folder, env });
    expect(applyResult).toMatchObject({ code: 1, stdout: '' });
    expect(applyResult.stderr).toContain('git config --global user.name NAME');
  });

  it.each([
    [['--branch', 'a..b'], 'is not a valid name for a branch'],
    [['--branch=--upload-pack=x'], 'is not a valid name for a branch'],
    [['--force'], '--force requires --branch.'],
    [['--message', 'x'], '--message requires --branch.'],
  ])('refuses %j', async (args, message) => {
    const { source, run } = await runCommand('true');
    const applyResult = await apply(source, run, ...args);
    expect(applyResult).toMatchObject({ code: 2, stdout: '' });
    expect(applyResult.stderr).toContain(message);
  });
});

describe('runs export of a run with a repository', () => {
  const exported = (run: string, format: string) => service.cli(['runs', 'export', run, '--format', format, '--to', '-']);
  const paths = ['a.txt', 'c.bin', 'kept.txt', 'new.txt', 'src/b.txt', 'ä b/c d.txt'];
  interface ExportedRun {
    changes: { source: string; commit: string; total_files: number; diffs: { path: string; diff: string }[] | null };
    files: unknown[];
    left_out: string[];
    redactions: { kind: string }[];
  }

  it('contains the path of each changed file, and its part of the patch', async () => {
    const { source, run } = await runCommand(`${change}; mkdir 'ä b'; echo x > 'ä b/c d.txt'; git mv keep.txt kept.txt`);
    const commit = (await source.git('rev-parse', 'HEAD')).trim();
    const { changes, files: sandboxFiles } = (await exported(run, 'json')).json<ExportedRun>();
    expect(changes).toMatchObject({ source: source.folder, commit, total_files: 6 });
    expect(changes.diffs?.map((diff) => diff.path)).toEqual(paths);
    const patch = (await service.cli(['sandbox', 'diff', run])).stdout;
    expect(changes.diffs?.map(({ diff }) => diff).join('')).toBe(patch);
    // They are those of the repository.
    expect(sandboxFiles).toEqual([]);
  });

  it('mentions binary content to people, instead of showing it', async () => {
    const { run } = await runCommand(`${change}; mkdir 'ä b'; echo x > 'ä b/c d.txt'; git mv keep.txt kept.txt`);
    for (const format of ['md', 'html']) {
      const { stdout } = await exported(run, format);
      const section = stdout.slice(stdout.indexOf('Changes in the repository'));
      expect(section).toContain('6 files changed.');
      for (const name of paths) expect(section).toMatch(format === 'md' ? `\n\`${name}\`\n` : `<bdi>${name}</bdi></code>`);
      expect(section).toContain('Binary file (3 B to 4 B)');
      expect(section).not.toContain('GIT binary patch');
      expect(section).toMatch(/index [0-9a-f]{7}\.\.[0-9a-f]{7} 100644/);
    }
  });

  it('replaces secrets in the paths and the patch', async () => {
    const token = ['gh', 'p_', 'a1B2'.repeat(9)].join('');
    const { run } = await runCommand(`echo 'key ${token}' > ${token}.txt`);
    for (const format of ['json', 'md', 'html']) expect((await exported(run, format)).stdout).not.toContain(token);
    expect((await exported(run, 'json')).json<ExportedRun>().changes.diffs?.[0]?.path).toBe('[redacted: GitHub token].txt');
  });

  it('is empty if nothing has changed', async () => {
    const { run } = await runCommand('true');
    expect((await exported(run, 'json')).json<ExportedRun>().changes).toMatchObject({ total_files: 0, diffs: [] });
    expect((await exported(run, 'md')).stdout).toContain('\n## Changes in the repository\n\n0 files changed.\n');
  });

  it('lacks a patch that is too large, and says how to save it', async () => {
    const { run } = await runCommand('head -c 5000000 /dev/zero | tr "\\0" x > large.txt');
    const { changes, left_out } = (await exported(run, 'json')).json<ExportedRun>();
    expect(changes).toMatchObject({ total_files: 1, diffs: null });
    expect(left_out).toEqual([
      'The patch of the changes in the repository is larger than 4 MiB. `aops sandbox diff RUN > run.patch` saves it.',
    ]);
    expect((await exported(run, 'md')).stdout).toContain('1 file changed.');
  });
});
