import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isCheap } from '../../../../../src/service/runtimes/script/rendering/cheap.ts';
import { neededScope } from '../../../../../src/service/runtimes/script/rendering/needed-scope.ts';
import { condition, renderParts, text, texts, value } from '../../../../../src/service/runtimes/script/rendering/parts.ts';
import { defaultLimits, PassRendering, type RenderLimits } from '../../../../../src/service/runtimes/script/rendering/pass.ts';
import { RenderPool } from '../../../../../src/service/runtimes/script/rendering/pool.ts';
import { RenderLimitError } from '../../../../../src/service/runtimes/script/rendering/thread.ts';
import { createScriptRuntime } from '../../../../../src/service/runtimes/script/script-runtime.ts';
import type { Scope } from '../../../../../src/service/runtimes/script/template.ts';
import { afterTest } from '../../../../support/temporary.ts';
import { config, startApi } from '../../../helpers/service.ts';
import { TestHost, type TestHostOptions, type TestSandbox, testSandbox } from '../host.ts';

let place: TestSandbox;
let pool: RenderPool;
beforeEach(async () => {
  place = await testSandbox();
  pool = new RenderPool();
});
afterEach(async () => {
  pool.close();
  await place.remove();
});

const procedure = (...lines: string[]): string => ['version: 1', 'steps:', ...lines.map((line) => `  ${line}`)].join('\n');
const host = (lines: string[], options: TestHostOptions = {}): TestHost => new TestHost(procedure(...lines), place.sandbox, options);
const runtime = (limits: RenderLimits = defaultLimits, threads = pool) => createScriptRuntime({ pool: threads, limits });

/** Takes a second, the limit of one rendering; used many times. */
const slowTemplate = "{{ message | split: '' | where_exp: 'x', 'message contains x' | size }}";
const longText = 'y'.repeat(200_000);
const slowWrite = (count: number): string => `- write: { path: a.json, json: [${Array(count).fill(`"${slowTemplate}"`).join(', ')}] }`;

/** Renders in a thread like the real one, but every rendering counts as this many milliseconds, however busy the machine is. */
class TimedPool extends RenderPool {
  readonly #milliseconds: number;

  constructor(milliseconds: number) {
    super();
    this.#milliseconds = milliseconds;
    afterTest(() => this.close());
  }

