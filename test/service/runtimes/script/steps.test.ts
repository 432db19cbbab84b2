import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { Containment } from '../../../../src/service/contained/containment.ts';
import { ServiceError } from '../../../../src/service/errors.ts';
import type { HumanAnswer } from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { runPromptly } from '../../../support/promptly.ts';
import { drive, TestHost, type TestHostOptions, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

const procedure = (...lines: string[]): string => ['version: 1', 'steps:', ...lines.map((line) => `  ${line}`)].join('\n');
const host = (lines: string[], options: TestHostOptions = {}): TestHost => new TestHost(procedure(...lines), place.sandbox, options);
async function run(lines: string[], options: TestHostOptions = {}) {
  const testHost = host(lines, options);
  return { host: testHost, outcome: await drive(testHost) };
}
const approval = (isApproved: boolean, reason?: string): HumanAnswer => ({
  type: 'approval',
  approved: isApproved,
  ...(reason ? { reason } : {}),
});
const answerWith = (answers: Record<string, string | string[]>): HumanAnswer => ({ type: 'question', answers });
const content = async (path: string) => (await place.sandbox.read(path, 10_000)).bytes.toString();

describe('say', () => {
  it('can read the run, the agent, and the messages', async () => {
    const { host, outcome } = await run(
      [
        '- say: "{{ agent.name }} on run {{ run.number }} ({{ run.id }}): {{ message | upcase }} of {{ messages | join: \'+\' }} of {{ messages.size }}"',
      ],
      { messages: ['one', 'two'] },
    );
    expect(outcome).toEqual({ status: 'completed' });
    expect(host.events).toEqual([{ kind: 'text', id: '1-say', text: 'Ada on run 7 (run-1): TWO of one+two of 2' }]);
    expect(host.transactions.map(({ step }) => step)).toEqual(['1-say']);
  });

  it('reads an empty message if there are no messages', async () => {
    expect((await run(['- say: "<{{ message }}>"'], { messages: [] })).host.texts).toEqual(['<>']);
  });

  it('fails with step and line when a template reads an undefined variable', async () => {
    const { outcome } = await run(['- tool: { id: t, name: x, result: { a: 1 } }', '- say: "{{ steps.t.b }}"']);
    expect(outcome).toEqual({ status: 'failed', error: 'Step 2 (say, line 4): undefined variable: steps.t.b.' });
  });

  it('can read own properties only', async () => {
    const { outcome } = await run(['- tool: { id: t, name: x, result: { a: 1 } }', '- say: "{{ steps.t.constructor }}"']);
    expect(outcome).toMatchObject({ status: 'failed' });
  });

  it('is stopped when a template grows without limit', async () => {
    const { outcome } = await run(['- say: "{% for i in (1..100000000) %}x{% endfor %}"']);
    expect(outcome).toMatchObject({ status: 'failed', error: expect.stringContaining('limit exceeded') });
  });
});

it('turns lists and mappings into text, also with | raw', async () => {
  const { host } = await run(['- tool: { id: a, name: x, result: [1, { b: 2 }] }', '- say: "{{ steps.a }} {{ steps.a | raw }}"']);
  expect(host.texts).toEqual(['1, {"b":2} 1, {"b":2}']);
});

describe('tool', () => {
  it('shows a call and its result, and preserves types', async () => {
    const { host } = await run([
      '- tool: { id: sum, name: add, arguments: { a: 1, to: "{{ message }}" }, result: { total: 3, list: [1, "{{ run.number }}"] } }',
      '- tool: { name: "say {{ steps.sum.total }}" }',
      '- tool: { id: bad, name: x, error: "no {{ message }}" }',
      '- say: "{{ steps.bad.error }}"',
    ]);
    expect(host.events).toEqual([
      { kind: 'tool_call', id: '1-tool:call', name: 'add', arguments: { a: 1, to: 'Hello' } },
      { kind: 'tool_result', id: '1-tool:result', callId: '1-tool:call', result: { total: 3, list: [1, 7] } },
      { kind: 'tool_call', id: '2-tool:call', name: 'say 3', arguments: {} },
      { kind: 'tool_result', id: '2-tool:result', callId: '2-tool:call', result: null },
      { kind: 'tool_call', id: '3-tool:call', name: 'x', arguments: {} },
      { kind: 'tool_result', id: '3-tool:result', callId: '3-tool:call', error: 'no Hello' },
      { kind: 'text', id: '4-say', text: 'no Hello' },
    ]);
  });

  it('takes as long as specified, across restarts', async () => {
    const testHost = host(['- tool: { name: slow, result: "{{ message }}", takes: 300ms }'], { messages: ['before'] });
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'sleeping', until: 1_000_300 });
    expect(testHost.events.map(({ kind }) => kind)).toEqual(['tool_call']);
    testHost.userMessages.push('after');
    testHost.now = 1_000_299;
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'sleeping', until: 1_000_300 });
    testHost.now = 1_000_300;
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'completed' });
    expect(testHost.results()).toMatchObject([{ result: 'before' }]);
  });
});

