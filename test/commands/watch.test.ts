/** Watching runs without a terminal: the transcript, the events, the answers and the exit codes. */
import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { eventually } from '../support/eventually.ts';
import type { CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

const vendor = '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }';
const pay = '- approve: { id: pay, title: "Pay 3 invoices?" }';
const completeProcedure = `
- say: "Reading {{message}}"
- exec: { id: count, run: "echo 3" }
${vendor}
${pay}
- write: { path: done.txt, content: "{{answers.who}}" }
- say: "Done: {{answers.who}}"`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('answers.yaml', 'approvals: { "Pay *": true }\nanswers: { "Which vendor?": acme inc }\n');
});

/** The error of a command under --json: the last line of stderr, after the transcript. */
const json = (result: CliResult): Record<string, unknown> =>
  (JSON.parse(result.stderr.trimEnd().split('\n').at(-1) ?? '') as { error: Record<string, unknown> }).error;

describe.concurrent('flags for what is printed', () => {
  const texts = '{% if type == "message" %}{{ data.message.text_content }}{% endif %}';
  const messages = (field: string) => (text: string) => `{"type":"message","data":{"message":{"${field}":${JSON.stringify(text)}}}}`;
  const others = ['run.status', 'run.finished'].map((type) => `{"type":"${type}","data":{"message":null}}`);
  it.each([
    [
      ['--jq', 'select(.type == "message") | .data.message.text_content'],
      ['March', 'Reading March'],
    ],
    [
      ['--template', texts],
      ['March', 'Reading March'],
    ],
    [
      ['--fields', 'type,data.message.text_content'],
      [...['March', 'Reading March'].map(messages('text_content')), ...others],
    ],
    [['--fields', 'type,seq', '--jq', '.seq, keys'], [1, 2, 3, 4].flatMap((seq) => [String(seq), '["seq","type"]'])],
  ])('are applied to each event of a stream: %s', async (form, expected) => {
    const run = await service.start(await service.agent('- say: "Reading {{message}}"'), 'March');
    await service.cli(['runs', 'wait', run]);
    for (const argv of [
      ['runs', 'watch', run],
      ['runs', 'watch', run, run.toUpperCase(), '--on-request', 'wait'],
    ]) {
      const { code, stdout } = await service.cli([...argv, ...form, '-o', 'ndjson']);
      expect({ code, lines: stdout.trimEnd().split('\n') }).toEqual({ code: 0, lines: expected });
    }
  });

  it('apply to the run instead of its events without -o ndjson', async () => {
    const run = await service.start(await service.agent('- say: hi'));
    expect((await service.cli(['runs', 'watch', run, '--jq', '.status'])).stdout).toBe('completed\n');
  });

  it('end a watch with the number of the event that a filter cannot be applied to', async () => {
    const run = await service.start(await service.agent('- say: hi'));
    await service.cli(['runs', 'wait', run]);
    const result = await service.cli(['runs', 'watch', run, '-o', 'ndjson', '--jq', '.data.message.text_content | ascii_upcase']);
    expect(result).toMatchObject({ code: 1, stdout: 'HI\n' });
    expect(json(result)).toMatchObject({
      code: 'jq_failed',
      message: expect.stringMatching(/^Event 2, run\.status, cannot be printed: --jq: /),
      hint: expect.stringContaining('select(.type == "message")'),
    });
  });

  it.each([
    [['--fields', 'nope'], 'no field \\"nope\\"'],
    [['--template', '{{ nope }}'], 'no field \\"nope\\"'],
    [['--fields', 'artifact_id'], 'no field \\"artifact_id\\"'],
  ])('are checked before a stream begins: %s', async (form, message) => {
    const agent = await service.agent('- say: hi');
    const run = await service.start(agent);
    for (const argv of [
      ['runs', 'watch', run],
      ['runs', 'watch', run, run.toUpperCase()],
      ['runs', 'watch', '--all', '--no-new'],
      ['runs', 'start', '--agent', agent, '--watch'],
      ['inbox', '--watch'],
      ['webhooks', 'listen', '--subscribe'],
    ]) {
      const refusal = await service.cli([...argv, ...form, '-o', 'ndjson']);
      expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    }
    const { data } = (await service.cli(['runs', 'list', '--agent', agent, '--json'])).json<{ data: object[] }>();
    expect(data).toHaveLength(1);
  });

  it('are refused with a file that records the position of a stream', async () => {
    const run = await service.start(await service.agent('- say: hi'));
    const file = await service.file('whole-events.ndjson', '');
    for (const argv of [
      ['runs', 'watch', run],
      ['inbox', '--watch'],
      ['webhooks', 'listen', '--subscribe'],
    ]) {
      const refusal = await service.cli([...argv, '--resume', `@${file}`, '-o', 'ndjson', '--jq', '.seq']);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('--resume @FILE cannot be combined with --fields, --jq, or --template.');
    }
    expect((await service.cli(['runs', 'watch', run, '--resume', `@${file}`, '--jq', '.status'])).stdout).toBe('completed\n');
  });

  it('are checked before a run is watched or waited for', async () => {
    const run = await service.waiting(pay);
    for (const argv of [
      ['runs', 'watch', run, '--on-request', 'wait'],
      ['runs', 'watch', run, run.toUpperCase(), '--on-request', 'wait'],
      ['runs', 'wait', run],
      ['runs', 'wait', run, run.toUpperCase()],
    ]) {
      const refusal = await service.cli([...argv, '--jq', '.status |']);
      expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--jq: syntax error') });
    }
  });
});

