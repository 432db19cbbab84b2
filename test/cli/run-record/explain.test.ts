/** Why a run ended as it did, and what to do next: pure functions of its record. */
import { describe, expect, it } from 'vitest';
import type { ComparedRun } from '../../../src/cli/run-record/compare.ts';
import type { ComparableStep } from '../../../src/cli/run-record/digest.ts';
import { explainRun } from '../../../src/cli/run-record/explain.ts';

/** A run with differences from an ordinary one that has completed. */
interface Differences {
  run?: object;
  head?: object;
  digest?: object;
  record?: object;
}

const config = (text: string, more: object = {}) => ({ data: { input: { text } }, ...more });

function run({ run: ofRun, head, digest, record }: Differences = {}): ComparedRun {
  return {
    record: { detail: null, listItem: undefined, revision: { config: config('one') }, gaps: [], ...record },
    head: {
      run: {
        id: 'id-7',
        number: 7,
        title: 'Pay',
        status: 'completed',
        error: null,
        source: 'api',
        duration_milliseconds: 65_000,
        ...ofRun,
      },
      agent: { id: 'a1', name: 'clerk' },
      revision: { id: 'v1', number: 1, runtime: 'script', procedure: 'version: 1\nsteps:\n  - exec: pay' },
      ...{ program: null, usage: null, containment: null, case: null, report: null, evaluation: null, pending_request: null },
      ...head,
    },
    digest: { firstMessage: 'Hello', lastText: null, steps: [], notices: [], ...digest },
  } as unknown as ComparedRun;
}

const step = (number: number, status: string, kind = 'tool'): ComparableStep =>
  ({ number, kind, at: '2026', title: `step ${number}`, status, outcome: '', key: `k${number}`, outcomeKey: status }) as ComparableStep;
const plain = ({ key: _, outcomeKey: __, ...rest }: ComparableStep) => rest;
const goodRun = (differences: Differences = {}) => run({ ...differences, run: { id: 'id-5', number: 5, ...differences.run } });
const commands = (explained: ReturnType<typeof explainRun>) => explained.next.map(({ command }) => command.replace('aops ', ''));

describe('the outcome of a run', () => {
  it.each([
    [{}, 'completed', 'Run #7 completed after 1m 5s. Nothing failed.'],
    [{ duration_milliseconds: null }, 'completed', 'Run #7 completed. Nothing failed.'],
    [{ status: 'failed', error: 'No disk' }, 'failed', 'Run #7 failed after 1m 5s.'],
    [{ status: 'failed', number: null, duration_milliseconds: null }, 'failed', 'Run id-7 failed.'],
    [{ status: 'interrupted' }, 'interrupted', 'Run #7 was interrupted after 1m 5s.'],
    [{ status: 'waiting', duration_milliseconds: null }, 'waiting', 'Run #7 is waiting for an answer'],
    [{ status: 'running', duration_milliseconds: null }, 'active', 'Run #7 is running.'],
    [{ status: 'pending', duration_milliseconds: null }, 'active', 'Run #7 is pending.'],
    [{ status: 'archived' }, 'active', 'Run #7 is archived.'],
  ])('%j is %s', (fields, outcome, summary) => {
    expect(explainRun(run({ run: fields }), undefined)).toMatchObject({ outcome, summary });
  });

  it('that is complete lists what failed along the way', () => {
    const results = [
      { kind: 'agent', status: 'failed', severity: 'critical', title: 'Paid', comment: 'twice' },
      { kind: 'platform', status: 'failed', severity: 'low', title: 'No errors', comment: 7 },
      { kind: 'agent', status: 'passed', severity: 'low', title: 'Polite', comment: null },
      'nonsense',
    ];
    const [two, one] = [{ evaluation: { results } }, { evaluation: { results: results.slice(0, 1) } }];
    const summary = (head: object, ...steps: ComparableStep[]) => explainRun(run({ head, digest: { steps } }), undefined).summary;
    expect(summary(two, step(1, 'failed'))).toBe(
      'Run #7 completed after 1m 5s, but 2 rubrics of its evaluation failed, and 1 tool call failed along the way.',
    );
    expect(summary(one)).toBe('Run #7 completed after 1m 5s, but 1 rubric of its evaluation failed.');
    expect(summary({}, step(1, 'failed'), step(2, 'failed'), step(3, 'failed', 'request'))).toBe(
      'Run #7 completed after 1m 5s, but 2 tool calls failed along the way.',
    );
    expect(explainRun(run({ head: two }), undefined).failed_rubrics).toEqual([
      { severity: 'critical', title: 'Paid', comment: 'twice' },
      { severity: 'low', title: 'No errors', comment: null },
    ]);
    // Of a run that has failed, everybody knows that.
    expect(explainRun(run({ head: two, run: { status: 'failed' } }), undefined).failed_rubrics).toMatchObject([{ title: 'Paid' }]);
    for (const evaluation of [null, { results: 'none' }])
      expect(explainRun(run({ head: { evaluation } }), undefined).failed_rubrics).toEqual([]);
  });
});