describe('exec', () => {
  it('runs a command and stores its result', async () => {
    const { host, outcome } = await run([
      '- exec: { id: c, run: "echo a; echo b; echo warn >&2" }',
      '- say: "{{ steps.c.exit_code }} [{{ steps.c.stdout }}] [{{ steps.c.stderr }}]"',
    ]);
    expect(outcome.status).toBe('completed');
    expect(host.texts).toEqual(['0 [a\nb] [warn]']);
    expect(host.events.slice(0, 2)).toEqual([
      { kind: 'tool_call', id: '1-exec:call', name: 'exec', arguments: { command: 'echo a; echo b; echo warn >&2' } },
      {
        kind: 'tool_result',
        id: '1-exec:result',
        callId: '1-exec:call',
        result: { exit_code: 0, stdout: 'a\nb\n', stderr: 'warn\n', timed_out: false, truncated: false },
      },
    ]);
  });

  it('fails the run with the last line of stderr', async () => {
    const { host, outcome } = await run(['- exec: { run: "echo one >&2; echo two >&2; exit 3" }', '- say: never']);
    expect(outcome).toEqual({ status: 'failed', error: 'Step 1 (exec, line 3): the command failed with exit code 3: two' });
    expect(host.results()).toMatchObject([{ error: 'the command failed with exit code 3: two', result: { exit_code: 3 } }]);
    // The same when the engine advances the run again.
    expect(await scriptRuntime.advance(host)).toEqual(outcome);
  });

  it('continues with on_error: continue', async () => {
    const { host, outcome } = await run([
      '- exec: { id: c, run: "exit 3", on_error: continue }',
      '- { if: steps.c.exit_code == 3, say: "three" }',
    ]);
    expect(outcome.status).toBe('completed');
    expect(host.texts).toEqual(['three']);
  });

  it('is terminated at its time limit', async () => {
    const { outcome } = await run(['- exec: { run: "sleep 30", timeout: 100ms }']);
    expect(outcome).toEqual({
      status: 'failed',
      error: 'Step 1 (exec, line 3): the command was terminated because it ran longer than 0.1 seconds.',
    });
  });

  it('explains how to allow commands only if they are not allowed', async () => {
    const { host, outcome } = await run(['- { if: false, exec: { run: "touch never" } }', '- exec: { run: "touch never" }'], {
      launcher: new Containment({ setting: 'off', dataDirectory: '', searchPath: '' }),
    });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('Start it with `--exec auto` to run them contained'),
    });
    expect(host.events).toEqual([]);
    expect(await place.sandbox.list('')).toEqual([]);
  });

  it('ends promptly when the run is stopped', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    const testHost = host(['- exec: { run: "echo $$ > started; sleep 30" }'], { signal: controller.signal });
    const advancing = scriptRuntime.advance(testHost);
    while (!(await place.sandbox.stat('started').catch(() => undefined))) await systemClock.sleep(5);
    controller.abort(reason);
    await runPromptly(() => expect(advancing).rejects.toBe(reason), 1_000);
    await expect(scriptRuntime.advance(testHost)).rejects.toBe(reason);
  });
});