describe.concurrent('the transcript', () => {
  it('consists of plain lines, with tool calls on a single line, and ends with the outcome', async () => {
    const agent = await service.agent(completeProcedure, 'transcript');
    const watchResult = await service.cli([
      'runs',
      'start',
      '--agent',
      agent,
      '--message',
      'March',
      '--watch',
      '--answers',
      'answers.yaml',
    ]);
    expect(watchResult.code).toBe(0);
    const lines = watchResult.stdout.trimEnd().split('\n');
    expect(lines).toContain('Reading March');
    expect(lines).toContain('✓ exec  echo 3  → 3');
    expect(lines).toContain('Done: Acme Inc');
    expect(lines).toContain('? Which vendor?');
    expect(lines).toContain('? Pay 3 invoices?');
    expect(lines.at(-1)).toMatch(/^completed after \d/);
    expect(lines.filter((line) => line.includes('exec'))).toHaveLength(1);
    expect(lines.indexOf('Reading March')).toBeLessThan(lines.indexOf('Done: Acme Inc'));
    expect(watchResult.stderr).toMatch(/^Run [0-9a-f-]{36}\n/);
    expect(watchResult.stderr.match(/^Answered from the answers file\.$/gm)).toHaveLength(2);
    expect(lines).toContain('› Which vendor? Acme Inc');
  });

  it('is the same for a run that ended earlier', async () => {
    const run = await service.run('- say: one\n- tool: { name: erp.lookup, error: "no such invoice" }\n- say: two');
    await service.until(run, 'completed');
    const watchResult = await service.cli(['runs', 'watch', run]);
    expect(watchResult).toMatchObject({ code: 0, stderr: '' });
    const lines = watchResult.stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('['));
    expect(lines).toEqual(['one', '✗ erp.lookup  → no such invoice', 'two', expect.stringMatching(/^completed after/)]);
  });

  it('cannot control the terminal, whatever the run prints', async () => {
    const run = await service.run('- say: "red \\e[31mred\\e[0m \\a\\e]0;title\\a\\r\\u202e"');
    await service.until(run, 'completed');
    const watchResult = await service.cli(['runs', 'watch', run, '--color', 'never'], { tty: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for control characters
    expect(watchResult.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(watchResult.stdout).toContain('red');
  });

  it('is the only output with --quiet', async () => {
    const run = await service.run(completeProcedure, 'x');
    const watchResult = await service.cli(['runs', 'watch', run, '--answers', 'answers.yaml', '--quiet']);
    expect(watchResult).toMatchObject({ code: 0, stderr: '' });
    expect(watchResult.stdout).toContain('Done: Acme Inc\n');
  });

  it.each(['watch', 'start'])('of runs %s goes to stderr if the run itself is the result', async (verb) => {
    const agent = await service.agent('- say: one');
    const argv = verb === 'start' ? ['runs', 'start', '--agent', agent, '--watch'] : ['runs', 'watch', await service.start(agent)];
    const watchResult = await service.cli([...argv, '--json']);
    expect(watchResult.code).toBe(0);
    expect(watchResult.json()).toMatchObject({ agent_id: agent, status: 'completed' });
    expect(watchResult.stderr).toContain('one\n');
    expect(await service.cli([...argv, '--jq', '.status', '--quiet'])).toMatchObject({ code: 0, stdout: 'completed\n', stderr: '' });
  });

  it('and the run are also printed if the run failed', async () => {
    const run = await service.run('- fail: "no luck"');
    const watchResult = await service.cli(['runs', 'watch', run, '--json', '--quiet']);
    expect(watchResult.code).toBe(10);
    expect(watchResult.json()).toMatchObject({ id: run, status: 'failed', error: 'no luck' });
    expect(json(watchResult)).toMatchObject({ code: 'run_failed', exit: 10 });
  });
});

describe.concurrent('-o ndjson', () => {
  it('prints every event as one numbered object per line, ending with run.finished', async () => {
    const run = await service.run(completeProcedure, 'April');
    const watchResult = await service.cli(['runs', 'watch', run, '--answers', 'answers.yaml', '-o', 'ndjson']);
    expect(watchResult.code).toBe(0);
    const events = watchResult.lines<RunEvent>();
    expect(watchResult.stdout).toMatch(/^\{"v":1,"seq":1,"type":"/);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    for (const event of events) {
      expect(event).toMatchObject({ v: 1, run_id: run });
      expect(new Date(event.ts).toISOString()).toBe(event.ts);
      expect(Object.keys(event).sort()).toEqual(['data', 'resume', 'run_id', 'seq', 'ts', 'type', 'v']);
    }
    const types = events.map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(['run.status', 'message', 'human_request.pending', 'human_request.resolved', 'run.finished']));
    expect(types.filter((type) => type === 'run.finished')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', data: { run: { id: run, status: 'completed' } } });
    const messages = events.flatMap((event) => (event.type === 'message' ? [event.data.message] : []));
    expect(messages).toEqual(await service.messages(run));
    const pending = events.flatMap((event) => (event.type === 'human_request.pending' ? [event.data.human_request.title] : []));
    const resolutions = events.flatMap((event) => (event.type === 'human_request.resolved' ? [event.data] : []));
    expect(pending).toEqual(['Which vendor?', 'Pay 3 invoices?']);
    expect(resolutions).toMatchObject([
      { title: 'Which vendor?', resolution: 'answered' },
      { title: 'Pay 3 invoices?', resolution: 'answered' },
    ]);
  });

  it('does not print errors in the stream', async () => {
    const run = await service.run('- fail: "no luck"');
    const watchResult = await service.cli(['runs', 'watch', run, '-o', 'ndjson']);
    expect(watchResult.code).toBe(10);
    expect(watchResult.lines<RunEvent>().at(-1)).toMatchObject({
      type: 'run.finished',
      data: { run: { status: 'failed', error: 'no luck' } },
    });
    expect(json(watchResult)).toMatchObject({ code: 'run_failed', exit: 10 });
  });
});

describe.concurrent('--on-request', () => {
  it.each([
    ['by default', []],
    ['as asked', ['--on-request', 'fail']],
  ])('fails %s off a terminal, and says how to answer', async (_, flags) => {
    const run = await service.run(`${vendor}\n${pay}`);
    const watchResult = await service.cli(['runs', 'watch', run, ...flags]);
    expect(watchResult.code).toBe(12);
    expect(watchResult.stdout).toContain('? Which vendor?\n');
    expect(watchResult.stderr).toContain(`error: Run ${run} is waiting for a person: Which vendor? / one of: Acme GmbH | Acme Inc`);
    const command = /`aops (runs respond [^`]+)`/.exec(watchResult.stderr)?.[1] ?? '';
    expect(command).toBe(`runs respond ${run} --answer 'Which vendor?=Acme GmbH'`);
    expect(watchResult.stderr).toContain(`aops runs watch ${run}`);

    // The command can be pasted.
    expect((await service.cli(['runs', 'respond', run, '--answer', 'Which vendor?=Acme GmbH'])).code).toBe(0);
    const next = await service.cli(['runs', 'watch', run, ...flags, '--json']);
    expect(next.code).toBe(12);
    expect(next.json()).toMatchObject({
      id: run,
      status: 'waiting',
      pending_human_request: { title: expect.any(String), type: 'approval' },
    });
    expect(json(next)).toMatchObject({ code: 'run_waiting', exit: 12 });
    expect(json(next).hint).toContain(`aops runs respond ${run} --approve`);
    await service.cli(['runs', 'stop', run]);
  });

  it('waits for an answer from elsewhere', async () => {
    const run = await service.run(completeProcedure, 'x');
    const pendingResult = service.cli(['runs', 'watch', run, '--on-request', 'wait']);
    await service.until(run, 'waiting');
    expect((await service.cli(['runs', 'respond', run, '--answer', 'Acme Inc'])).code).toBe(0);
    await service.until(run, 'waiting');
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);
    const watchResult = await pendingResult;
    expect(watchResult).toMatchObject({ code: 0, stderr: '' });
    expect(watchResult.stdout).toContain('Done: Acme Inc\n');
  });

  it('shows the request on a terminal even if someone else will answer', async () => {
    const run = await service.run(pay);
    let pendingAnswer: Promise<CliResult> | undefined;
    const watchResult = await service.cli(['runs', 'watch', run, '--on-request', 'wait'], {
      tty: true,
      env: { NO_COLOR: '1' },
      onOutput: (stdout) => {
        if (/^\? Pay/m.test(stdout)) pendingAnswer ??= service.cli(['runs', 'respond', run, '--approve']);
      },
    });
    expect(watchResult.code).toBe(0);
    expect((await pendingAnswer)?.code).toBe(0);
  });

  it('waits for someone else to answer requests that are not in the answers file', async () => {
    await service.file('half.yaml', 'answers: { "Which vendor?": Acme GmbH }\n');
    const run = await service.run(completeProcedure, 'x');
    const watchResult = await service.cli(['runs', 'watch', run, '--answers', 'half.yaml']);
    expect(watchResult.code).toBe(12);
    expect(watchResult.stderr).toContain('Answered from the answers file.\n');
    expect(watchResult.stdout).toContain('› Which vendor? Acme GmbH\n');
    expect(watchResult.stderr).toContain(`aops runs respond ${run} --approve`);
    await service.cli(['runs', 'stop', run]);
  });

  it('rejects an unsuitable answer from the file and leaves the request pending', async () => {
    await service.file('unfit.yaml', 'answers: { "Which vendor?": Globex }\n');
    const run = await service.run(completeProcedure, 'x');
    const watchResult = await service.cli(['runs', 'watch', run, '--answers', 'unfit.yaml']);
    expect(watchResult.code).toBe(2);
    expect(watchResult.stderr).toContain(
      'error: "Globex" is not an option of "Which vendor?".\nhint: The options are: Acme GmbH | Acme Inc\n',
    );
    expect((await service.get(run)).request?.title).toBe('Which vendor?');
    await service.cli(['runs', 'stop', run]);
  });

  it.each([
    ['an unknown key', 'questions: {}\n', 'unknown key "questions"'],
    ['a list', '- a\n', 'must be a map'],
    ['broken YAML', 'answers: [\n', 'is not valid YAML'],
    ['an approval that is no decision', 'approvals: { Pay: maybe }\n', '"Pay" must be true or false'],
    ['an answer that is a map', 'answers: { Pay: { a: b } }\n', '"Pay" must be a text or a list of texts'],
  ])('refuses an answers file with %s', async (description, content, message) => {
    const file = `${description.replaceAll(' ', '-')}.yaml`;
    await service.file(file, content);
    const refusal = await service.cli(['runs', 'watch', '@latest', '--answers', file]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(file);
    expect(refusal.stderr).toContain(message);
  });
});

describe.concurrent('the exit code is the outcome in every command that watches a run', () => {
  const outcomes: [outcome: string, steps: string, code: number, word: string][] = [
    ['completed', '- say: fine', 0, ''],
    ['failed', '- fail: "no luck"', 10, 'no luck'],
    ['a denied approval', `${pay}`, 10, 'denied'],
    ['interrupted', '- sleep: 1h', 11, 'interrupted'],
  ];
  describe.concurrent.each(outcomes)('%s', (outcome, steps, code, word) => {
    const end = async (run: string): Promise<void> => {
      if (outcome === 'interrupted') await service.api('POST', `/runs/${run}/stop`);
      if (outcome !== 'a denied approval') return;
      const { request } = await service.until(run, 'waiting');
      await service.api('POST', `/runs/${run}/human-requests/${request?.id}/respond`, { approved: false });
    };
    const follow = ['--on-request', 'wait'];

    it('while it happens', async () => {
      const agent = await service.agent(steps);
      let startedRun = '';
      const starting = service.cli(['runs', 'start', '--agent', agent, '--watch', ...follow], {
        onOutput: (_, stderr) => {
          startedRun ||= /^Run (\S+)\n/.exec(stderr)?.[1] ?? '';
        },
      });
      await eventually('the run is started', () => startedRun !== '');
      const pendingResults = [starting, service.cli(['runs', 'watch', startedRun, ...follow]), service.cli(['runs', 'wait', startedRun])];
      await end(startedRun);
      for (const { code: exitCode, stderr } of await Promise.all(pendingResults)) {
        expect(exitCode).toBe(code);
        expect(stderr).toContain(word);
      }
    });

    it('when it ended earlier', async () => {
      const run = await service.run(steps);
      await end(run);
      await service.until(run, 'completed', 'failed', 'interrupted');
      for (const verb of ['watch', 'wait']) {
        const plainResult = await service.cli(['runs', verb, run]);
        expect(plainResult.code).toBe(code);
        expect(plainResult.stderr).toContain(word);
        const asJson = await service.cli(['runs', verb, run, '--json']);
        expect(asJson.code).toBe(code);
        if (code !== 0) expect(json(asJson)).toMatchObject({ exit: code });
      }
      // `wait` prints the run even if it failed.
      expect((await service.cli(['runs', 'wait', run, '--json'])).json()).toMatchObject({ id: run });
    });
  });

  it('is 12 for a waiting run that cannot be answered here', async () => {
    const agent = await service.agent(pay);
    const startResult = await service.cli(['runs', 'start', '--agent', agent, '--watch']);
    expect(startResult.code).toBe(12);
    const [, run = ''] = /^Run (\S+)\n/.exec(startResult.stderr) ?? [];
    expect((await service.cli(['runs', 'watch', run])).code).toBe(12);
    await service.cli(['runs', 'stop', run]);
    // A script that continues later learns the ID of the run.
    const parkResult = await service.cli(['runs', 'start', '--agent', agent, '--watch', '-o', 'id']);
    expect(parkResult.code).toBe(12);
    expect(parkResult.stderr).toContain(`Run ${parkResult.stdout}`);
    await service.cli(['runs', 'stop', parkResult.stdout.trim()]);
  });

  it('is 12 with the request on one line, without its description', async () => {
    const description = '| Vendor | Amount |\\n| --- | ---: |\\n| Bakery | 12 |';
    const run = await service.waiting(`- approve: { id: pay, title: "Pay it?", description: "${description}" }`);
    expect((await service.cli(['runs', 'get', run], { tty: true })).stdout).toContain('Bakery');
    const watchResult = await service.cli(['runs', 'watch', run]);
    expect(watchResult.code).toBe(12);
    expect(watchResult.stderr).toMatch(new RegExp(`^error: Run ${run} is waiting for a person: Pay it\\?\nhint: `, 'm'));
    await service.cli(['runs', 'stop', run]);
  });

  it('is 9 when --timeout expires, and the run continues', async () => {
    const run = await service.waiting(pay);
    for (const argv of [
      ['watch', run, '--on-request', 'wait'],
      ['wait', run],
    ]) {
      const lateResult = await service.cli(['runs', ...argv, '--timeout', '100ms', '--json']);
      expect(lateResult).toMatchObject({ code: 9, stdout: '' });
      expect(json(lateResult)).toMatchObject({ code: 'timeout', exit: 9 });
    }
    expect((await service.get(run)).run.status).toBe('waiting');
    await service.cli(['runs', 'stop', run]);
  });
});

describe.concurrent('runs wait --for waiting', () => {
  it('ends as soon as there is a human request', async () => {
    const run = await service.run(`- say: first\n${pay}`);
    const waitResult = await service.cli(['runs', 'wait', run, '--for', 'waiting', '--json']);
    expect(waitResult).toMatchObject({ code: 0, stderr: '' });
    expect(waitResult.json()).toMatchObject({ id: run, status: 'waiting', pending_human_request: { title: 'Pay 3 invoices?' } });
    await service.cli(['runs', 'stop', run]);
  });

  it('is a conflict for a run that completes without a human request', async () => {
    const run = await service.run('- say: fine');
    const waitResult = await service.cli(['runs', 'wait', run, '--for', 'waiting']);
    expect(waitResult.code).toBe(6);
    expect(waitResult.stderr).toContain('completed without a human request');
  });
});

describe.concurrent('Ctrl-C', () => {
  it('detaches, shows how to come back, and does not affect the run', async () => {
    const run = await service.run('- say: started\n- sleep: 1h');
    let interrupt: (() => void) | undefined;
    const watchResult = await service.cli(['runs', 'watch', run], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        if (!stdout.includes('started')) return;
        interrupt?.();
        interrupt = undefined;
      },
    });
    expect(watchResult.code).toBe(130);
    expect(watchResult.stderr).toBe(`Detached. The run continues. Come back with: aops runs watch ${run}\n`);
    expect((await service.get(run)).run.status).toBe('running');
    await service.cli(['runs', 'stop', run]);
  });

  it('ends runs wait immediately', async () => {
    const run = await service.run('- sleep: 1h');
    let interrupt = (): void => undefined;
    const pendingResult = service.cli(['runs', 'wait', run], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
    });
    await service.until(run, 'running');
    interrupt();
    expect(await pendingResult).toMatchObject({ code: 130, stdout: '' });
    await service.cli(['runs', 'stop', run]);
  });
});

describe.concurrent('runs start --pull', () => {
  it('watches the run, then downloads its files', async () => {
    const agent = await service.agent('- write: { path: out/a.txt, content: "A" }\n- write: { path: b.txt, content: "B" }');
    const pullResult = await service.cli(['runs', 'start', '--agent', agent, '--pull', 'home-1']);
    expect(pullResult.code).toBe(0);
    expect(pullResult.stderr).toContain('Pulled 2 files to home-1\n');
    expect(await service.read('home-1/out/a.txt')).toBe('A');
    expect(await service.read('home-1/b.txt')).toBe('B');
  });

  it('starts nothing if the files cannot be saved', async () => {
    const agent = await service.agent('- write: { path: a.txt, content: "A" }');
    await service.file('a-file', 'no folder');
    for (const place of ['a-file', 'a-file/below/it']) {
      const refusal = await service.cli(['runs', 'start', '--agent', agent, '--pull', place]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('a-file is not a directory');
    }
    expect((await service.cli(['runs', 'list', '--agent', agent, '-o', 'id'])).stdout).toBe('');
  });

  it('starts nothing if files exist, unless --force is used', async () => {
    const agent = await service.agent('- write: { path: a.txt, content: "A" }');
    await service.file('home-3/other.txt', 'mine');
    const startArgv = ['runs', 'start', '--agent', agent, '--upload', 'home-3/other.txt', '--pull', 'home-3'];
    const refusal = await service.cli(startArgv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toBe(
      'error: home-3 is not empty, and the run might create files with the same names. Nothing was started.\n' +
        'hint: Choose a new folder for --pull, or overwrite existing files with --force.\n',
    );
    expect((await service.cli([...startArgv, '--dry-run'])).code).toBe(2);
    expect((await service.cli(['runs', 'list', '--agent', agent, '-o', 'id'])).stdout).toBe('');
    expect((await service.cli([...startArgv, '--force'])).code).toBe(0);
    expect([await service.read('home-3/a.txt'), await service.read('home-3/other.txt')]).toEqual(['A', 'mine']);
    expect((await service.cli(['runs', 'start', '--agent', agent, '--force'])).stderr).toContain('--force requires --pull.');
  });

  it('starts nothing if a file to upload cannot be read', async () => {
    const agent = await service.agent('- say: hi');
    const pipe = path.join(service.folder, 'a-pipe');
    execFileSync('mkfifo', [pipe]);
    const refusal = await service.cli(['runs', 'start', '--agent', agent, '--upload', 'a-pipe']);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('a-pipe is neither a file nor a folder.') });
    expect((await service.cli(['runs', 'list', '--agent', agent, '-o', 'id'])).stdout).toBe('');
  });

  it('loses neither the files nor the outcome if files appear during the run', async () => {
    const agent = await service.agent('- write: { path: a.txt, content: "A" }\n- approve: { id: ok, title: "Go on?" }');
    const pendingResult = service.cli(['runs', 'start', '--agent', agent, '--pull', 'home-4', '--on-request', 'wait']);
    const run = await eventually('the run waits', async () => {
      const id = (await service.cli(['runs', 'list', '--agent', agent, '--status', 'waiting', '-o', 'id'])).stdout.trim();
      return id !== '' && id;
    });
    await service.file('home-4/a.txt', 'mine');
    await service.cli(['runs', 'respond', run, '--approve']);
    const pullResult = await pendingResult;
    expect(pullResult.code).toBe(0);
    expect(pullResult.stderr).toContain(`the files of the run are saved in home-4/run-${run}.`);
    expect([await service.read('home-4/a.txt'), await service.read(`home-4/run-${run}/a.txt`)]).toEqual(['mine', 'A']);
  });

  it.each([
    ['completed', '', 2, /The run completed, but its files were not saved: .*home-5.* is not a directory/],
    ['failed', '\n- fail: "no luck"', 10, /The files of the run were not saved: .*home-6.* is not a directory/],
  ])('says so when its files cannot be saved, and how the run ended: %s', async (status, end, code, message) => {
    const place = status === 'completed' ? 'home-5' : 'home-6';
    const agent = await service.agent(`- write: { path: a.txt, content: "A" }\n- approve: { id: ok, title: "Go on?" }${end}`);
    const pendingResult = service.cli(['runs', 'start', '--agent', agent, '--pull', place, '--on-request', 'wait', '--json']);
    const run = await eventually('the run waits', async () => {
      const id = (await service.cli(['runs', 'list', '--agent', agent, '--status', 'waiting', '-o', 'id'])).stdout.trim();
      return id !== '' && id;
    });
    await service.file(place, 'a file now');
    await service.cli(['runs', 'respond', run, '--approve']);
    const pullResult = await pendingResult;
    expect(pullResult.code).toBe(code);
    expect(pullResult.json()).toMatchObject({ id: run, status });
    expect(pullResult.stderr).toMatch(message);
    expect(pullResult.stderr).toContain(`aops sandbox pull ${run} --to ${place} --force`);
  });

  it.each([
    ['completed', '', 1, 'error: The run completed, but not all of its files were saved'],
    ['failed', '\n- fail: "no luck"', 10, 'Not all files of the run were saved'],
  ])('leaves out and reports files whose names cannot be used: %s', async (status, end, code, start) => {
    const place = `odd-${status}`;
    const agent = await service.agent(`- write: { path: a.txt, content: "A" }\n- exec: { run: "printf 'b\\\\nc' | xargs -0 touch" }${end}`);
    const result = await service.cli(['runs', 'start', '--agent', agent, '--pull', place]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(`Pulled 1 file to ${place}`);
    expect(result.stderr).toContain(
      `${start}: 1 of 2 files was not written because of its name: "/workspace/b\\nc" (it has a control character).`,
    );
    expect(result.stderr).toMatch(/`aops sandbox cat \S+ PATH > FILE`/);
    expect(await readdir(path.join(service.folder, place))).toEqual(['a.txt']);
  });

  it('also downloads the files of a failed run, and still fails', async () => {
    const agent = await service.agent('- write: { path: a.txt, content: "A" }\n- fail: "no luck"');
    const pullResult = await service.cli(['runs', 'start', '--agent', agent, '--pull', 'home-2']);
    expect(pullResult.code).toBe(10);
    expect(await service.read('home-2/a.txt')).toBe('A');
  });
});
