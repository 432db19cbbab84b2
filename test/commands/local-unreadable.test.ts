/** Files of the local service that exist but cannot be read, such as those of another user, are not reported as missing. */
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** A folder in which `name` is a link to itself, so that no user can read it. */
async function withUnreadable(name: string): Promise<{ file: string; cli: (...argv: string[]) => Promise<CliResult> }> {
  const folder = await temporaryFolder();
  const file = path.join(folder, 'data', name);
  await mkdir(path.dirname(file), { recursive: true });
  await symlink(path.basename(file), file);
  return { file, cli: (...argv) => runCli(argv, { cwd: folder, env: folderEnv(folder) }) };
}

const errorOf = ({ stderr }: CliResult) => (JSON.parse(stderr) as { error: unknown }).error;

describe('an unreadable file', () => {
  it('is reported by every command that reads the state of the service', async () => {
    const { file, cli } = await withUnreadable('local.json');
    for (const command of [['status'], ['down'], ['logs'], ['reset', '--yes'], ['backup', 'x.tar.gz'], ['up']]) {
      const result = await cli('local', ...command, '--json');
      expect(result.code, command.join(' ')).toBe(1);
      expect(errorOf(result)).toMatchObject({ code: 'not_readable', message: `${file} cannot be read (ELOOP).` });
    }
    const { checks } = JSON.parse((await cli('doctor', '--json')).stdout) as { checks: { id: string; status: string; detail: string }[] };
    expect(checks.find(({ id }) => id === 'local service')).toMatchObject({ status: 'fail', detail: expect.stringContaining(file) });
  });

  it('is reported for the data, which is not treated as missing', async () => {
    const { file, cli } = await withUnreadable('local');
    for (const [command, named] of [
      [['status'], path.join(file, 'service.json')],
      [['reset', '--yes'], file],
      [['logs'], path.join(file, 'service.json')],
      [['backup', 'x.tar.gz'], path.join(file, 'service.json')],
    ] as const) {
      const result = await cli('local', ...command, '--json');
      expect(result.code, command.join(' ')).toBe(1);
      expect(errorOf(result)).toMatchObject({ code: 'not_readable', message: `${named} cannot be read (ELOOP).` });
    }
  });

  it('is reported for the log', async () => {
    const { file, cli } = await withUnreadable('local/service.log');
    expect(errorOf(await cli('local', 'logs', '--json'))).toMatchObject({
      code: 'not_readable',
      message: `${file} cannot be read (ELOOP).`,
    });
  });

  it('does not prevent commands from using another data directory', async () => {
    const { cli } = await withUnreadable('local.json');
    expect(await cli('local', 'status', '--data-dir', 'elsewhere')).toMatchObject({ code: 0 });
  });
});