describe('write', () => {
  it('writes texts and JSON', async () => {
    const { host } = await run([
      '- tool: { id: t, name: x, result: { n: 2, ok: true } }',
      '- write: { path: "out/{{ message }}.txt", content: "{{ message }}!" }',
      '- write: { path: /workspace/a.json, json: { n: "{{ steps.t.n }}", ok: "{{ steps.t.ok }}", s: "{{ steps.t.n }}x", all: "{{ steps.t }}" } }',
    ]);
    expect(await content('out/Hello.txt')).toBe('Hello!');
    expect(JSON.parse(await content('a.json'))).toEqual({ n: 2, ok: true, s: '2x', all: { n: 2, ok: true } });
    expect(host.events.slice(2, 4)).toEqual([
      { kind: 'tool_call', id: '2-write:call', name: 'write_file', arguments: { path: 'out/Hello.txt' } },
      { kind: 'tool_result', id: '2-write:result', callId: '2-write:call', result: { path: '/workspace/out/Hello.txt', size: 6 } },
    ]);
  });

  it('fails the run when the path leads outside the workspace', async () => {
    const { host, outcome } = await run(['- write: { path: "{{ message }}", content: x }'], { messages: ['../x'] });
    expect(outcome).toEqual({ status: 'failed', error: 'Step 1 (write, line 3): The path "../x" is not allowed: it contains "..".' });
    expect(host.results()).toMatchObject([{ error: expect.stringContaining('not allowed') }]);
  });
});

describe('ask', () => {
  const oneQuestion = [
    '- ask: { id: who, questions: [ { question: "Which {{ message }}?", options: [ { label: A, description: first }, { label: B } ], multi_select: true } ] }',
    '- say: "{{ answers.who }}"',
  ];

  it('waits, and continues with the answer', async () => {
    const testHost = host(oneQuestion);
    const waitingState = {
      status: 'waiting',
      step: '1-ask',
      request: {
        type: 'question',
        title: 'Which Hello?',
        questions: [{ question: 'Which Hello?', options: [{ label: 'A', description: 'first' }, { label: 'B' }], multi_select: true }],
      },
    };
    expect(await scriptRuntime.advance(testHost)).toEqual(waitingState);
    expect(await scriptRuntime.advance(testHost)).toEqual(waitingState);
    testHost.answers['1-ask'] = answerWith({ 'Which Hello?': ['A', 'B'] });
    expect(await drive(testHost)).toEqual({ status: 'completed' });
    expect(testHost.texts).toEqual(['A, B']);
  });

  it('keeps its question when a message arrives while it waits', async () => {
    const testHost = host(oneQuestion);
    await scriptRuntime.advance(testHost);
    testHost.userMessages.push('other');
    testHost.answers['1-ask'] = answerWith({ 'Which Hello?': 'A' });
    await drive(testHost);
    expect(testHost.texts).toEqual(['A']);
  });

  it('provides several answers by question and by header', async () => {
    const lines = [
      '- ask: { id: d, questions: [ { question: "Note?", header: note }, { question: "Which?", options: [ { label: A } ] } ] }',
      "- say: \"{{ answers.d.note }} {{ answers.d['Note?'] }} {{ answers.d['Which?'] }}\"",
    ];
    const { host, outcome } = await run(lines, { answers: { '1-ask': answerWith({ 'Note?': 'hi', 'Which?': 'A' }) } });
    expect(outcome.status).toBe('completed');
    expect(host.texts).toEqual(['hi hi A']);
    expect(await drive(new TestHost(procedure(...lines), place.sandbox))).toMatchObject({ request: { title: 'Note? (and 1 more)' } });
  });

  it.each([
    ['[ { question: "{{ message }}" } ]', 'question 1 is empty.'],
    [
      '[ { question: "Who{{ message }}?" }, { question: "Who?" } ]',
      '"Who?" is asked twice; each question must be different, because it identifies the answer.',
    ],
    ['[ { question: Who?, options: [ { label: "{{ message }}" } ] } ]', 'all options of "Who?" are empty.'],
  ])('does not ask questions that templates made unanswerable: %s', async (questions, reason) => {
    const { outcome } = await run([`- ask: { id: who, questions: ${questions} }`], { messages: [''] });
    expect(outcome).toEqual({ status: 'failed', error: `Step 1 (ask, line 3): ${reason}` });
  });

  it('omits options that turn out to be empty', async () => {
    const lines = ['- ask: { id: who, questions: [ { question: Who?, options: [ { label: Acme }, { label: "{{ message }}" } ] } ] }'];
    const { outcome } = await run(lines, { messages: [''] });
    expect(outcome).toMatchObject({ request: { questions: [{ question: 'Who?', options: [{ label: 'Acme' }] }] } });
  });
});