it('names the agent, by its ID if it has no name', () => {
  const agent = (head: object) => explainRun(run({ head }), undefined).run.agent;
  expect([agent({}), agent({ agent: { id: 'a1', name: null } }), agent({ agent: null })]).toEqual(['clerk', 'a1', null]);
});

describe('a failure', () => {
  const failure = (error: string | null, steps: ComparableStep[] = [], head: object = {}) =>
    explainRun(run({ run: { status: 'failed', error }, digest: { steps }, head }), undefined);

  it('is in the step that its error names', () => {
    const explained = failure('Step 1 (exec, line 3): exit 1');
    expect(explained.failure).toMatchObject({
      error: 'Step 1 (exec, line 3): exit 1',
      step: { number: 1, kind: 'exec', line: 3, source: '- exec: pay' },
    });
    expect(explained.summary).toBe('Run #7 failed after 1m 5s in step 1 (exec).');
    expect(failure('Step 1 (exec, line 9): no').failure?.step).toMatchObject({ line: 9, source: null });
    expect(failure('Step 1 (exec, line 3): no', [], { revision: null }).failure?.step).toMatchObject({ source: null });
    expect(failure('See Step 1 (exec, line 3)').failure?.step).toBeNull();
    expect(failure(null).failure).toMatchObject({ error: 'The service does not report an error.', step: null });
  });

  it('shows the last call that failed, and the one that did not end', () => {
    const steps = [
      step(1, 'failed'),
      step(2, 'unfinished'),
      step(3, 'failed'),
      step(4, 'failed', 'request'),
      step(5, 'unfinished'),
      step(6, 'done'),
    ];
    const explained = failure('no', steps);
    expect(explained.failure).toMatchObject({
      tool_error: plain(steps[2] as ComparableStep),
      steps_after_tool_error: 3,
      unfinished: plain(steps[4] as ComparableStep),
    });
    expect(explained.failure?.tool_error).not.toHaveProperty('key');
    expect([explained.failed_calls, explained.current_step]).toEqual([2, null]);
    expect(failure('no', [step(1, 'done')]).failure).toMatchObject({ tool_error: null, steps_after_tool_error: 0, unfinished: null });
  });

  it('is not part of another outcome', () => {
    expect(explainRun(run({ digest: { steps: [step(1, 'failed')] } }), undefined)).toMatchObject({ failure: null, failed_calls: 1 });
  });
});

it('the current step is the one in progress, or the last one of a run that was interrupted', () => {
  const steps = [step(1, 'unfinished'), step(2, 'done')];
  const current = (status: string, list = steps) =>
    explainRun(run({ run: { status }, digest: { steps: list } }), undefined).current_step?.number;
  expect(['running', 'waiting', 'interrupted', 'completed', 'failed'].map((status) => current(status))).toEqual([
    1,
    1,
    1,
    undefined,
    undefined,
  ]);
  const done = [step(1, 'done'), step(2, 'done')];
  expect(['running', 'waiting', 'interrupted'].map((status) => current(status, done))).toEqual([undefined, undefined, 2]);
  expect(explainRun(run({ run: { status: 'running' }, digest: { steps } }), undefined).summary).toBe(
    'Run #7 is running, and a call is in progress.',
  );
});

describe('an agent program', () => {
  const program = { name: 'codex', version: '1.2', mode: 'plan', asks: false, command: null };

  it('is shown with its last words on one line', () => {
    const digest = { lastText: 'All\n  done', notices: ['A new session'] };
    const of = (head: object, texts: object = digest) => explainRun(run({ head, digest: texts }), undefined).agent_program;
    expect(of({ program })).toEqual({ name: 'codex 1.2', mode: 'plan', last_text: 'All done', notices: ['A new session'] });
    expect(of({ program: { ...program, version: '', mode: null } })).toMatchObject({ name: 'codex', mode: null });
    expect(of({ revision: { runtime: 'acp', procedure: '' } }, {})).toEqual({ name: null, mode: null, last_text: null, notices: [] });
    expect([of({}), of({ revision: null })]).toEqual([null, null]);
  });

  it('diverges from the last good run where it first did something else', () => {
    const before = goodRun({ digest: { steps: [step(1, 'done'), step(2, 'done'), step(3, 'done')] } });
    const steps = [step(1, 'done'), step(2, 'failed')];
    const explained = explainRun(run({ head: { program }, digest: { steps } }), before);
    expect(explained.divergence).toMatchObject({ before: { number: 2, status: 'done' }, after: { number: 2, status: 'failed' } });
    expect(explainRun(run({ digest: { steps } }), before).divergence).toBeNull();
    const same = goodRun({ digest: { steps } });
    expect(explainRun(run({ head: { program }, digest: { steps } }), same).divergence).toBeNull();
  });
});

