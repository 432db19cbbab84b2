/** `aops agents test`: outcomes, reports, exit codes, and what it never touches. */
import { chmod, mkdir, readdir, readFile, utimes } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { misbehaving } from '../../agents/installed.ts';
import type { CliOptions } from '../../support/run-cli.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

const secret = 'sk-live-0123456789abcdef';
const procedure = `version: 1
steps:
  - exec: { id: count, run: "wc -l < in.csv | tr -d ' '", on_error: continue }
  - if: message == "break"
    fail: "This is broken: {{ message }}"
  - if: message == "sleep"
    sleep: 1h
  - approve: { id: pay, title: "Pay {{ message }}?", on_deny: continue }
  - remember: { path: log.txt, content: "{{ message }}", append: true }
  - write: { path: out/report.md, content: "{% if answers.pay %}Paid{% else %}Not paid: {{ steps.pay.reason }}{% endif %}\\n{{ steps.count.stdout }}\\n" }
  - say: "{{ agent.name }}: {{ memory['log.txt'] | default: 'nothing' }}"
`;

/** A service that the command line is signed in to, and that no test may reach. */
let configured: TestService;
beforeAll(async () => {
  configured = await startTestService();
  await configured.file('invoices/procedure.yaml', procedure);
  await configured.file('invoices/two.csv', 'a\nb\n');
});

/** Runs `agents test` on a file with these tests (YAML list items without indentation). */
async function run(tests: string, flags: readonly string[] = [], options: CliOptions = {}) {
  await configured.file('invoices/a.test.yaml', file(tests));
  return configured.cli(['agents', 'test', 'invoices', '--exec', 'host', ...flags], options);
}
const file = (tests: string, agent = '{ procedure: procedure.yaml }') =>
  `version: 1\nagent: ${agent}\ntests:\n${tests.trim().replace(/^/gm, '  ')}\n`;

const passing = `
- name: pays
  message: "42"
  files: { in.csv: { from: two.csv } }
  approvals: { "Pay *": true }
  expect:
    requests: ["Pay 42?"]
    messages: ["invoices: 42"]
    no_messages: [{ matches: "^error" }]
    files: { out/report.md: { equals: "Paid\\n2\\n" }, other.md: { absent: true } }
- name: gives the reason of a denial
  message: "43"
  files: { in.csv: "a" }
  approvals: { "Pay 43?": { approved: false, reason: Too much } }
  expect: { files: { out/report.md: [Not paid, Too much] } }
`.replace('[Not paid, Too much]', '{ contains: [Not paid, Too much], not_contains: Paid, matches: "^0$" }');

