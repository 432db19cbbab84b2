/** Runs that work on a repository in a folder of this machine, through HTTP. */
import { chmod, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunChanges, RunMessage, RunRepository } from '../../../src/interface/types.ts';
import { treeOf } from '../../support/folder-tree.ts';
import { newRepository, type TestRepository } from '../../support/repository.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let shop: TestRepository;
beforeAll(async () => {
  service = await startTestService();
  shop = await newRepository(path.join(service.folder, 'shop'), {
    'total.txt': '1\n2\n3\n',
    'src/app.js': 'ok\n',
    '.gitignore': 'build/\n',
    'logo.bin': Buffer.from([0, 1, 2, 255]),
  });
});

async function start(steps: string, repository: object, more: object = {}) {
  const agent_id = await service.agent(steps);
  const body = { agent_id, repository, ...more };
  return service.api<{ run: { id: string; run_number: number; sandbox_id: string }; repository: RunRepository }>(
    'POST',
    `/teams/${service.service.teamId}/runs`,
    body,
  );
}

async function finishedRun(steps: string, repository: object, more: object = {}) {
  const { run } = await start(steps, repository, more);
  await service.until(run.id, 'completed');
  return run;
}

const changes = async (run: string) => (await service.api<{ data: RunChanges }>('GET', `/runs/${run}/sandbox/changes`)).data;
const summary = ({ files }: RunChanges) =>
  files.map(({ change, old_path, path }) => [change, ...(old_path === null ? [] : [old_path]), path]);
const patchOf = async ({ patch_url }: RunChanges) => (await fetch(patch_url as string)).text();
const texts = async (run: string) =>
  (await service.api<{ messages: RunMessage[] }>('GET', `/runs/${run}/messages`)).messages.map(({ text_content }) => text_content);
const workspaceOf = (run: { sandbox_id: string }) => path.join(service.dataDirectory, 'sandboxes', run.sandbox_id, 'workspace');
const minimalSteps = '- say: done';

