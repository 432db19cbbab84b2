/** What differs between two runs, and the parts of a record that cannot be read. */
import { describe, expect, it } from 'vitest';
import { AopsError, type ExitCode, exitCodes } from '../../../src/base/errors.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import {
  alignSteps,
  answerChanges,
  type ComparedRun,
  fieldChanges,
  fileChanges,
  usageChanges,
} from '../../../src/cli/run-record/compare.ts';
import type { ComparableStep } from '../../../src/cli/run-record/digest.ts';
import { isGap, readOrNoteGap, readPart } from '../../../src/cli/run-record/gaps.ts';
import { lastGoodRun } from '../../../src/cli/run-record/last-good-run.ts';
import type { RecordedHumanRequest, Run } from '../../../src/interface/types.ts';
import { failureOf } from '../../client/harness.ts';

/** Steps such as `a`, or `a=failed` with another outcome. */
const steps = (words: readonly string[]): ComparableStep[] =>
  words.map((word, index) => {
    const [key = '', outcome = 'done'] = word.split('=');
    return { number: index + 1, kind: 'tool', at: '2026', title: key, status: 'done', outcome, key, outcomeKey: outcome };
  });
/** `=1:1` for the same step, `~` for another outcome, `-1` and `+1` for steps of one run. */
const aligned = (before: readonly string[], after: readonly string[]): string =>
  alignSteps(steps(before), steps(after))
    .map(
      ({ change, before: left, after: right }) =>
        `${{ same: '=', outcome: '~', removed: '-', added: '+' }[change]}${left?.number ?? ''}:${right?.number ?? ''}`,
    )
    .join(' ');

describe('the steps of two runs', () => {
  it.each([
    [[], [], ''],
    [['a', 'b'], ['a', 'b'], '=1:1 =2:2'],
    [['a', 'b'], ['a', 'b=failed'], '=1:1 ~2:2'],
    [['a', 'b', 'c'], ['a', 'c'], '=1:1 -2: =3:2'],
    [['a', 'c'], ['a', 'b', 'c'], '=1:1 +:2 =2:3'],
    [['a'], [], '-1:'],
    [[], ['a'], '+:1'],
  ])('%j and %j are aligned where they did the same', (before, after, expected) => {
    expect(aligned(before, after)).toBe(expected);
  });

  it('are not aligned after the first difference if there are thousands of differences', () => {
    const many = (name: string): string[] => ['a', 'b', ...Array.from({ length: 1_200 }, (_, index) => `${name}${index}`), 'end'];
    const changes = alignSteps(steps(many('x')), steps(many('y')));
    expect(changes.slice(0, 3).map(({ change }) => change)).toEqual(['same', 'same', 'removed']);
    expect([
      changes.filter(({ change }) => change === 'removed').length,
      changes.filter(({ change }) => change === 'added').length,
    ]).toEqual([...[1_201, 1_201]]);
    expect(changes.at(-1)).toMatchObject({ change: 'added', after: { number: 1_203, title: 'end' } });
    expect(changes[0]?.before).not.toHaveProperty('key');
    expect(changes[0]?.before).not.toHaveProperty('outcomeKey');
  });

  it('that continue where the other run has ended are added or removed', () => {
    const long = ['a', ...Array.from({ length: 3_000 }, (_, index) => `x${index}`)];
    expect(alignSteps(steps(['a']), steps(long)).map(({ change }) => change)).toEqual(['same', ...long.slice(1).map(() => 'added')]);
    expect(alignSteps(steps(long), steps(['a'])).map(({ change }) => change)).toEqual(['same', ...long.slice(1).map(() => 'removed')]);
  });
});

it('the answers to requests that both runs made are compared in order', () => {
  const request = (title: string, response: string | null, type = 'approval') => ({ title, type, response }) as RecordedHumanRequest;
  const before = [request('Pay?', 'yes'), request('Pay?', 'no'), request('Ship?', 'yes'), request('Why?', 'x'), request('Who?', null)];
  const after = [request('Pay?', 'yes'), request('Pay?', 'yes'), request('Ship?', 'yes', 'question'), request('Who?', 'me')];
  expect(answerChanges(before, after)).toEqual([
    { title: 'Pay?', before: 'no', after: 'yes' },
    { title: 'Who?', before: null, after: 'me' },
  ]);
  expect(answerChanges(undefined, after)).toEqual([]);
  expect(answerChanges([request('Pay?', 'yes')], [request('Pay?', null)])).toEqual([{ title: 'Pay?', before: 'yes', after: null }]);
});

it('files are compared by their hashes, and without these by their sizes', () => {
  const file = (path: string, size: number, sha256: string | null) => ({ path, size, sha256 });
  const before = [
    file('same', 1, 'a'),
    file('hash', 1, 'a'),
    file('size', 1, null),
    file('unknown', 1, null),
    file('gone', 1, 'a'),
    file('half', 1, 'a'),
  ];
  const after = [
    file('new', 0, null),
    file('same', 1, 'a'),
    file('hash', 1, 'b'),
    file('size', 2, 'a'),
    file('unknown', 1, 'b'),
    file('half', 1, null),
  ];
  expect(fileChanges(before, after).map(({ path, change, size_before, size_after }) => [path, change, size_before, size_after])).toEqual([
    ['gone', 'removed', 1, null],
    ['hash', 'changed', 1, 1],
    ['new', 'added', null, 0],
    ['size', 'changed', 1, 2],
  ]);
  expect(fileChanges(before, after)[1]).toMatchObject({ sha256_before: 'a', sha256_after: 'b' });
});