describe('agents test', () => {
  it('passes tests that meet their expectations, each with a new agent of the same name', async () => {
    const result = await run(passing);
    expect(result, result.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout.replaceAll(/\d+\.\ds/g, '0.1s')).toBe(
      `invoices/a.test.yaml\n  ✓ pays  0.1s\n  ✓ gives the reason of a denial  0.1s\n\n2 passed in 0.1s\n`,
    );
  });

  it('reports every difference, with diffs, and exits with 1', async () => {
    const result = await run(`
- name: pays
  message: "42"
  files: { in.csv: "" }
  approvals: { "*": true }
  expect:
    status: failed
    error: boom
    requests: ["Pay *", "Pay again?"]
    messages: ["invoices", { matches: "^Bye$" }]
    no_messages: ["42"]
    files: { out/report.md: { same_as: two.csv }, gone.md: { contains: x }, out/report.md2: { absent: false } }
- name: passes
  message: break
  expect: { status: failed, error: { matches: "broken: break$" }, requests: [] }
`);
    expect(result.code).toBe(1);
    expect(result.stderr).toBe('error: 1 of 2 tests failed.\n');
    for (const text of [
      'The run is completed instead of failed.\n',
      'The run has no error.',
      'The agent made other requests than expected.\n        --- expected\n        +++ actual\n        @@ -1,2 +1 @@\n         Pay 42?\n        -Pay again?\n',
      'No message matches /^Bye$/. The agent sent:\n        "invoices: 42"\n',
      'A message contains "42", although none should: "invoices: 42"',
      'out/report.md is different from two.csv.\n        --- expected\n        +++ out/report.md\n        @@ -1,2 +1,2 @@\n        -a\n        -b\n        +Paid\n        +0\n',
      'gone.md does not exist.',
      '✓ passes',
      '1 passed, 1 failed in ',
    ])
      expect(result.stdout).toContain(text);
  });

  it('fails a test whose request has no answer, unless it expects the run to wait', async () => {
    const result = await run(`
- { name: unanswered, message: "1", approvals: { "Other*": true } }
- { name: expected, message: "1", expect: { status: waiting, requests: ["Pay 1?"] } }
`);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('The run is waiting instead of completed: the test has no answer for "Pay 1?"');
    expect(result.stdout).toContain('✓ expected');
  });

  it('wraps what it reports between words on a terminal', async () => {
    const result = await run('- { name: unanswered, message: "4711" }', ['--color', 'never'], { tty: true, columns: 60 });
    expect(result.stdout).toContain('      The run is waiting instead of completed: the test has\n      no answer for "Pay 4711?"\n');
  });

  it('ends a test after its time limit', async () => {
    const result = await run('- { name: sleeps, message: sleep, timeout: 300ms }');
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/The test did not end within 300ms; (the run was (pending|starting|running)|its run had not started)\./);
  });

  it('sends each further message when the run has completed the previous one', async () => {
    const result = await run(`
- name: continues
  message: [one, two]
  approvals: { "*": true }
  expect: { requests: ["Pay one?", "Pay two?"], messages: ["invoices: one", { equals: "invoices: one\\ntwo" }] }
`);
    expect(result, result.stdout).toMatchObject({ code: 0, stderr: '' });
  });

  it('runs only the tests that the filter names', async () => {
    const result = await run(passing, ['--filter', 'REASON']);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('1 passed');
    const refusal = await run(passing, ['--filter', 'nothing']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('There are: pays | gives the reason of a denial');
  });

  it('prints the results for programs, whole or one per line', async () => {
    const tests = '- { name: a, message: break }\n- { name: b, message: break, expect: { status: failed } }';
    const whole = await run(tests, ['--json']);
    expect(whole.code).toBe(1);
    expect(whole.json<{ data: unknown[] }>().data).toMatchObject([
      { id: 'invoices/a.test.yaml:4', status: 'failed', name: 'a', line: 4, run_status: 'failed', failures: [{ expectation: 'status' }] },
      { id: 'invoices/a.test.yaml:5', status: 'passed', name: 'b', run_error: 'This is broken: break', failures: [] },
    ]);
    const lines = await run(tests, ['-o', 'ndjson']);
    expect(lines.lines<{ name: string }>().map(({ name }) => name)).toEqual(['a', 'b']);
    expect((await run(tests, ['-o', 'id', '--filter', 'b'])).stdout).toBe('invoices/a.test.yaml:5\n');
  });

  it('writes a report for CI', async () => {
    await run('- { name: "a < b", message: break }\n- { name: c, message: break, expect: { status: failed } }', ['--junit', 'report.xml']);
    const xml = await configured.read('report.xml');
    expect(xml).toContain('tests="2" failures="1" errors="0" skipped="0"');
    expect(xml).toContain('<testcase name="a &lt; b" classname="invoices/a.test.yaml" file="invoices/a.test.yaml" line="4"');
  });

  it('never reaches a configured service, and refuses flags that name one', async () => {
    expect((await run(passing)).code).toBe(0);
    expect([await configured.countAgents(), await configured.countRuns()]).toEqual([0, 0]);
    for (const flag of ['--base-url', '--team', '--profile']) {
      const value = flag === '--base-url' ? configured.service.url : 'x';
      const refusal = await run(passing, [flag, value]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(`${flag} cannot be used here`);
    }
  });

  it('leaves nothing behind, also after Ctrl-C in the middle of a test', async () => {
    const folder = await temporaryTmpdir();
    let interrupt: (() => void) | undefined;
    const result = await run('- { name: done, message: break }\n- { name: sleeps, message: sleep }', ['--junit', 'interrupted.xml'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        if (!stdout.includes('✗ done')) return;
        interrupt?.();
        interrupt = undefined;
      },
    });
    expect(result).toMatchObject({ code: 130, stderr: '' });
    expect(await readdir(folder)).toEqual([]);
    const xml = await configured.read('interrupted.xml');
    expect(xml).toContain('tests="2" failures="1" errors="0" skipped="1"');
  });

  it('removes what killed commands have left, and nothing else', async () => {
    const folder = await temporaryTmpdir();
    const names = ['aops-agents-test-old', 'aops-agents-test-new', 'aops-agents-test-foreign', 'other-old'];
    for (const name of names) await mkdir(path.join(folder, name, 'data'), { recursive: true });
    const [old = '', , foreign = '', other = ''] = names.map((name) => path.join(folder, name));
    await chmod(foreign, 0o777);
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const place of [old, foreign, other]) await utimes(place, longAgo, longAgo);
    expect((await run(passing, ['--filter', 'reason'])).code).toBe(0);
    expect((await readdir(folder)).sort()).toEqual(['aops-agents-test-foreign', 'aops-agents-test-new', 'other-old']);
  });

  it('exits with 9 when --timeout has passed', async () => {
    const result = await run('- { name: sleeps, message: sleep }', ['--timeout', '1s']);
    expect(result).toMatchObject({ code: 9 });
  });

  it('executes no commands unless it may', async () => {
    const tests =
      '- { name: counts, message: "1", files: { in.csv: "a" }, approvals: { "*": true }, expect: { files: { out/report.md: "0" } } }';
    expect((await run(tests)).stdout).toContain('1 passed');
    const result = await run(tests, ['--exec', 'off']);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('commands');
  });
});