describe('a run with a repository', () => {
  it('works in a copy on its own branch, and reports its changes as a patch', async () => {
    const { run, repository } = await start(
      `- exec: { run: "git branch --show-current > branch.txt; sed -i s/2/20/ total.txt; mkdir build; touch build/x; rm src/app.js" }`,
      { path: shop.folder },
    );
    expect(repository).toMatchObject({
      kind: 'path',
      source: shop.folder,
      ref: null,
      commit: (await shop.git('rev-parse', 'HEAD')).trim(),
      base_branch: 'main',
      branch: `aops/run-${run.run_number}`,
      uncommitted_files: 0,
      ready: false,
    });
    await service.until(run.id, 'completed');
    const found = await changes(run.id);
    expect(found.repository.ready).toBe(true);
    expect(found).toMatchObject({ total_files: 3, nested_repositories: [] });
    expect(found.files).toEqual([
      {
        path: 'branch.txt',
        change: 'added',
        old_path: null,
        size_before: null,
        size_after: repository.branch.length + 1,
        mode_before: null,
        mode_after: '100644',
        lines_added: 1,
        lines_removed: 0,
      },
      expect.objectContaining({
        path: 'src/app.js',
        change: 'removed',
        size_before: 3,
        size_after: null,
        lines_added: 0,
        lines_removed: 1,
      }),
      expect.objectContaining({ path: 'total.txt', change: 'changed', size_before: 6, size_after: 7, lines_added: 1, lines_removed: 1 }),
    ]);
    const patch = await patchOf(found);
    expect(patch).toHaveLength(found.patch_size);
    expect(patch).toContain(`\n@@ -1,3 +1,3 @@\n 1\n-2\n+20\n 3\n`);
    expect(patch).toContain(`+${repository.branch}\n`);
    expect((await texts(run.id))[0]).toBe(
      `Checked out main of ${shop.folder} (${repository.commit?.slice(0, 7)}) on the branch ${repository.branch}: 4 files.`,
    );
  });

  it('leaves every file of the source unchanged', async () => {
    const before = await treeOf(shop.folder);
    await finishedRun('- exec: { run: "git commit -qam x; echo y > total.txt; git checkout -q -b other; git tag t" }', {
      path: shop.folder,
    });
    expect(await treeOf(shop.folder)).toEqual(before);
  });

  it('reports what the run committed together with what it did not commit', async () => {
    const run = await finishedRun(
      '- exec: { run: "echo a > a.txt; git add a.txt; git commit -qm a; echo b > b.txt; git config core.hooksPath /tmp" }',
      { path: shop.folder },
    );
    expect(summary(await changes(run.id))).toEqual([
      ['added', 'a.txt'],
      ['added', 'b.txt'],
    ]);
  });

  it('reports renamed, binary, executable, and linked files', async () => {
    const run = await finishedRun(
      `- exec: { run: "git mv src/app.js src/main.js; printf '\\\\000x' > logo.bin; chmod +x total.txt; ln -s /etc/passwd link" }`,
      { path: shop.folder },
    );
    const found = await changes(run.id);
    expect(summary(found)).toEqual([
      ['added', 'link'],
      ['changed', 'logo.bin'],
      ['renamed', 'src/app.js', 'src/main.js'],
      ['changed', 'total.txt'],
    ]);
    const [link, logo, , total] = found.files;
    expect(link).toMatchObject({ mode_after: '120000', size_after: '/etc/passwd'.length });
    expect(logo).toMatchObject({ lines_added: null, lines_removed: null, size_before: 4, size_after: 2 });
    expect(total).toMatchObject({ mode_before: '100644', mode_after: '100755' });
    // The target of the link, not its content.
    expect(await patchOf(found)).toContain('+/etc/passwd\n');
  });

  it('continues in the same workspace with the next turn', async () => {
    const run = await finishedRun('- exec: { run: "echo x >> log.txt" }', { path: shop.folder });
    await service.api('POST', `/runs/${run.id}/messages`, { message: 'again' });
    await service.until(run.id, 'completed');
    expect(await readFile(path.join(workspaceOf(run), 'log.txt'), 'utf8')).toBe('x\nx\n');
    expect(summary(await changes(run.id))).toEqual([['added', 'log.txt']]);
  });

  it('has no changes at first, and no patch', async () => {
    const run = await finishedRun(minimalSteps, { path: shop.folder });
    expect(await changes(run.id)).toMatchObject({ files: [], total_files: 0, patch_url: null, patch_size: 0 });
  });

  it('starts from a branch, a tag, or a commit', async () => {
    const source = await newRepository(path.join(service.folder, 'refs'), { 'a.txt': 'first' });
    const first = (await source.git('rev-parse', 'HEAD')).trim();
    await source.git('tag', '--annotate', '--message', 'v1', 'v1');
    await source.git('checkout', '--quiet', '-b', 'next/one');
    const second = await source.commit('Second', { 'a.txt': 'second' });
    await source.git('checkout', '--quiet', 'main');
    for (const [ref, commit, branch] of [
      ['next/one', second, 'next/one'],
      ['v1', first, null],
      [first.slice(0, 10), first, null],
      ['next/one~1', first, null],
    ] as const) {
      const { run, repository } = await start(minimalSteps, { path: source.folder, ref });
      expect(repository).toMatchObject({ ref, commit, base_branch: branch });
      await service.until(run.id, 'completed');
      expect(await readFile(path.join(workspaceOf(run), 'a.txt'), 'utf8')).toBe(commit === first ? 'first' : 'second');
    }
  });

  it('includes a commit that no branch contains, such as that of git stash create', async () => {
    const source = await newRepository(path.join(service.folder, 'stashed'), { 'a.txt': 'a' });
    await source.write({ 'a.txt': 'work in progress' });
    const ref = (await source.git('stash', 'create')).trim();
    const { run, repository } = await start(minimalSteps, { path: source.folder, ref });
    expect(repository.uncommitted_files).toBe(0);
    await service.until(run.id, 'completed');
    expect(await readFile(path.join(workspaceOf(run), 'a.txt'), 'utf8')).toBe('work in progress');
    expect((await texts(run.id))[0]).toContain(ref);
  });

  it('says that uncommitted work is not included', async () => {
    const source = await newRepository(path.join(service.folder, 'dirty'), { 'a.txt': 'a' });
    await source.write({ 'a.txt': 'changed', 'new.txt': 'new' });
    const { run, repository } = await start(minimalSteps, { path: source.folder });
    expect(repository.uncommitted_files).toBe(2);
    await service.until(run.id, 'completed');
    expect(await readFile(path.join(workspaceOf(run), 'a.txt'), 'utf8')).toBe('a');
    expect((await texts(run.id))[0]).toContain('\nUncommitted work in 2 files is not included.');
  });

  it('accepts a folder inside the repository, a bare repository, and a worktree', async () => {
    const source = await newRepository(path.join(service.folder, 'forms'), { 'sub/a.txt': 'a' });
    await source.git('clone', '--quiet', '--bare', '.', '../forms.git');
    await source.git('worktree', 'add', '--quiet', '../forms-tree', '-b', 'tree');
    for (const folder of ['forms/sub', 'forms.git', 'forms-tree']) {
      const run = await finishedRun(minimalSteps, { path: path.join(service.folder, folder) });
      expect(await readdir(path.join(workspaceOf(run), 'sub'))).toEqual(['a.txt']);
    }
  });

  it('says what is missing with submodules, Git LFS, and a shallow clone', async () => {
    const part = await newRepository(path.join(service.folder, 'part'), { 'p.txt': 'p' });
    const whole = await newRepository(path.join(service.folder, 'whole'), {
      '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n',
      'a.txt': 'a',
    });
    await whole.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', part.folder, 'libs/part');
    await whole.commit('Add a submodule');
    await whole.git('clone', '--quiet', '--depth=1', `file://${whole.folder}`, '../shallow');
    const run = await finishedRun('- exec: { run: "git log --oneline | wc -l > count" }', { path: path.join(service.folder, 'shallow') });
    expect((await texts(run.id))[0]).toMatch(
      /: 3 files\.\nSubmodules are not checked out, so their folders are empty: libs\/part\.\nFiles in Git LFS contain pointers instead of their content\.\nThe history is incomplete, because the source is a shallow clone\.$/,
    );
    expect(await readdir(path.join(workspaceOf(run), 'libs/part'))).toEqual([]);
    expect((await readFile(path.join(workspaceOf(run), 'count'), 'utf8')).trim()).toBe('1');
    expect(summary(await changes(run.id))).toEqual([['added', 'count']]);
  });

  it('names ten submodules, and says how many more there are', async () => {
    const whole = await newRepository(path.join(service.folder, 'many-parts'), { 'a.txt': 'a' });
    const names = Array.from({ length: 12 }, (_, index) => `libs/part-${String(index).padStart(2, '0')}`);
    for (const name of names) {
      await whole.git('config', '-f', '.gitmodules', `submodule.${name}.path`, name);
      await whole.git('config', '-f', '.gitmodules', `submodule.${name}.url`, 'https://git.example/part.git');
      await whole.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},${name}`);
    }
    await whole.git('add', '.gitmodules');
    await whole.git('commit', '--quiet', '-m', 'Add submodules');
    const run = await finishedRun(minimalSteps, { path: whole.folder });
    expect((await texts(run.id))[0]).toContain(`their folders are empty: ${names.slice(0, 10).join(', ')}, and 2 more.`);
  });

  it('hides the folder of the repository in a listing of the workspace', async () => {
    const run = await finishedRun(minimalSteps, { path: shop.folder });
    const names = async (folder: string) =>
      (
        await service.api<{ data: { entries: { name: string }[] } }>('GET', `/runs/${run.id}/sandbox/files?path=${folder}`)
      ).data.entries.map(({ name }) => name);
    expect(await names('/workspace')).toEqual(['.gitignore', 'logo.bin', 'src', 'total.txt']);
    expect(await names('/workspace/.git')).toContain('HEAD');
  });
});

describe('a repository next to uploaded files', () => {
  const stageFiles = async (files: Record<string, string>): Promise<string> => {
    const sandbox = (await service.cli(['sandbox', 'create', '-o', 'id'])).stdout.trim();
    for (const [name, content] of Object.entries(files)) {
      const file = await service.file(`uploads/${name}`, content);
      expect(
        await service.cli(['sandbox', 'push', file, '--sandbox', sandbox, '--to', path.posix.join('/workspace', path.dirname(name))]),
      ).toMatchObject({ code: 0 });
    }
    return sandbox;
  };

  it('does not report uploaded files as changes, whatever their names', async () => {
    const sandbox_id = await stageFiles({ 'spec [1]*.md': 'x', 'data/#in.csv': 'y' });
    const run = await finishedRun(
      `- exec: { run: "git status --porcelain > status; echo z >> 'data/#in.csv'" }`,
      { path: shop.folder },
      { sandbox_id },
    );
    expect(await readFile(path.join(workspaceOf(run), 'status'), 'utf8')).toBe('?? status\n');
    expect(summary(await changes(run.id))).toEqual([['added', 'status']]);
  });

  it('fails if the repository contains a file of the same name, which stays unchanged', async () => {
    const sandbox_id = await stageFiles({ 'src/app.js': 'mine' });
    const { run } = await start(minimalSteps, { path: shop.folder }, { sandbox_id });
    const { run: failedRun } = await service.until(run.id, 'failed');
    expect(failedRun.error).toBe(
      'The sandbox already contains src/app.js, which the repository contains too. Start the run without that file, or upload it under another name.',
    );
    expect(await readFile(path.join(workspaceOf(run), 'src/app.js'), 'utf8')).toBe('mine');
  });

  it('refuses another repository for a sandbox that has one, and continues to work in it without one', async () => {
    const first = await finishedRun('- exec: { run: "echo 1 > one.txt" }', { path: shop.folder });
    await expect(start(minimalSteps, { path: shop.folder }, { sandbox_id: first.sandbox_id })).rejects.toThrow(
      '409 {"error":"sandbox_has_repository"',
    );
    const agent_id = await service.agent('- exec: { run: "echo 2 > two.txt" }');
    const { run } = await service.api<{ run: { id: string } }>('POST', `/teams/${service.service.teamId}/runs`, {
      agent_id,
      sandbox_id: first.sandbox_id,
    });
    await service.until(run.id, 'completed');
    expect(summary(await changes(run.id))).toEqual([
      ['added', 'one.txt'],
      ['added', 'two.txt'],
    ]);
  });
});

describe('an unusable repository', () => {
  it.each([
    ['a folder that does not exist', () => ({ path: '/nonexistent/shop' }), '400 {"error":"repository_not_found"'],
    ['a file', () => ({ path: path.join(shop.folder, 'total.txt') }), '400 {"error":"not_a_repository"'],
    ['a folder without a repository', () => ({ path: '/' }), '400 {"error":"not_a_repository"'],
    ['a relative path', () => ({ path: 'shop' }), 'repository.path must be an absolute path'],
    ['neither a path nor a URL', () => ({}), 'repository must have either path or url'],
    ['both a path and a URL', () => ({ path: '/a', url: 'https://example.com/a' }), 'repository must have either path or url'],
    ['a ref that does not exist', () => ({ path: shop.folder, ref: 'nowhere' }), '400 {"error":"ref_not_found"'],
    ['a ref that is an option of git', () => ({ path: shop.folder, ref: '--upload-pack=touch' }), '"path":"repository.ref"'],
    ['a ref that is a file', () => ({ path: shop.folder, ref: 'HEAD:total.txt' }), '400 {"error":"ref_not_found"'],
  ] as const)('is refused: %s', async (_, repository, message) => {
    await expect(start(minimalSteps, repository())).rejects.toThrow(message);
  });

  it('is refused without a commit', async () => {
    const empty = await newRepository(path.join(service.folder, 'empty'));
    await expect(start(minimalSteps, { path: empty.folder })).rejects.toThrow('has no commit yet. Create the first one with `git commit`.');
  });

  it('executes nothing that the repository configures', async () => {
    const trap = await newRepository(path.join(service.folder, 'trap'), { '.gitattributes': '* filter=evil\n', 'a.txt': 'a' });
    const mark = path.join(service.folder, 'executed');
    const program = await service.file('trap.sh', `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat < /dev/null\n`);
    await chmod(program, 0o700);
    for (const [name, value] of Object.entries({
      'core.fsmonitor': program,
      'core.sshCommand': program,
      'filter.evil.clean': program,
      'filter.evil.smudge': program,
      'filter.evil.required': 'true',
      'uploadpack.packObjectsHook': program,
      'core.hooksPath': path.dirname(program),
    }))
      await trap.git('config', name, value);
    await trap.write({ 'a.txt': 'b' });
    // Git itself executes them, so the trap works.
    await trap.git('status');
    expect(await readFile(mark, 'utf8')).toContain('trap.sh');
    await rm(mark);
    const { run, repository } = await start(minimalSteps, { path: trap.folder });
    expect(repository.uncommitted_files).toBe(1);
    await service.until(run.id, 'completed');
    await changes(run.id);
    await expect(readFile(mark)).rejects.toThrow('ENOENT');
  });

  it('is refused for a token that is not that of the owner, whatever the folder is', async () => {
    const { secret } = await service.api<{ secret: string }>('POST', '/local/tokens', { name: 'full access' });
    const agent_id = await service.agent(minimalSteps);
    for (const folder of [shop.folder, '/nonexistent']) {
      const response = await fetch(`${service.service.url}/v2/teams/${service.service.teamId}/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': folder },
        body: JSON.stringify({ agent_id, repository: { path: folder } }),
      });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({
        error: 'owner_only',
        message: expect.stringContaining('Use the URL of the repository'),
      });
    }
  });
});

