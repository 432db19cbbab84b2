/** Work on a repository with the real program: concurrent runs, a backup, and their changes brought home. */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { treeOf } from '../support/folder-tree.ts';
import { Machine } from '../support/machine.ts';
import { gitEnvironment, newRepository } from '../support/repository.ts';

it('lets ten concurrent runs work on one repository, survives a restore, and brings their changes home', async () => {
  const machine = await Machine.create();
  Object.assign(machine.env, Object.fromEntries(Object.entries(gitEnvironment).filter(([name]) => name.startsWith('GIT_'))));
  expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
  const shop = await newRepository(path.join(machine.folder, 'shop'), {
    'list.txt': Array.from({ length: 10 }, (_, line) => `${line}\n\n\n\n`).join(''),
  });
  const before = await treeOf(shop.folder);
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  // Each changes its own line, and commits it.
  await Promise.all(
    numbers.map((number) =>
      machine.agent(
        `agent-${number}`,
        `- exec: { run: "sed -i 's/^${number}$/${number} done/' list.txt; git commit -qam ${number}; git branch > branch-${number}.txt" }`,
      ),
    ),
  );
  const runs = await Promise.all(numbers.map((number) => machine.startRun(`agent-${number}`, '--repo', 'shop')));
  for (const run of runs) expect((await machine.here('runs', 'wait', run)).code).toBe(0);
  expect(await treeOf(shop.folder)).toEqual(before);

  const diffs = await Promise.all(runs.map(async (run) => (await machine.here('sandbox', 'diff', run)).stdout));
  for (const [number, diff] of diffs.entries()) {
    expect(diff).toContain(`\n-${number}\n+${number} done\n`);
    expect(diff.match(/ done$/gm)).toHaveLength(1);
  }

  expect((await machine.here('local', 'backup', 'b.tar.gz')).code).toBe(0);
  expect((await machine.here('local', 'down')).code).toBe(0);
  await rm(path.join(machine.folder, 'data'), { recursive: true });
  expect((await machine.aops('local', 'restore', 'b.tar.gz')).code).toBe(0);
  expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
  expect((await machine.here('sandbox', 'diff', runs[3] as string)).stdout).toBe(diffs[3]);

  for (const [number, run] of runs.entries()) {
    const applyResult = await machine.here('sandbox', 'apply', run, '--to', 'shop', '--json');
    expect(applyResult).toMatchObject({ code: 0 });
    await shop.git('commit', '--quiet', '--message', `Apply ${number}`);
  }
  expect(await readFile(path.join(shop.folder, 'list.txt'), 'utf8')).toBe(numbers.map((number) => `${number} done\n\n\n\n`).join(''));
  expect((await shop.git('ls-files')).split('\n')).toHaveLength(12);
});