describe('approve', () => {
  const step = (onDeny?: string) => [
    `- approve: { id: pay, title: "Pay {{ message }}?", description: All of it${onDeny ? `, on_deny: ${onDeny}` : ''} }`,
    '- say: "{{ answers.pay }}"',
  ];
  const decide = (decision: HumanAnswer, onDeny?: string) => run(step(onDeny), { answers: { '1-approve': decision } });

  it('waits for a decision', async () => {
    expect((await run(step())).outcome).toEqual({
      status: 'waiting',
      step: '1-approve',
      request: { type: 'approval', title: 'Pay Hello?', description: 'All of it' },
    });
    const { host, outcome } = await decide(approval(true));
    expect(outcome.status).toBe('completed');
    expect(host.texts).toEqual(['true']);
  });

  it.each([
    [undefined, { status: 'failed', error: '"Pay Hello?" was denied: too much' }, []],
    ['fail', { status: 'failed', error: '"Pay Hello?" was denied: too much' }, []],
    ['continue', { status: 'completed' }, ['false']],
    ['stop', { status: 'completed' }, []],
    ['{ say: "Then not: {{ steps.pay.reason }}" }', { status: 'completed' }, ['Then not: too much']],
    ['{ say: Well., fail: "Denied, {{ answers.pay }}" }', { status: 'failed', error: 'Denied, false' }, ['Well.']],
    ['{ fail: Denied }', { status: 'failed', error: 'Denied' }, []],
  ])('when denied with on_deny %s', async (onDeny, outcome, texts) => {
    const result = await decide(approval(false, 'too much'), onDeny);
    expect(result.outcome).toEqual(outcome);
    expect(result.host.texts).toEqual(texts);
    expect(await scriptRuntime.advance(result.host)).toEqual(outcome);
    expect(result.host.texts).toEqual(texts);
  });
});

describe('screenshot', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex');

  it('shows a picture', async () => {
    await place.sandbox.write('shots/a.png', png);
    const { host } = await run([
      '- screenshot: { path: shots/a.png, title: "For {{ message }}", url: "https://example.com", action: click }',
    ]);
    const input = { path: 'shots/a.png', title: 'For Hello', url: 'https://example.com' };
    expect(host.events).toEqual([
      { kind: 'tool_call', id: '1-screenshot:call', name: 'screenshot', arguments: { ...input, action: 'click' } },
      {
        kind: 'tool_result',
        id: '1-screenshot:result',
        callId: '1-screenshot:call',
        result: { path: '/workspace/shots/a.png', mime_type: 'image/png', size: 12 },
        screenshot: '1-screenshot:image',
      },
      {
        kind: 'screenshot',
        id: '1-screenshot:image',
        toolName: 'screenshot',
        action: 'click',
        startedAt: new Date(1_000_000),
        input,
        image: { name: 'a.png', mimeType: 'image/png', bytes: png },
      },
    ]);
  });

  it('fails for a file that is missing or not an image', async () => {
    await place.sandbox.write('a.png', Buffer.from('text'));
    expect((await run(['- screenshot: { path: a.png }'])).outcome).toEqual({
      status: 'failed',
      error: 'Step 1 (screenshot, line 3): /workspace/a.png is not a PNG, JPEG, or WebP image.',
    });
    expect((await run(['- screenshot: { path: b.png }'])).outcome).toMatchObject({
      error: expect.stringContaining('no file or directory'),
    });
  });
});