describe('the changes of a run that tampers with its repository', () => {
  it('executes nothing that the run configured', async () => {
    const mark = path.join(service.folder, 'tampered');
    const run = await finishedRun(
      `- exec: { run: "git config core.fsmonitor 'touch ${mark};'; git config diff.external 'touch ${mark};'; git config filter.x.clean 'touch ${mark};'; git config diff.x.textconv 'touch ${mark};'; echo '* filter=x diff=x' > .gitattributes; echo 1 > total.txt; mkdir -p sub; cd sub; git init -q .; git config core.fsmonitor 'touch ${mark};'; touch inner" }`,
      { path: shop.folder },
    );
    await rm(mark, { force: true });
    const found = await changes(run.id);
    expect(summary(found)).toEqual([
      ['added', '.gitattributes'],
      ['changed', 'total.txt'],
    ]);
    expect(found.nested_repositories).toEqual(['sub']);
    await expect(readFile(mark)).rejects.toThrow('ENOENT');
  });

  it('does not look behind a link that replaced a folder', async () => {
    const outside = path.join(service.folder, 'outside');
    await mkdir(outside);
    await service.file('outside/app.js', 'SECRET');
    const run = await finishedRun(`- exec: { run: "rm -r src; ln -s ${outside} src" }`, { path: shop.folder });
    const found = await changes(run.id);
    expect(summary(found)).toEqual([
      ['added', 'src'],
      ['removed', 'src/app.js'],
    ]);
    expect(await patchOf(found)).not.toContain('SECRET');
  });

  it('says so if the history is gone', async () => {
    const run = await finishedRun('- exec: { run: "rm -rf .git" }', { path: shop.folder });
    await expect(changes(run.id)).rejects.toThrow('409 {"error":"repository_damaged"');
  });

  it('lists files with any name, and replaces a file with a folder', async () => {
    const run = await finishedRun(
      `- exec: { run: "touch -- -n 'a b' \\"$(printf 'tab\\\\there')\\" \\"$(printf 'line\\\\nfeed')\\" \\"$(printf '\\\\303\\\\244')\\"; rm total.txt; mkdir total.txt; touch total.txt/x" }`,
      { path: shop.folder },
    );
    expect(summary(await changes(run.id))).toEqual([
      ['added', '-n'],
      ['added', 'a b'],
      ['added', 'line\nfeed'],
      ['added', 'tab\there'],
      ['removed', 'total.txt'],
      ['added', 'total.txt/x'],
      ['added', 'ä'],
    ]);
  });
});