/** A folder of its own for the temporary folders of the commands of this test. */
async function temporaryTmpdir(): Promise<string> {
  const folder = await temporaryDirectory();
  vi.stubEnv('TMPDIR', folder);
  afterTest(() => vi.unstubAllEnvs());
  return folder;
}

describe('agents test with cases', () => {
  const tests = `
- name: completes it
  case: { title: Invoice 42, queue: invoices, data: { amount: 42 }, labels: { vendor: Acme, "": [new] }, priority: high }
  expect: { case: { status: completed, reason: "42 of Acme" }, messages: ["invoices: Invoice 42 high new"] }
- name: postpones it
  case: { title: Later, data: { amount: 0 } }
  expect: { case: { status: postponed } }
`;

  it('starts the run with a case, and compares what became of it', async () => {
    await configured.file(
      'cases/procedure.yaml',
      `version: 1
steps:
  - if: case.data.amount == 0
    postpone_case: { for: 2h }
  - say: "{{ case.queue }}: {{ case.title }} {{ case.priority }} {{ case.tags }}"
  - complete_case: "{{ case.data.amount }} of {{ case.labels.vendor }}"
`,
    );
    await configured.file('cases/a.test.yaml', file(tests));
    const passResult = await configured.cli(['agents', 'test', 'cases']);
    expect(passResult, passResult.stdout).toMatchObject({ code: 0 });
    await configured.file('cases/a.test.yaml', file(tests.replace('completed, reason: "42 of', 'failed, reason: "43 of')));
    const failResult = await configured.cli(['agents', 'test', 'cases']);
    expect(failResult.code).toBe(1);
    expect(failResult.stdout).toContain('The case is completed instead of failed.\n');
    expect(failResult.stdout).toContain('No reason of the case contains "43 of Acme". The reasons are:\n');
  });
});