describe('the differences from the last good run', () => {
  it('are those of its inputs and of what was used, but not of its outcome', () => {
    const after = run({
      run: { status: 'failed', error: 'no', source: 'schedule', duration_milliseconds: null },
      digest: { steps: [step(1, 'done')] },
      record: { revision: { config: config('two') }, gaps: ['No files.'] },
    });
    const explained = explainRun(after, goodRun());
    expect(explained).toMatchObject({ compared_with: { id: 'id-5', number: 5, status: 'completed' }, gaps: ['No files.'] });
    expect(explained.differences.map(({ name }) => name)).toEqual(['source', 'tool_calls']);
    const slow = explainRun(run({ run: { duration_milliseconds: 1 } }), goodRun());
    expect(slow.differences.map(({ name }) => name)).toEqual(['duration_milliseconds']);
  });

  it('name agents if their names are known, and show a procedure that is new', () => {
    const agents = [
      { id: 'a1', name: 'clerk' },
      { id: 'a2', name: null },
    ];
    const [before, after] = agents.map((agent, index) => run({ head: { agent, ...(index === 0 ? { revision: null } : {}) } }));
    const explained = explainRun(after as ComparedRun, before);
    expect(explained.differences).toMatchObject([{ name: 'agent', before: 'clerk', after: 'a2' }, { name: 'revision' }]);
    expect(explained.procedure).toEqual({ before: '', after: expect.stringContaining('version: 1') });
  });

  it('do not exist without such a run', () => {
    expect(explainRun(run(), undefined)).toMatchObject({
      ...{ compared_with: null, differences: [], divergence: null, procedure: { before: '', after: '' }, config: [] },
    });
  });
});

describe('what to do next', () => {
  const approval = { id: 'h', type: 'approval', title: 'Pay?' };
  const question = { id: 'h', type: 'question', title: 'Which?', questions: [{ question: 'Which?', options: [{ label: 'One' }] }] };

  it('is to answer the request that the summary names', () => {
    const explained = explainRun(run({ run: { status: 'waiting' }, head: { pending_request: approval } }), undefined);
    expect([explained.summary, explained.pending_request]).toEqual(['Run #7 is waiting for an answer: Pay?', approval]);
  });

  it.each([
    ['completed', {}, ['runs export 7']],
    ['running', {}, ['runs watch 7']],
    ['waiting', { pending_request: null }, ['runs watch 7']],
    ['waiting', { pending_request: approval }, ['runs respond 7 --approve', 'runs respond 7 --deny --reason TEXT', 'runs watch 7']],
    ['waiting', { pending_request: question }, ["runs respond 7 --answer 'Which?=One'", 'runs watch 7']],
    ['running', { pending_request: approval }, ['runs watch 7']],
    ['interrupted', {}, ['runs send 7 MESSAGE', 'runs export 7']],
    ['failed', {}, ['runs messages 7 --all', 'agents edit clerk', 'runs rerun 7', 'runs export 7']],
    ['failed', { agent: null }, ['runs messages 7 --all', 'runs export 7']],
    ['failed', { agent: { id: 'a 1', name: null } }, ['runs messages 7 --all', "agents edit 'a 1'", 'runs rerun 7', 'runs export 7']],
  ])('after a run that is %s with %j', (status, head, expected) => {
    expect(commands(explainRun(run({ run: { status }, head }), undefined))).toEqual(expected);
  });

  it('is to compare a run that has not completed with the last good one', () => {
    const first = (status: string) => commands(explainRun(run({ run: { status } }), goodRun())).filter((each) => each.includes('diff'));
    expect(['failed', 'interrupted', 'running', 'completed'].map(first)).toEqual([...Array(3).fill(['runs diff 5 7']), []]);
  });

  it('is to look for an earlier revision only if there is a new one', () => {
    const list = (differences: Differences, before: ComparedRun | undefined) =>
      commands(explainRun(run({ run: { status: 'failed' }, ...differences }), before)).includes('revisions list clerk');
    const procedure = { head: { revision: { id: 'v2', number: 2, runtime: 'script', procedure: 'other' } } };
    const settings = { record: { revision: { config: config('one', { model: 'large' }) } } };
    expect([list(procedure, goodRun()), list(procedure, undefined), list({}, goodRun())]).toEqual([true, false, false]);
    expect(list(settings, goodRun())).toBe(true);
    expect(commands(explainRun(run({ run: { status: 'interrupted' }, ...procedure }), goodRun()))).not.toContain('revisions list clerk');
  });

  it('is to work on the case of a failed run again, and to change what its agent is', () => {
    const differences = { run: { status: 'failed' }, record: { listItem: { case_queue_item_id: 'c1' } } };
    const explained = explainRun(run(differences), undefined);
    expect(commands(explained)).toEqual(['runs messages 7 --all', 'agents edit clerk', 'cases reprocess c1', 'runs export 7']);
    expect(explained.next.find(({ command }) => command.includes('edit'))?.text).toBe('Change the procedure');
    const revision = { id: 'v1', number: 1, runtime: 'acp', procedure: '' };
    const program = explainRun(run({ ...differences, head: { revision } }), undefined);
    expect(program.next.find(({ command }) => command.includes('edit'))?.text).toBe('Change its program, instructions, or permissions');
  });

  it('names the run by its ID if it has no number', () => {
    expect(commands(explainRun(run({ run: { number: null, status: 'failed' } }), goodRun({ run: { number: null } })))).toContain(
      'runs diff id-5 id-7',
    );
  });
});
