/** --notify and --exec in the commands that watch one run. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let quick: string;
let failing: string;
beforeAll(async () => {
  service = await startTestService();
  quick = await service.agent('- say: hello', 'quick');
  failing = await service.agent('- fail: "No disk"', 'failing');
});

const terminal = { tty: true, env: { TERM: 'foot', NO_COLOR: '1' } };
const notification = (text: string): string => `\u001b]777;notify;aops;${text}\u0007\u0007`;

describe('--notify', () => {
  it('reports that a run has ended', async () => {
    const result = await service.cli(['runs', 'start', '--agent', quick, '--watch', '--notify'], terminal);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(notification(`Run #${await service.countRuns()} completed`));
    expect(result.stdout).not.toContain('\u0007');
  });

  it('reports that a run has failed, also while it is only waited for', async () => {
    const run = await service.start(failing);
    const { run: ended } = await service.until(run, 'failed');
    const result = await service.cli(['runs', 'wait', run, '--notify'], terminal);
    expect(result.code).toBe(10);
    expect(result.stderr).toContain(notification(`Run #${ended.run_number} failed: No disk`));
  });

  it('reports that a run needs an answer', async () => {
    const run = await service.waiting('- approve: { id: pay, title: "Pay?" }');
    const result = await service.cli(['runs', 'watch', run, '--notify'], terminal);
    expect(result.code).toBe(12);
    expect(result.stderr).toContain(notification(`Run ${run.slice(0, 8)} needs an answer: Pay?`));
  });

  it('can be made the default, and turned off for one command', async () => {
    const config = { AOPS_CONFIG_DIR: `${service.folder}/notify-config` };
    expect((await service.cli(['config', 'set', 'notify', 'on'], { env: config })).code).toBe(0);
    const run = await service.start(quick);
    const wait = async (...flags: string[]): Promise<string> =>
      (await service.cli(['runs', 'wait', run, ...flags], { ...terminal, env: { ...terminal.env, ...config } })).stderr;
    expect(await wait()).toContain(']777;notify;');
    expect(await wait('--no-notify')).not.toContain('\u0007');
    // Off a terminal, a default is silently ignored.
    expect((await service.cli(['runs', 'wait', run], { env: config })).stderr).toBe('');
  });

  it('has no effect without a terminal, and says so', async () => {
    const run = await service.start(quick);
    const result = await service.cli(['runs', 'wait', run, '--notify']);
    expect(result).toMatchObject({ code: 0, stderr: '--notify has no effect without a terminal or in CI.\n' });
  });

  it('requires --watch when a run is started', async () => {
    const before = await service.countRuns();
    for (const flags of [['--notify'], ['--exec', 'true']]) {
      const result = await service.cli(['runs', 'start', '--agent', quick, ...flags]);
      expect(result).toMatchObject({ code: 2, stdout: '', stderr: `error: ${flags[0]} requires --watch.\n` });
    }
    expect(await service.countRuns()).toBe(before);
  });
});

describe('--exec', () => {
  it('runs the command with the event that -o ndjson prints', async () => {
    const run = await service.start(quick);
    const result = await service.cli([
      'runs',
      'watch',
      run,
      '-o',
      'ndjson',
      '--exec',
      'cat > event.json; echo "$AOPS_EVENT $AOPS_RUN_STATUS"',
    ]);
    expect(result).toMatchObject({ code: 0, stderr: 'run.finished completed\n' });
    const lastLine = result.stdout.trimEnd().split('\n').at(-1);
    expect(await service.read('event.json')).toBe(`${lastLine}\n`);
  });

  it('runs the command with variables for the same profile, team, and service, but without the credential', async () => {
    const { url, teamId } = service.service;
    const profiles = { mine: { base_url: url, team_id: teamId }, other: { base_url: 'https://acme.example', team_id: teamId } };
    await service.file('exec-config/config.json', JSON.stringify({ current_profile: 'other', profiles }));
    const env = { AOPS_CONFIG_DIR: `${service.folder}/exec-config`, AOPS_BASE_URL: '', AOPS_TEAM_ID: '' };
    const run = await service.start(quick);
    const command = 'echo "$AOPS_PROFILE $AOPS_TEAM_ID $AOPS_BASE_URL $AOPS_API_KEY."';
    for (const [flags, variables] of [
      [['--profile', 'mine'], 'mine   .'],
      [['--profile', 'other', '--base-url', url], `other  ${url} .`],
      [['--profile', 'mine', '--team', teamId], `mine ${teamId}  .`],
    ] as const)
      expect(await service.cli(['runs', 'wait', run, ...flags, '--exec', command], { env })).toMatchObject({
        code: 0,
        stderr: `${variables}\n`,
      });
  });

  it('reports a failure of the command, which changes neither the watch nor its exit code', async () => {
    const run = await service.start(quick);
    const result = await service.cli(['runs', 'wait', run, '--exec', 'echo "\u001b[31mno" >&2; exit 7']);
    expect(result.code).toBe(0);
    expect(result.stderr).toBe(`^[[31mno\nThe command of --exec failed (exit code 7) (run.finished, run ${run}).\n`);
  });

  it('runs the command for each of several runs that are waited for', async () => {
    const runs = [await service.start(quick), await service.start(quick)];
    const result = await service.cli(['runs', 'wait', ...runs, '--exec', 'echo "$AOPS_EVENT $AOPS_RUN_ID"']);
    expect(result.code).toBe(0);
    const lines = result.stderr.split('\n').filter((line) => line.startsWith('run.finished'));
    expect(lines.toSorted()).toEqual(runs.map((run) => `run.finished ${run}`).toSorted());
  });

  it('ends with Ctrl-C', async () => {
    const run = await service.waiting('- approve: { id: pay, title: "Pay?" }');
    let interrupt: (() => void) | undefined;
    const result = await service.cli(['runs', 'watch', run, '--on-request', 'wait', '--exec', 'echo $AOPS_EVENT; sleep 1000'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (_stdout, stderr) => {
        if (stderr !== 'human_request.pending\n') return;
        // A second Ctrl-C would kill this process.
        interrupt?.();
        interrupt = undefined;
      },
    });
    expect(result.code).toBe(130);
    expect(result.stderr).toMatch(/^human_request\.pending\nDetached\. .*\n$/);
  });
});