  override async render(...[request, options]: Parameters<RenderPool['render']>): ReturnType<RenderPool['render']> {
    if (options.limit < this.#milliseconds) throw new RenderLimitError('time');
    return { ...(await super.render(request, { ...options, limit: 60_000 })), duration: this.#milliseconds };
  }
}

const scope: Scope = {
  message: 'Hello & "good" bye',
  messages: ['one', 'two'],
  answers: { pay: true, who: 'b' },
  steps: { a: { stdout: 'text\nof a' }, b: { list: [1, 2.5, null, { c: 'd' }] } },
  run: { id: 'run-1', number: 7 },
  agent: { name: 'Ada' },
  memory: {},
  case: null,
};

describe('templates that take long', () => {
  it('do not block the service, and can be stopped', async () => {
    const api = await startApi({ runtimes: [runtime({ step: 3_600_000, pass: 3_600_000 })] });
    const body = { name: 'Slow', build: { name: 'first', config: config(procedure(slowWrite(1_000)), 'script') } };
    const { agent } = await api.ok('createAgent', { body });
    const { run } = await api.ok('startRun', { body: { agent_id: agent.id, message: longText } });
    await api.until(run.id, 'running');
    for (let request = 0; request < 20; request++) expect((await api.send('GET', '/healthz')).status).toBe(200);
    expect((await api.ok('getRun', { params: { run_id: run.id } })).run.status).toBe('running');
    await api.ok('stopRun', { params: { run_id: run.id } });
    expect((await api.until(run.id, 'interrupted')).error).toBeNull();
  });

  it('fail their step when they exceed the time limit of a step', async () => {
    const testHost = host(['- say: "one {{ run.number }}"', '- say: two', slowWrite(1_000)], { messages: [longText] });
    expect(await runtime({ step: 300, pass: 60_000 }).advance(testHost)).toEqual({
      status: 'failed',
      error: 'Step 3 (write, line 5) took longer than 0.3 s to render its templates.',
    });
    expect(testHost.texts).toEqual(['one 7', 'two']);
  });

  it('have a time limit for all templates of a step, and one for all steps', async () => {
    const limits: number[] = [];
    const measuringPool: Pick<RenderPool, 'render'> = {
      render: async (_, { limit }) => {
        limits.push(limit);
        return { values: {}, duration: 3_000 };
      },
    };
    const rendering = new PassRendering(measuringPool, {
      limits: { step: 5_000, pass: 10_000 },
      lane: 'a',
      signal: new AbortController().signal,
    });
    for (const step of ['1-write', '1-write', '2-say', '3-say'])
      await rendering.render(step, { one: text(slowTemplate) }, scope, new Map());
    expect(limits).toEqual([5_000, 2_000, 4_000, 1_000]);
  });

  it('fail the step in which a pass exceeds its time limit', async () => {
    const loopStep = '- say: "{% for i in (1..20000) %}{% endfor %}{{ run.number }}"';
    const testHost = host(Array(4).fill(loopStep) as string[]);
    expect(await runtime({ step: 60_000, pass: 200 }, new TimedPool(80)).advance(testHost)).toEqual({
      status: 'failed',
      error: 'Step 3 (say, line 5) was not executed: the steps before it took longer than 0.2 s to render their templates.',
    });
    expect(testHost.texts).toHaveLength(2);
  });

  it('fail their step when they need too much memory', async () => {
    const smallPool = new RenderPool({ memory: 16 });
    const lines = [`- write: { path: a.json, json: [${Array(300).fill('"{{ message | split: empty }}"').join(', ')}] }`];
    const testHost = host(lines, { messages: ['y'.repeat(500_000)] });
    expect(await runtime(defaultLimits, smallPool).advance(testHost)).toEqual({
      status: 'failed',
      error: 'Step 1 (write, line 3) needs too much memory to render its templates.',
    });
    // The next one has a new thread.
    expect(await runtime(defaultLimits, smallPool).advance(host(["- say: \"{{ message | split: 'l' | join: '-' }}\""]))).toEqual({
      status: 'completed',
    });
  });

  it('fail their step when they produce too much', async () => {
    const lines = [`- write: { path: a.json, json: [${Array(20).fill('"{{ message | append: run.number }}"').join(', ')}] }`];
    const outcome = await runtime().advance(host(lines, { messages: ['y'.repeat(1_000_000)] }));
    expect(outcome).toEqual({ status: 'failed', error: 'Step 1 (write, line 3): its templates produce more than 16 million characters.' });
  });

  it('do not block other teams, however many there are', async () => {
    const parallelPool = new RenderPool({ threads: 2 });
    const controller = new AbortController();
    const request = (template: unknown) => ({ parts: { one: texts(template) }, scope: { ...scope, message: longText }, memory: new Map() });
    const endOrder: number[] = [];
    const busyRequests = Array.from({ length: 5 }, (_, index) =>
      parallelPool
        .render(request(Array(1_000).fill(slowTemplate)), { lane: 'one', limit: 3_600_000, signal: controller.signal })
        .catch(() => undefined)
        .finally(() => endOrder.push(index)),
    );
    const quickRequest = request("{{ messages | join: '-' }}");
    for (const lane of ['two', 'three', 'two']) {
      const { values } = await parallelPool.render(quickRequest, { lane, limit: 60_000, signal: new AbortController().signal });
      expect(values).toEqual({ one: 'one-two' });
    }
    expect(endOrder).toEqual([]);
    controller.abort(new Error('enough'));
    await Promise.all(busyRequests);
    parallelPool.close();
  });
});

describe('a thread', () => {
  it('produces the same results as this one', async () => {
    const files = new Map([['notes.txt', 'first\nsecond']]);
    const parts = {
      greeting: text('{{ agent.name }}: {{ message | split: " " | reverse | join: " " }}'),
      whole: value({
        a: '{{ steps.b.list }}',
        b: ['{{ answers.pay }}', '{{ run.number | plus: 1 }}'],
        c: null,
        d: '{{ messages | size }}',
      }),
      listed: texts({ list: ['{{ run.number }}'], count: 3 }),
      yes: condition('answers.pay and message contains "good"'),
      no: condition('answers.who == "c"'),
      none: text(undefined),
    };
    const request = { parts, scope, memory: files };
    const { values } = await pool.render(request, { lane: 'a', limit: 60_000, signal: new AbortController().signal });
    expect(values).toEqual(renderParts(parts, scope));
    const lines = ["- say: \"{{ memory['notes.txt'] | split: 's' | join: '-' }} {{ memory['none'] | default: 'nothing' | append: '.' }}\""];
    const testHost = host(lines, { memory: Object.fromEntries(files) });
    expect(await runtime().advance(testHost)).toEqual({ status: 'completed' });
    expect(testHost.texts).toEqual(['fir-t\n-econd nothing.']);
  });

  it('reports the problem of a template like this one', async () => {
    const lines = ['- say: |', '    {{ messages | join: "," }}', '    {{ steps.t.missing | append: "x" }}'];
    const testHost = host(['- tool: { id: t, name: x, result: { a: 1 } }', ...lines]);
    expect(await runtime().advance(testHost)).toEqual({
      status: 'failed',
      error: 'Step 2 (say, line 4): undefined variable: steps.t.missing.',
    });
  });

  it('only gets what its templates can read', () => {
    const nothing = { message: '', messages: [], answers: {}, steps: {} };
    expect(neededScope(['{{ run.number }}', 'message, messages, answers, and steps'], scope)).toMatchObject(nothing);
    expect(neededScope(['{{ steps.a.stdout }} and {{ steps }}'], scope).steps).toBe(scope.steps);
    expect(neededScope(['{{ steps.a.stdout }}', '{{ message }}'], scope)).toMatchObject({
      message: scope.message,
      messages: [],
      steps: { a: scope.steps.a },
    });
    expect(neededScope(['{{ steps[answers.who] }}'], scope)).toMatchObject({ steps: scope.steps, answers: { who: 'b' } });
    expect(neededScope(['{{ steps . a }}'], scope).steps).toEqual({ a: scope.steps.a });
  });
});

describe('what is rendered in this thread', () => {
  it.each([
    'text without templates ... | split: "," (1..3)',
    'a long text '.repeat(10_000),
    'Hello {{ agent.name }}, {{ message }}',
    'Counting {{ run.number }}... {{ message }}',
    '{{ message | upcase | default: "none" }} | sort',
    '{% if answers.pay %}{{ steps.a.stdout | strip }}{% else %}no{% endif %}',
    '{{ answers.pay and message contains "x" }}',
  ])('%.80s', (template) => expect(isCheap([template], scope)).toBe(true));

  it.each([
    '{% for m in messages %}{{ m }}{% endfor %}',
    "{{ message | split: '' }}",
    slowTemplate,
    '{{ (1..3000000) }}',
    '{%- for i in messages -%}{%- endfor -%}',
    '{% assign a = message %}{{ a }}',
    '{{ message | date: "%1000000d" }}',
    '{{ message | json | json | json | json | json }}',
    '{{ message }}'.repeat(200),
    `${' '.repeat(20_000)}{{ message }}`,
  ])('but not %s', (template) => expect(isCheap([template], scope)).toBe(false));

  it('depends on how much a template can read', () => {
    const much = { ...scope, message: longText };
    expect(isCheap(['{{ message }} {{ message }}'], much)).toBe(true);
    expect(isCheap(['{{ message }} '.repeat(10)], much)).toBe(false);
    expect(isCheap(['{{ message | upcase }}'], much)).toBe(false);
    let nestedValue: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) nestedValue = [nestedValue];
    expect(isCheap(['{{ steps.a }}'], { ...scope, steps: { a: nestedValue } })).toBe(false);
  });
});