describe('facts about two runs', () => {
  const compared = (run: object, head: object = {}, digest: object = {}, detail: object | null = null): ComparedRun =>
    ({
      record: { detail },
      head: {
        run: { status: 'completed', error: null, source: 'api', duration_milliseconds: 5, ...run },
        agent: null,
        revision: null,
        case: null,
        program: null,
        usage: null,
        containment: null,
        evaluation: null,
        ...head,
      },
      digest: { firstMessage: null, lastText: null, steps: [], ...digest },
    }) as unknown as ComparedRun;

  it('are listed where they differ', () => {
    const before = compared({});
    const after = compared(
      { status: 'failed', error: 'No disk' },
      {
        agent: { id: 'a1', name: null },
        revision: { id: 'v1', number: 3 },
        case: { id: 'c1', title: 'Case' },
        program: { name: 'codex', version: '', mode: 'plan', asks: false },
        evaluation: { passed: 1, total: 2 },
      },
      { firstMessage: 'Hi' },
      { integrationInstances: [{ name: 'b' }, { provider: 'a' }, { id: 7 }] },
    );
    expect(fieldChanges(before, before)).toEqual([]);
    expect(fieldChanges(before, after).map(({ name, before: left, after: right }) => [name, left, right])).toEqual([
      ['status', 'completed', 'failed'],
      ['error', null, 'No disk'],
      ['agent', null, 'a1'],
      ['revision', null, 3],
      ['message', null, 'Hi'],
      ['case', null, 'Case'],
      ['program', null, 'codex'],
      ['mode', null, 'plan'],
      ['asks_before_acting', null, false],
      ['connections', null, '7, a, b'],
      ['evaluation', null, '1 of 2 passed'],
    ]);
  });

  it('include what was used', () => {
    const [call, failed, request] = [
      { kind: 'tool', status: 'done' },
      { kind: 'tool', status: 'failed' },
      { kind: 'request', status: 'failed' },
    ];
    const after = compared(
      { duration_milliseconds: 9 },
      { usage: { context_tokens: 100, cost: { amount: 0.5, currency: 'EUR' } } },
      { steps: [call, failed, failed, request] },
    );
    expect(usageChanges(compared({}), after).map(({ name, before, after: right }) => [name, before, right])).toEqual([
      ['duration_milliseconds', 5, 9],
      ['tool_calls', 0, 3],
      ['failed_calls', 0, 2],
      ['human_requests', 0, 1],
      ['context_tokens', null, 100],
      ['cost', null, '0.5 EUR'],
    ]);
    expect(usageChanges(compared({}), compared({}, { usage: { context_tokens: 1, cost: null } })).map(({ name }) => name)).toEqual([
      'context_tokens',
    ]);
  });
});

describe('a part of a record that cannot be read', () => {
  const error = (code: string, exit: ExitCode = exitCodes.failure) => new AopsError(`No ${code}.`, { code, exit });

  it.each([
    [error('x', exitCodes.notFound), true],
    [error('x', exitCodes.forbidden), true],
    [error('sandbox_expired'), true],
    [error('not_offered'), true],
    [error('too_deep'), true],
    [error('internal_error'), false],
    [error('x', exitCodes.unavailable), false],
    [error('x', exitCodes.rateLimited), false],
    [Object.assign(new Error('x'), { code: 'not_offered', exit: exitCodes.notFound }), false],
  ])('is a gap only if another attempt is pointless: %s', async (failure, expected) => {
    expect(isGap(failure)).toBe(expected);
    const gaps: string[] = [];
    const read = readPart(gaps, 'The screenshots', () => Promise.reject(failure));
    if (expected) expect([await read, gaps]).toEqual([undefined, [`The screenshots could not be read: ${failure.message}`]]);
    else expect([await failureOf(read), gaps]).toEqual([failure, []]);
  });

  it('is named once', async () => {
    const gaps: string[] = [];
    for (let count = 0; count < 2; count += 1) await readOrNoteGap(gaps, () => Promise.reject(error('too_deep')));
    expect(gaps).toEqual(['No too_deep.']);
    expect(await readOrNoteGap(gaps, async () => 7)).toBe(7);
    expect(gaps).toHaveLength(1);
  });
});

describe('the run with which a failed run is compared', () => {
  const run = { id: 'r9', agent_id: 'a1', created_at: '2026-07-18T09:00:00.000Z' } as Run;
  const find = async (rows: object[], of: Partial<Run> = {}) => {
    const queries: object[] = [];
    const call = async (_: string, { query }: { query: object }) => {
      queries.push(query);
      return { data: rows.map((row) => ({ agent_id: 'a1', status: 'completed', created_at: '2026-07-18T08:00:00.000Z', ...row })) };
    };
    const context = { client: async () => ({ call }), teamId: () => 't1' } as unknown as Context;
    return { found: await lastGoodRun(context, { ...run, ...of }), queries };
  };

  it('is the newest one of the agent that completed before', async () => {
    const { found, queries } = await find([{ id: 'r8' }, { id: 'r7' }]);
    expect(found).toBe('r8');
    expect(queries).toEqual([{ agent_id: 'a1', status: 'completed', until: run.created_at, limit: 20, include_total: 'false' }]);
  });

  it.each([
    [{ id: 'r9' }],
    [{ id: 'r8', agent_id: 'a2' }],
    [{ id: 'r8', status: 'failed' }],
    [{ id: 'r8', created_at: null }],
    [{ id: 'r8', created_at: '2026-07-18T09:00:00.001Z' }],
  ])('is not one that a service returns although it does not match: %j', async (row) => {
    expect((await find([row, { id: 'r7', created_at: run.created_at }])).found).toBe('r7');
    expect((await find([row])).found).toBeUndefined();
  });

  it('is unknown for a run without an agent or a time', async () => {
    for (const missing of [{ agent_id: null }, { created_at: null }])
      expect(await find([{ id: 'r8' }], missing)).toEqual({ found: undefined, queries: [] });
  });
});