describe('sleep, fail and if', () => {
  it('sleeps by the clock, once', async () => {
    const testHost = host(['- sleep: 1m', '- say: up']);
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'sleeping', until: 1_060_000 });
    testHost.now += 30_000;
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'sleeping', until: 1_060_000 });
    testHost.now += 30_000;
    expect(await scriptRuntime.advance(testHost)).toEqual({ status: 'completed' });
    expect(testHost.transactions.map(({ step }) => step)).toEqual(['1-sleep:until', '1-sleep', '2-say']);
  });

  it('fails with its error', async () => {
    expect((await run(['- fail: "No {{ message }}"', '- say: never'])).outcome).toEqual({ status: 'failed', error: 'No Hello' });
  });

  it('skips steps whose condition is false; their results are nil', async () => {
    const { host, outcome } = await run([
      '- { if: message == "Bye", ask: { id: who, questions: [ { question: Who? } ] } }',
      '- { if: message == "Bye", exec: { id: c, run: "exit 1" } }',
      '- { if: answers.who or steps.c.exit_code == 0, fail: never }',
      '- { if: message contains "Hel", say: "<{{ answers.who }}>" }',
      '- { if: true, say: yes it is }',
    ]);
    expect(outcome.status).toBe('completed');
    expect(host.texts).toEqual(['<>', 'yes it is']);
    expect(host.transactions.slice(0, 3)).toMatchObject([
      { step: '1-ask', result: { skipped: true } },
      { step: '2-exec' },
      { step: '3-fail', result: { skipped: true } },
    ]);
  });

  it('decides the condition of a waiting step once', async () => {
    const testHost = host([
      '- { if: message == "Hello", ask: { id: who, questions: [ { question: Who? } ] } }',
      '- say: "{{ answers.who }}"',
    ]);
    await scriptRuntime.advance(testHost);
    testHost.userMessages.push('Bye');
    testHost.answers['1-ask'] = answerWith({ 'Who?': 'me' });
    await drive(testHost);
    expect(testHost.texts).toEqual(['me']);
  });

  it('fails the run if the procedure is not valid', async () => {
    expect((await run(['- aks: 1'])).outcome).toMatchObject({ status: 'failed', error: expect.stringContaining('line 3') });
  });

  it('throws errors that the procedure did not cause', async () => {
    const testHost = host(['- write: { path: a, content: x }']);
    testHost.commit = () => Promise.reject(new Error('lost the lease'));
    await expect(scriptRuntime.advance(testHost)).rejects.toThrow('lost the lease');
  });
});

describe('remember', () => {
  it('writes with the step, and templates can read it immediately', async () => {
    const { host, outcome } = await run(
      [
        '- remember: { path: "notes/{{ message }}.md", content: "{{ memory[\'old.md\'] }}!" }',
        '- if: memory["notes/Hello.md"] == "before!" and memory["nothing.md"] == nil',
        '  say: "{{ memory[\'notes/Hello.md\'] }}{{ memory.constructor }}{% for file in memory %}[{{ file[0] }}]{% endfor %}"',
      ],
      { memory: { 'old.md': 'before' } },
    );
    expect(outcome).toEqual({ status: 'completed' });
    expect(host.texts).toEqual(['before![old.md][notes/Hello.md]']);
    expect(host.transactions.map(({ step }) => step)).toEqual(['1-remember', '2-say']);
  });

  it('fails the run with the reason when the memory rejects the file', async () => {
    const { host, outcome } = await run(['- remember: { path: a.md, content: x }', '- say: never'], {
      refusal: new ServiceError(409, 'memory_full', 'It is full.'),
    });
    expect(outcome).toEqual({ status: 'failed', error: 'Step 1 (remember, line 3): It is full.' });
    expect(host.results()).toMatchObject([{ error: 'Step 1 (remember, line 3): It is full.' }]);
    expect(host.texts).toEqual([]);
  });

  it('accepts content or json', async () => {
    for (const payload of ['{ path: a.md }', '{ path: a.md, content: x, json: 1 }'])
      expect(() => scriptRuntime.validate(procedure(`- remember: ${payload}`))).toThrow(/`remember` (needs|has)/);
  });
});
