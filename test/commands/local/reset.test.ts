/** `local reset` deletes the data of a service, and nothing else, after a confirmation. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../src/service/service.ts';
import { CliTerminal } from '../../support/cli-terminal.ts';
import { runCli } from '../../support/run-cli.ts';
import { keys } from '../../support/screen.ts';
import { folderEnv } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

/** The data of a service that has ended, next to files of the user. */
async function dataWithOtherFiles() {
  const folder = await temporaryDirectory();
  const data = path.join(folder, 'data');
  const service = await startService({ dataDirectory: data, exec: 'off' });
  await service.close();
  for (const name of ['notes.txt', 'sandboxes/notes.txt', 'files/notes.txt', 'aops.db.mine']) {
    await mkdir(path.dirname(path.join(data, name)), { recursive: true });
    await writeFile(path.join(data, name), 'mine');
  }
  const names = async (): Promise<string[]> => (await readdir(data, { recursive: true })).sort();
  return { data, env: folderEnv(folder), names };
}

type ErrorOutput = { error: { code: string } };

const ownFiles = ['aops.db.mine', 'files', 'files/notes.txt', 'notes.txt', 'sandboxes', 'sandboxes/notes.txt'];

describe('local reset', () => {
  it('deletes nothing without a confirmation, which Enter alone does not give', async () => {
    const { data, env, names } = await dataWithOtherFiles();
    const before = await names();
    const argv = ['local', 'reset', '--data-dir', data];
    expect(await runCli(argv, { env, stdin: 'y\n' })).toMatchObject({ code: 2, stderr: expect.stringContaining('Pass --yes to confirm.') });
    for (const answer of [keys.enter, 'n\r']) {
      const terminal = new CliTerminal(argv, { env });
      await terminal.shows(`Delete all agents, runs, and files in ${data}? (y/N)`);
      terminal.type(answer);
      expect((await terminal.end).code).toBe(2);
    }
    expect(await names()).toEqual(before);
  });

  it('deletes what the service has created, and keeps other files', async () => {
    const { data, env, names } = await dataWithOtherFiles();
    expect(await names()).toContain('aops.db');
    const terminal = new CliTerminal(['local', 'reset', '--data-dir', data], { env });
    await terminal.shows('(y/N)');
    terminal.type('y\r');
    await terminal.shows(`Other files in ${data} were kept, such as aops.db.mine.`);
    expect(await terminal.end).toMatchObject({ code: 0, stdout: `Deleted the data in ${data}.\n` });
    expect(await names()).toEqual(ownFiles);
  });

  it('can run at the same time as others: all agree that the data is gone, or that it is in use', async () => {
    const folder = await temporaryDirectory();
    const data = path.join(folder, 'data');
    const service = await startService({ dataDirectory: data, exec: 'off' });
    await service.close();
    const reset = () => runCli(['local', 'reset', '--data-dir', data, '--yes', '--json'], { env: folderEnv(folder) });
    const results = await Promise.all([reset(), reset(), reset()]);
    const outcomes = results.map(({ code, stderr }) => (code === 0 ? 'deleted' : (JSON.parse(stderr) as ErrorOutput).error.code));
    expect(outcomes).toContain('deleted');
    expect(outcomes.filter((outcome) => outcome !== 'deleted' && outcome !== 'data_directory_in_use')).toEqual([]);
    expect(existsSync(data)).toBe(false);
  });

  it('refuses a folder without data of a service, and reports that nothing exists', async () => {
    const folder = await temporaryDirectory();
    const env = folderEnv(folder);
    await writeFile(path.join(folder, 'letter.txt'), 'mine');
    expect(await runCli(['local', 'reset', '--data-dir', folder, '--yes'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${folder} is not an aops data directory; nothing was deleted.`),
    });
    expect(await readdir(folder)).toContain('letter.txt');
    const missing = path.join(folder, 'missing');
    expect(await runCli(['local', 'reset', '--data-dir', missing], { env })).toMatchObject({
      code: 0,
      stdout: `There is no data in ${missing}.\n`,
    });
  });

  it('refuses the data of a running service', async () => {
    const folder = await temporaryDirectory();
    const data = path.join(folder, 'data');
    const service = await startService({ dataDirectory: data, exec: 'off' });
    try {
      const result = await runCli(['local', 'reset', '--data-dir', data, '--yes'], { env: folderEnv(folder) });
      expect(result).toMatchObject({ code: 6, stdout: '' });
      expect(await readdir(data)).toContain('aops.db');
    } finally {
      await service.close();
    }
  });
});