describe('an invalid test file', () => {
  it.each([
    ['an unknown key', '- { name: a, mesage: x }', 'a.test.yaml:4:16: unknown key `mesage`'],
    ['a number as a message', '- { name: a, message: 1 }', ':4:25: '],
    ['a name that appears twice', '- { name: a }\n- { name: a }', ':5:13: the name `a` appears twice'],
    [
      'an expression that is not regular',
      '- { name: a, expect: { messages: [{ matches: "(" }] } }',
      ':4:48: `matches` is not a regular expression',
    ],
    ['a path outside the workspace', '- { name: a, files: { ../x: y } }', ':4:25: `../x` must be a path inside the workspace'],
    [
      'an expected path outside the workspace',
      '- { name: a, expect: { files: { /etc/passwd: y } } }',
      ': `/etc/passwd` must be a path inside',
    ],
    ['a rule that says nothing', '- { name: a, expect: { files: { b: {} } } }', ': this expects nothing'],
    ['files and a repository', '- { name: a, files: {}, repository: . }', ': `files` and `repository` exclude each other'],
    ['a case and a message', '- { name: a, message: hi, case: { title: b } }', ': `case` and `message` exclude each other'],
    ['an expected case without a case', '- { name: a, expect: { case: { status: failed } } }', ': `case` is expected, but'],
    ['a file that does not exist', '- { name: a, files: { b: { from: no.csv } } }', 'a.test.yaml:4: '],
    ['a folder that does not exist', '- { name: a, repository: none }', 'a.test.yaml:4: there is no folder none'],
    ['an unknown status', '- { name: a, expect: { status: done } }', '`completed`, `failed`, `interrupted`, or `waiting`'],
    ['no tests', '[]', '`tests` of the test file is empty'],
    ['invalid YAML', '- { name: a', 'this is not valid YAML'],
  ])('with %s is reported with its line', async (_, tests, message) => {
    const result = await run(tests);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  it('reports the lines of an invalid procedure before any test', async () => {
    await configured.file('broken/procedure.yaml', 'version: 1\nsteps:\n  - aks: hi\n');
    await configured.file('broken/a.test.yaml', file('- { name: a }'));
    const result = await configured.cli(['agents', 'test', 'broken']);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain('broken/procedure.yaml:3:5: unknown step `aks`');
  });

  it.each([
    [['empty'], 'There are no test files in empty.'],
    [['missing'], 'missing cannot be read: there is no such file.'],
    [['invoices', '--env', 'A=1'], '--env and --secret are for agents that are programs'],
    [['invoices', '--concurrency', '0'], '--concurrency must be a whole number'],
  ])('rejects %j', async (argv, message) => {
    await configured.file('empty/readme.md', 'hi');
    await configured.file('invoices/a.test.yaml', file('- { name: a }'));
    const result = await configured.cli(['agents', 'test', ...argv]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});

describe('agents test with a program', () => {
  const define = (mode: string, more = '') => `version: 1\ncommand: ${JSON.stringify(misbehaving(mode))}\n${more}`;

  it('answers its permissions, and compares its files', async () => {
    await configured.file('program/agent.yaml', define('well-behaved'));
    await configured.file('program/AGENTS.md', 'Be brief.\n');
    await configured.file(
      'program/a.test.yaml',
      file(
        `
- name: writes
  message: Hello
  approvals: { "Write result.txt*": true }
  expect: { requests: ["Write *"], messages: [{ contains: I wrote result.txt. }], files: { result.txt: Hello } }
- name: is denied
  message: Hello
  approvals: { "Write result.txt*": false }
  expect: { messages: [{ contains: did not write }], files: { result.txt: { absent: true } } }
`,
        '{ procedure: agent.yaml, instructions: AGENTS.md }',
      ),
    );
    const result = await configured.cli(['agents', 'test', 'program', '--exec', 'host']);
    expect(result.stdout).toContain('2 passed');
    expect(result, result.stdout).toMatchObject({ code: 0, stderr: '' });
  });

  it('gets variables and secrets, which no report contains', async () => {
    await configured.file('key.txt', `${secret}\n`);
    await configured.file('variables/agent.yaml', define('environment', 'secrets: [API_KEY]\nenvironment: { A: b }\n'));
    await configured.file(
      'variables/a.test.yaml',
      file('- { name: reports, message: hi, expect: { messages: ["API_KEY", "no such text"] } }', '{ procedure: agent.yaml }'),
    );
    const missing = await configured.cli(['agents', 'test', 'variables', '--exec', 'host']);
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toContain('needs the secret API_KEY.\nhint: Pass --secret API_KEY=@FILE.');
    const flags = ['--secret', 'API_KEY=@key.txt', '--env', 'PLAIN=1', '--junit', 'variables.xml'];
    const result = await configured.cli(['agents', 'test', 'variables', '--exec', 'host', ...flags]);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('PLAIN');
    expect(`${result.stdout}${result.stderr}${await configured.read('variables.xml')}`).not.toContain(secret);
  });

  it('works on a repository with the files of a folder', async () => {
    await configured.file('repository/agent.yaml', define('well-behaved'));
    await configured.file('repository/fixture/readme.md', 'A repository.\n');
    await configured.file(
      'repository/a.test.yaml',
      file(
        '- { name: writes, message: Hi, repository: fixture, approvals: { "*": true }, expect: { files: { result.txt: Hi, readme.md: { same_as: fixture/readme.md } } } }',
        '{ procedure: agent.yaml }',
      ),
    );
    const result = await configured.cli(['agents', 'test', 'repository', '--exec', 'host']);
    expect(result, result.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(await readdir(path.join(configured.folder, 'repository/fixture'))).toEqual(['readme.md']);
  });
});

it('the published schema is that of the program', async () => {
  const { testFileSchema } = await import('../../../src/commands/agents/testing/schema.ts');
  const published = path.join(import.meta.dirname, '../../../docs/agent-test.schema.json');
  expect(await readFile(published, 'utf8')).toBe(`${JSON.stringify(testFileSchema(), null, 2)}\n`);
});
