/** What GitHub Actions shows of runs, and that text from agents is never a command for it. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let env: Record<string, string>;
let summary: string;
beforeEach(async () => {
  summary = path.join(await temporaryFolder(), 'summary.md');
  await writeFile(summary, '');
  env = { GITHUB_ACTIONS: 'true', CI: 'true', GITHUB_STEP_SUMMARY: summary };
});

/** The lines that the runner would take for commands. */
const commands = (text: string): string[] =>
  text.split(/\r\n|[\r\n]/).filter((line) => line.trim().startsWith('::') || line.includes('##['));

describe('in GitHub Actions', () => {
  it('a failed run becomes an annotation and a part of the summary', async () => {
    const run = await service.run('- say: hi\n- fail: "100 %: a | b\\n::error::injected <b>*"');
    const watched = await service.cli(['runs', 'watch', run], { env });
    expect(watched.code).toBe(10);
    expect(commands(watched.stderr)).toEqual([
      `::error title=Run #1 failed::Run ${run} failed: 100 %25: a | b%0A::error::injected <b>*%0ASee what it did with \`aops runs messages ${run}\`.`,
    ]);
    expect(commands(watched.stdout)).toEqual([]);
    const text = await readFile(summary, 'utf8');
    expect(text).toContain('### :x: Run ');
    expect(text).toContain('| Error | 100 &#37;&#58; a &#124; b<br>&#58;&#58;error&#58;&#58;injected &#60;b&#62;&#42; |');
    expect(text.split('\n').filter((line) => line.startsWith('|'))).toHaveLength(6);
  });

  it('a waiting run becomes a warning that says how to answer', async () => {
    const run = await service.run('- approve: { id: ok, title: "Pay: 3, now?" }');
    const started = await service.cli(['runs', 'watch', run, '--team', service.service.teamId], { env });
    expect(started.code).toBe(12);
    expect(commands(started.stderr)).toEqual([
      expect.stringMatching(
        /^::warning title=Run \S+ is waiting for a person::.*Pay: 3, now\?.*%0AAnswer with `aops --team \S+ runs respond/,
      ),
    ]);
    expect(await readFile(summary, 'utf8')).toContain('| Request | Pay&#58; 3&#44; now&#63; |');
  });

  it('a completed run is only in the summary, of wait and of start too', async () => {
    const run = await service.run('- say: hi');
    const waited = await service.cli(['runs', 'wait', run], { env });
    expect({ code: waited.code, commands: commands(waited.stderr) }).toEqual({ code: 0, commands: [] });
    await service.agent('- say: hi', 'greeter');
    expect((await service.cli(['runs', 'start', '--agent', 'greeter', '--watch'], { env })).code).toBe(0);
    expect((await readFile(summary, 'utf8')).match(/### :white_check_mark: Run \S+ completed/g)).toHaveLength(2);
  });

  it('text of an agent is never a command', async () => {
    const run = await service.run('- say: "::add-mask::x\\n  ::error::y\\nz ##[error]w"', '::stop-commands::t');
    for (const argv of [
      ['runs', 'watch', run],
      ['runs', 'messages', run],
      ['runs', 'list'],
      ['runs', 'watch', run, '-o', 'ndjson'],
      ['runs', 'messages', run, '--json'],
    ]) {
      const { stdout, stderr } = await service.cli(argv, { env: { ...env, AOPS_GITHUB: 'off' } });
      expect(commands(stdout + stderr), argv.join(' ')).toEqual([]);
      if (argv.includes('--json')) expect(stdout).toContain('##\\u005berror]w');
    }
  });

  it('can be turned off, and is off elsewhere', async () => {
    const run = await service.run('- fail: no');
    const others: Record<string, string>[] = [{ AOPS_GITHUB: 'off' }, { GITHUB_ACTIONS: '' }];
    for (const other of others) {
      const watched = await service.cli(['runs', 'watch', run], { env: { ...env, ...other } });
      expect({ code: watched.code, commands: commands(watched.stderr) }).toEqual({ code: 10, commands: [] });
    }
    expect(await readFile(summary, 'utf8')).toBe('');
  });

  it('a summary that cannot be written changes nothing else', async () => {
    const run = await service.run('- say: hi');
    const watched = await service.cli(['runs', 'watch', run], { env: { ...env, GITHUB_STEP_SUMMARY: path.join(summary, 'missing') } });
    expect(watched).toMatchObject({ code: 0, stderr: expect.stringContaining('The summary of the job cannot be written') });
  });
});
