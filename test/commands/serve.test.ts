/** The service in the foreground, and what keeps it from starting. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { takenPort } from '../support/ports.ts';
import { runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('aops serve', () => {
  it('answers until Ctrl-C, and says where', async () => {
    const folder = await temporaryFolder();
    let interrupt: (() => void) | undefined;
    let asked: Promise<number> | undefined;
    const served = await runCli(['serve', '--data-dir', path.join(folder, 'own')], {
      env: folderEnv(folder),
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (_, stderr) => {
        const [, url] = /^Listening on (http:\/\/127\.0\.0\.1:\d+); team [0-9a-f-]{36}; .*commands are off$/m.exec(stderr) ?? [];
        if (url === undefined || asked) return;
        asked = fetch(`${url}/v2/teams/x`).then(({ status }) => status);
        void asked.finally(() => interrupt?.());
      },
    });
    expect(await asked).toBe(401);
    expect(served).toMatchObject({ code: 0, stdout: '' });
  });

  it('does not share a port', async () => {
    const port = await takenPort();
    const folder = await temporaryFolder();
    for (const format of [[], ['--json']]) {
      const refused = await runCli(['serve', '--port', String(port), '--data-dir', path.join(folder, 'own'), ...format], {
        env: folderEnv(folder),
      });
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain(String(port));
      if (format.length > 0)
        expect(JSON.parse(refused.stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ error: { code: 'port_in_use', exit: 2 } });
      else expect(refused.stderr).toMatch(/^hint: .*--port/m);
    }
  });

  it('does not share a data directory', async () => {
    const service = await startTestService();
    const refused = await service.cli(['serve', '--data-dir', service.dataDirectory, '--json']);
    expect(refused).toMatchObject({ code: 6, stdout: '' });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'data_directory_in_use', exit: 6 } });
    expect((await service.cli(['agents', 'list'])).code).toBe(0);
  });

  it('refuses plans that are none, and those of teams that there are not', async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'plan.yaml'), 'maxConcurrentRuns: 2');
    await writeFile(path.join(folder, 'bad.yaml'), 'maxConcurrentRuns: none');
    const serve = (...argv: string[]) =>
      runCli(['serve', '--data-dir', path.join(folder, 'own'), ...argv], { env: folderEnv(folder), cwd: folder });
    const bad = await serve('--plan', 'bad.yaml');
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain('bad.yaml is no plan: maxConcurrentRuns must be a whole number from 1 to 10000, not "none".');
    const missing = await serve('--plan', 'finance=gone.yaml');
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain('gone.yaml cannot be read: there is no such file.');
    const unknown = await serve('--plan', 'plan.yaml', '--plan', 'finance=plan.yaml');
    expect(unknown.code).toBe(3);
    expect(unknown.stderr).toContain('There is no team "finance" to give a plan to.');
  });

  it.each([
    ['a port that is none', ['--port', '70000'], '--port takes a whole number, 0 to 65535'],
    ['an unknown way to execute', ['--exec', 'moon'], '--exec takes host or off'],
  ])('refuses %s', async (_, argv, message) => {
    const folder = await temporaryFolder();
    const refused = await runCli(['serve', ...argv], { env: folderEnv(folder) });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(message);
  });
});
