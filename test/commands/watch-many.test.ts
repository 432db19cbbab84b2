/** Watching several runs without a terminal: prefixed lines, NDJSON, and the worst exit code. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { startTestService, type TestService } from '../support/service.ts';

const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('answers.yaml', 'approvals: { "Pay *": true }\n');
});

/** A step that lasts until the test creates a file in its folder. */
const untilReleased = (name: string): string => `- exec: { run: "until [ -e '${service.folder}/${name}' ]; do sleep 0.05; done" }`;

describe.concurrent('runs watch RUN RUN', () => {
  it('prefixes each line with the agent and number of its run, and ends with a summary', async () => {
    const first = await service.start(await service.agent('- say: one\n- say: two', 'many-a'));
    const second = await service.start(await service.agent('- say: three', 'many-b'));
    const result = await service.cli(['runs', 'watch', first, second]);
    expect(result).toMatchObject({ code: 0 });
    const lines = result.stdout.trimEnd().split('\n');
    const of = (agent: string) => lines.filter((line) => line.startsWith(agent)).map((line) => line.replace(/^[^|]*\| /, ''));
    expect(lines.every((line) => /^many-[ab]#\d+ +\| /.test(line))).toBe(true);
    expect(of('many-a').filter((line) => !line.startsWith('['))).toEqual(['one', 'two', expect.stringMatching(/^completed after/)]);
    expect(of('many-b')).toContain('three');
    expect(result.stderr).toBe('2 runs: 2 completed\n');
  });

  it('aligns the lines once it knows the longest name', async () => {
    const first = await service.start(await service.agent(untilReleased('align'), 'x'));
    const second = await service.start(await service.agent('- say: one', 'with-a-long-name'));
    const result = await service.cli(['runs', 'watch', first, second], {
      onOutput: (stdout) => {
        if (stdout.includes('completed after')) void service.file('align', '');
      },
    });
    const ends = result.stdout.split('\n').filter((line) => line.includes('completed after'));
    expect(ends).toEqual([expect.stringMatching(/^with-a-long-name#\d+ /), expect.stringMatching(/^x#\d+ /)]);
    expect(new Set(ends.map((line) => line.indexOf(' | ')))).toHaveProperty('size', 1);
  });

  it('ends at a message that was waited for, whichever run it is from', async () => {
    const waiting = await service.waiting(pay);
    const talking = await service.run('- say: "ready: yes"\n- approve: { id: ok, title: "Really?" }');
    const result = await service.cli(['runs', 'watch', waiting, talking, '--until', 'ready*', '--on-request', 'wait', '--timeout', '60s']);
    expect([result.code, result.stdout]).toEqual([0, expect.stringMatching(/ready: yes\n$/)]);
  });

  it('begins with the last messages of named runs only', async () => {
    const refusal = await service.cli(['runs', 'watch', '--all', '--no-new', '--tail', '1']);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--tail and --since require named runs.') });
  });

  it('continues after the last line that was printed', async () => {
    const runs = [await service.waiting(pay), await service.waiting(pay)];
    const argv = ['runs', 'watch', ...runs, '--resume', 'auto'];
    const first = await service.cli(argv);
    expect([first.code, first.stdout.match(/\? Pay 3 invoices/g)]).toMatchObject([12, { length: 2 }]);
    expect(await service.cli(argv)).toMatchObject({ code: 12, stdout: '' });
  });

  it('exits with the worst code: a failed run before one that waits', async () => {
    const failed = await service.run('- fail: "no luck"');
    const waiting = await service.waiting(pay);
    const completed = await service.run('- say: fine');
    const result = await service.cli(['runs', 'watch', waiting, completed, failed, '--json']);
    expect(result.code).toBe(10);
    const { data } = result.json<{ data: { id: string; status: string }[] }>();
    expect(data.map(({ id, status }) => [id, status])).toEqual([
      [waiting, 'waiting'],
      [completed, 'completed'],
      [failed, 'failed'],
    ]);
    expect(result.stderr).toContain('(no luck)');
    const withoutFailure = await service.cli(['runs', 'watch', waiting, completed]);
    expect(withoutFailure.code).toBe(12);
    expect(withoutFailure.stderr).toContain('error: 1 run is waiting for a person: ');
  });

  it('prints NDJSON in one sequence, with the run of each event and a token for all of them', async () => {
    const runs = [await service.run('- say: one'), await service.run('- say: two')];
    const result = await service.cli(['runs', 'watch', ...runs, '-o', 'ndjson']);
    expect(result.code).toBe(0);
    const events = result.lines<RunEvent>();
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    for (const run of runs) {
      const own = events.filter((event) => event.run_id === run);
      expect(own.at(-1)?.type).toBe('run.finished');
      expect(own.filter(({ type }) => type === 'message')).toHaveLength(1);
    }
    for (const { resume } of events) expect(resume).toMatch(/^r1/);
  });

  it('answers the requests of all runs from the answers file', async () => {
    const runs = await Promise.all([service.waiting(pay), service.waiting(pay)]);
    const result = await service.cli(['runs', 'watch', ...runs, '--answers', 'answers.yaml']);
    expect(result.code).toBe(0);
    expect(result.stdout.match(/paid/g)).toHaveLength(2);
  });

  it('begins with the last messages of each run with --tail, and with those since a time', async () => {
    const runs = [await service.run('- say: one\n- say: two'), await service.run('- say: three\n- say: four')];
    for (const run of runs) await service.until(run, 'completed');
    const messagesOf = async (...flags: string[]): Promise<string[]> => {
      const result = await service.cli(['runs', 'watch', ...runs, '-o', 'ndjson', ...flags]);
      expect(result.code, result.stderr).toBe(0);
      return result
        .lines<RunEvent>()
        .flatMap(({ type, data }) => (type === 'message' ? [data.message.text_content ?? ''] : []))
        .sort();
    };
    expect(await messagesOf('--tail', '1')).toEqual(['four', 'two']);
    expect(await messagesOf('--since', '1h')).toEqual(['four', 'one', 'three', 'two']);
    expect(await messagesOf('--since', '2100-01-01')).toEqual([]);
    const resume = ['--resume', 'r1.x'];
    for (const flags of [
      ['--tail', '1'],
      ['--since', '1h'],
    ])
      expect(await service.cli(['runs', 'watch', ...runs, '-o', 'ndjson', ...flags, ...resume])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--tail and --since cannot be combined with --resume.'),
      });
  });

  it('has executed the command for every event when it ends', async () => {
    const runs = [await service.run('- say: one'), await service.run('- say: two')];
    const result = await service.cli(['runs', 'watch', ...runs, '--exec', 'sleep 0.05; echo $AOPS_EVENT >> executed.txt']);
    expect(result.code).toBe(0);
    const executed = (await service.read('executed.txt')).trimEnd().split('\n');
    expect(executed.filter((event) => event === 'run.finished')).toHaveLength(2);
  });

  it('continues with the other runs if one does not exist', async () => {
    const missing = '00000000-0000-4000-8000-000000000002';
    const run = await service.run('- say: fine');
    const result = await service.cli(['runs', 'watch', run, missing]);
    expect(result.code).toBe(3);
    expect(result.stdout).toContain('fine');
    expect(result.stderr).toContain(`Run ${missing} cannot be watched`);
  });

  it('waits for a run whose request somebody else has answered, although it was left pending here', async () => {
    const [first, second] = await Promise.all([service.waiting(`${pay}\n${untilReleased('first')}`), service.run(untilReleased('second'))]);
    const seen = new Set<string>();
    const release = (name: string) => service.file(name, '');
    const result = await service.cli(['runs', 'watch', first, second, '--on-request', 'fail', '-o', 'ndjson'], {
      onOutput: (stdout) => {
        const next = async (event: string, run: string, act: () => Promise<unknown>): Promise<void> => {
          const isSeen = stdout.split('\n').some((line) => line.includes(`"type":"${event}"`) && line.includes(run));
          if (!isSeen || seen.has(event)) return;
          seen.add(event);
          await act();
        };
        void next('human_request.pending', first, () => service.cli(['runs', 'respond', first, '--approve']));
        void next('human_request.resolved', first, () => release('second'));
        void next('run.finished', second, () => release('first'));
      },
    });
    expect(result.code).toBe(0);
    const ends = result.lines<RunEvent>().filter(({ type }) => type === 'run.finished');
    expect(ends.map(({ run_id }) => run_id)).toEqual([second, first]);
  });

  it('says how to continue when Ctrl-C ends it', async () => {
    const runs = [await service.waiting(pay), await service.waiting(pay)];
    let interrupt: () => void = () => undefined;
    const result = await service.cli(['runs', 'watch', ...runs, '--on-request', 'wait'], {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (stdout, stderr) => {
        if (stdout.match(/\? Pay/g)?.length === 2 && stderr === '') interrupt();
      },
    });
    expect(result.code).toBe(130);
    expect(result.stderr).toContain(`Detached. 2 runs: 2 waiting. Come back with: aops runs watch ${runs.join(' ')}`);
  });

  it('shows a call with its result, also if other runs say something in between', async () => {
    const runs = [await service.run('- tool: { name: look.up, arguments: { id: 1 }, result: found }'), await service.run('- say: one')];
    const { code, stdout } = await service.cli(['runs', 'watch', ...runs]);
    expect([code, stdout.match(/look\.up/g)?.length]).toEqual([0, 1]);
    expect(stdout).toMatch(/\| ✓ look\.up .*found/);
  });

  it('rejects filters next to runs, and --all next to filters', async () => {
    const run = await service.run('- say: fine');
    expect(await service.cli(['runs', 'watch', run, '--all'])).toMatchObject({ code: 2, stdout: '' });
    for (const filter of ['--agent', '--queue', '--status'])
      expect(await service.cli(['runs', 'watch', run, filter, 'waiting'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Runs and filters cannot be combined.'),
      });
    for (const filter of ['--agent', '--queue'])
      expect(await service.cli(['runs', 'watch', filter, 'nobody', '--no-new'])).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('"nobody"'),
      });
    expect(await service.cli(['runs', 'watch', '--all', '--status', 'waiting'])).toMatchObject({ code: 2, stdout: '' });
    expect(await service.cli(['runs', 'watch'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe.concurrent('runs watch --agent', () => {
  it('watches the active runs of the agent, and with --no-new ends with them', async () => {
    const agent = await service.agent(pay, 'filtered');
    const runs = [await service.start(agent), await service.start(agent)];
    for (const run of runs) await service.until(run, 'waiting');
    const result = await service.cli(['runs', 'watch', '--agent', 'filtered', '--no-new', '--answers', 'answers.yaml', '-o', 'ndjson']);
    expect(result.code).toBe(0);
    const finished = result.lines<RunEvent>().filter(({ type }) => type === 'run.finished');
    expect(finished.map(({ run_id }) => run_id).sort()).toEqual([...runs].sort());
  });

  it('ends with --no-new when every run has ended or waits for a person', async () => {
    const own = await startTestService();
    await own.until(await own.run('- say: fine'), 'completed');
    const waiting = await own.waiting(`${pay}\n- say: later`);
    const result = await own.cli(['runs', 'watch', '--all', '--no-new', '--json']);
    expect(result.code).toBe(12);
    expect(result.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual([waiting]);
  });

  it('says with --no-new that no runs match', async () => {
    await service.agent(pay, 'idle');
    expect(await service.cli(['runs', 'watch', '--agent', 'idle', '--no-new'])).toMatchObject({ code: 0, stderr: 'No runs match.\n' });
  });

  it.each([['named'], ['filtered']])('continues with requests that were reported before: %s runs', async (kind) => {
    const agent = `continued-${kind}`;
    const agentId = await service.agent(pay, agent);
    const runs = [await service.start(agentId), await service.start(agentId)];
    for (const run of runs) await service.until(run, 'waiting');
    const selection = kind === 'named' ? runs : ['--agent', agent, '--no-new'];
    const argv = ['runs', 'watch', ...selection, '-o', 'ndjson'];
    const first = await service.cli(argv);
    const token = first.lines<RunEvent>().at(-1)?.resume as string;
    // Both still wait, so nothing new happens.
    expect(await service.cli([...argv, '--resume', token])).toMatchObject({ code: 12, stdout: '' });
    await service.cli(['runs', 'respond', runs[0] as string, '--approve']);
    await service.until(runs[0] as string, 'completed');
    const rest = await service.cli([...argv, '--resume', token, '--answers', 'answers.yaml']);
    expect(rest.code).toBe(0);
    const resolved = rest.lines<RunEvent>().filter(({ type }) => type === 'human_request.resolved');
    expect(resolved.map(({ run_id }) => run_id).sort()).toEqual([...runs].sort());
  });

  it('continues after an event of the same filter', async () => {
    const run = await service.start(await service.agent(pay, 'continued'));
    await service.until(run, 'waiting');
    const argv = ['runs', 'watch', '--agent', 'continued', '--no-new', '-o', 'ndjson'];
    const events = (await service.cli(argv)).lines<RunEvent>();
    const pending = events.find(({ type }) => type === 'human_request.pending');
    await service.cli(['runs', 'respond', run, '--approve']);
    await service.until(run, 'completed');
    const rest = await service.cli([...argv, '--resume', pending?.resume as string]);
    expect([rest.code, rest.lines<RunEvent>().at(-1)?.type]).toEqual([0, 'run.finished']);
  });

  it('adds runs that start later, until it is interrupted', async () => {
    const agent = await service.agent(pay, 'later');
    await service.until(await service.start(agent), 'waiting');
    let hasStarted = false;
    let interrupt: () => void = () => undefined;
    const result = await service.cli(['runs', 'watch', '--agent', 'later', '--on-request', 'wait'], {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (stdout, stderr) => {
        // The first run is watched now, so a run that starts from here on is a new one.
        if (stdout.includes('? Pay') && !hasStarted) void service.start(agent, 'late');
        hasStarted ||= stdout.includes('? Pay');
        if (stdout.includes('you: late') && stderr === '') interrupt();
      },
    });
    expect(result.code).toBe(130);
    expect(result.stdout).toMatch(/later#\d+ +\| you: late\n/);
    expect(result.stderr).toContain('Detached. 2 runs: ');
    // The same filter would select others.
    expect(result.stderr).not.toContain('Come back');
  });
});

it('runs watch --all --resume auto remembers a position for each team', async () => {
  const services = await Promise.all([startTestService(), startTestService()]);
  const env = { AOPS_DATA_DIR: services[0].env.AOPS_DATA_DIR as string };
  const runs = await Promise.all(services.map((each) => each.waiting(pay)));
  const watch = (index: number) =>
    (services[index] as TestService).cli(['runs', 'watch', '--all', '--no-new', '-o', 'ndjson', '--resume', 'auto'], { env });
  for (const [index, run] of runs.entries()) {
    const result = await watch(index);
    expect([result.code, new Set(result.lines<RunEvent>().map(({ run_id }) => run_id))]).toEqual([12, new Set([run])]);
  }
  for (const index of [0, 1]) expect(await watch(index)).toMatchObject({ code: 12, stdout: '' });
});