describe('a run without a repository', () => {
  it('has no changes to report', async () => {
    const run = await service.run(minimalSteps);
    await service.until(run, 'completed');
    await expect(changes(run)).rejects.toThrow('404 {"error":"changes_not_found"');
  });
});

it('keeps ten concurrent runs on one repository apart', async () => {
  const source = await newRepository(path.join(service.folder, 'busy'), { 'count.txt': '0\n', 'link-target': 'x' });
  await symlink('link-target', path.join(source.folder, 'link'));
  await source.commit('Add a link');
  const before = await treeOf(source.folder);
  const numbers = Array.from({ length: 10 }, (_, index) => index + 1);
  const runs = await Promise.all(
    numbers.map(async (number) => ({
      number,
      run: await finishedRun(
        `- exec: { run: "echo ${number} > count.txt; git add -A; git commit -qm ${number}; echo ${number} > own-${number}.txt; git branch -a > branches" }`,
        { path: source.folder },
      ),
    })),
  );
  for (const { number, run } of runs) {
    const found = await changes(run.id);
    expect(summary(found)).toEqual([
      ['added', 'branches'],
      ['changed', 'count.txt'],
      ['added', `own-${number}.txt`],
    ]);
    expect(await patchOf(found)).toContain(`-0\n+${number}\n`);
    expect(await readFile(path.join(workspaceOf(run), 'branches'), 'utf8')).toBe(`* aops/run-${run.run_number}\n  remotes/origin/main\n`);
  }
  expect(await treeOf(source.folder)).toEqual(before);
});
