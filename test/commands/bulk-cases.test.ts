/** Which cases the bulk commands select, when they ask first, and what remains to be done after a failure. */
import { describe, expect, it } from 'vitest';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import { caseCounts, countsOf, describeCounts, warnOfRuns } from '../../src/cli/records/case-counts.ts';
import type { Client } from '../../src/client/client.ts';
import { OpenChangeError, ServiceAnswerError } from '../../src/client/errors.ts';
import deleteCases from '../../src/commands/cases/delete.ts';
import { eachPart } from '../../src/commands/cases/each-part.ts';
import reprocess from '../../src/commands/cases/reprocess.ts';
import retry from '../../src/commands/cases/retry.ts';
import {
  bulkText,
  countAgain,
  hasNoCaseIn,
  onlyCaseId,
  type Part,
  type Selection,
  selectCases,
} from '../../src/commands/cases/selection.ts';
import setStatus from '../../src/commands/cases/set-status.ts';
import type { Case, CaseDisplayStatus } from '../../src/interface/types.ts';
import { failureOf } from '../client/harness.ts';

const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const queueA = uuidOf(1_000_001);
const queueB = uuidOf(1_000_002);

const makeCase = (number: number, display_status: CaseDisplayStatus = 'pending', queue_id = queueA): Case =>
  ({ id: uuidOf(number), display_status, queue_id, title: `case ${number}` }) as unknown as Case;
const range = (count: number, from = 1): number[] => Array.from({ length: count }, (_, index) => from + index);

type Call = [operation: string, input: { params: object; body?: { filters?: object; search?: string; case_ids?: string[] } }];

/** A service that has these cases; every operation that changes some is recorded and answered with `answers`. */
function serviceWith(cases: readonly Case[], answers: Record<string, unknown> = {}) {
  const reads: Call[] = [];
  const changes: Call[] = [];
  const call = async (operation: string, input: never): Promise<unknown> => {
    const { params, body } = input as {
      params: Record<string, string>;
      body?: { filters?: { status?: string[] }; search?: string; limit: number; offset?: number };
    };
    if (operation === 'searchCases' || operation === 'getCase') reads.push([operation, input]);
    else changes.push([operation, input]);
    if (operation === 'getCase') {
      const match = cases.find(({ id }) => id === params.case_id);
      if (match === undefined) throw new ServiceAnswerError(404, { error: 'not_found' }, {});
      return { case: match };
    }
    if (operation === 'searchCases') {
      const { filters = {}, search = '', limit, offset = 0 } = body ?? { limit: 0 };
      const statuses = filters.status?.map((status) => (status === 'claimed' ? 'in_progress' : status));
      const matches = cases.filter(
        (row) => row.queue_id === params.queue_id && row.title.includes(search) && (statuses?.includes(row.display_status) ?? true),
      );
      return { cases: matches.slice(offset, offset + limit), total: matches.length };
    }
    return answers[operation] ?? {};
  };
  return { client: { call } as unknown as Client, reads, changes };
}

/** Runs a command for a person who answers a confirmation like this; undefined where there is no terminal. */
async function run(command: AnyCommand, service: ReturnType<typeof serviceWith>, input: object, agrees?: boolean, yes = false) {
  const questions: unknown[] = [];
  const notes: string[] = [];
  const context = {
    client: async () => service.client,
    clock: { now: () => Date.parse('2026-07-18T09:00:00.000Z') },
    flags: { yes },
    terminal: { interactive: agrees !== undefined, note: (text: string) => notes.push(text) },
    prompter: {
      confirm: async (question: unknown) => {
        questions.push(question);
        return agrees;
      },
    },
    teamId: () => uuidOf(9),
  } as unknown as Context;
  const emptyInput = { cases: [], allMatching: false, status: [], priority: [], label: [], ignoreNotFound: false };
  const end = command.run(context, { ...emptyInput, ...input } as never) as Promise<unknown>;
  const outcome: { result?: unknown; error?: AopsError } = await end.then(
    (result) => ({ result }),
    (error: AopsError) => ({ error }),
  );
  return { ...outcome, questions, notes };
}

const allOf = (queue: string) => ({ queue, allMatching: true });
const byId = (...numbers: number[]) => ({ cases: numbers.map(uuidOf) });
const removal = { deletedCount: 2, interruptedRunIds: ['r1'] };
const change = { updatedCount: 1, skippedCount: 0, interruptedRunIds: [] };

describe('deleting cases', () => {
  const cases = [makeCase(1, 'completed'), makeCase(2, 'in_progress'), makeCase(3, 'needs_input'), makeCase(4, 'completed', queueB)];

  it('needs a yes from a person or --yes, and changes nothing without one', async () => {
    for (const agrees of [undefined, false]) {
      const service = serviceWith(cases, { bulkDeleteCases: removal });
      const { error, questions } = await run(deleteCases, service, allOf(queueA), agrees);
      expect(error).toMatchObject({ code: 'not_confirmed', exit: exitCodes.usage });
      expect(error?.message).toMatch(
        agrees === undefined ? /^This needs confirmation, and there is no interactive terminal: Delete/ : /^Nothing/,
      );
      expect(questions).toHaveLength(agrees === undefined ? 0 : 1);
      expect(service.changes).toEqual([]);
    }
    const service = serviceWith(cases, { bulkDeleteCases: removal });
    const { result, questions, notes } = await run(deleteCases, service, allOf(queueA), true);
    expect(result).toEqual(removal);
    expect(notes).toEqual(['3 cases: 1 in progress, 1 completed, 1 needs input']);
    expect(questions).toEqual([
      {
        message:
          'Delete 3 cases: 1 in progress, 1 completed, 1 needs input? This interrupts 1 run. 1 run is waiting for a person and can still be answered.',
        initial: false,
      },
    ]);
    const withYes = serviceWith(cases, { bulkDeleteCases: removal });
    expect(await run(deleteCases, withYes, allOf(queueA), true, true)).toMatchObject({ result: removal, questions: [] });
    expect(withYes.changes).toEqual(service.changes);
  });

  it('deletes what was counted: the same queue, filters, and search', async () => {
    const service = serviceWith(cases, { bulkDeleteCases: removal });
    const filters = { status: ['completed', 'in_progress', 'completed'], priority: ['high'], label: ['vendor=acme', 'vendor=bolt', 'a=b'] };
    await run(deleteCases, service, { ...allOf(queueA), ...filters, search: 'case' }, true);
    const expected = { status: ['completed', 'claimed'], priority: ['high'], labels: { vendor: ['acme', 'bolt'], a: ['b'] } };
    expect(service.changes).toEqual([
      ['bulkDeleteCases', { params: { queue_id: queueA }, body: { all_matching: true, filters: expected, search: 'case' } }],
    ]);
    for (const [, { params, body }] of service.reads) {
      expect(params).toEqual({ queue_id: queueA });
      expect(body?.filters).toEqual({ ...expected, status: expect.any(Array) });
      expect(body?.search).toBe('case');
    }
    const bulkService = serviceWith(cases, { bulkDeleteCases: removal });
    await run(deleteCases, bulkService, allOf(queueA), true);
    expect(bulkService.changes).toEqual([['bulkDeleteCases', { params: { queue_id: queueA }, body: { all_matching: true, filters: {} } }]]);
  });

  it('uses the operation for one case only for exactly one ID', async () => {
    const singleService = serviceWith(cases, { deleteCase: { interruptedRunIds: [] } });
    expect((await run(deleteCases, singleService, byId(1, 1), true)).result).toEqual({ deletedCount: 1, interruptedRunIds: [] });
    expect(singleService.changes).toEqual([['deleteCase', { params: { case_id: uuidOf(1) } }]]);
    const bulkService = serviceWith(cases, { bulkDeleteCases: removal });
    expect((await run(deleteCases, bulkService, byId(1, 2, 4), true)).result).toEqual({ deletedCount: 4, interruptedRunIds: ['r1', 'r1'] });
    expect(bulkService.changes).toEqual([
      ['bulkDeleteCases', { params: { queue_id: queueA }, body: { case_ids: [uuidOf(1), uuidOf(2)] } }],
      ['bulkDeleteCases', { params: { queue_id: queueB }, body: { case_ids: [uuidOf(4)] } }],
    ]);
  });

  it('sends at most 100 IDs in a request', async () => {
    const service = serviceWith(
      range(201).map((number) => makeCase(number)),
      { bulkDeleteCases: removal },
    );
    await run(deleteCases, service, byId(...range(201)), true);
    expect(service.changes.map(([, { body }]) => body?.case_ids?.length)).toEqual([100, 100, 1]);
  });

  it('fails when an ID does not exist, unless it may be missing', async () => {
    const service = serviceWith(cases, { deleteCase: { interruptedRunIds: [] } });
    expect((await run(deleteCases, service, byId(1, 8), true)).error).toMatchObject({ status: 404 });
    expect(service.changes).toEqual([]);
    const ignoring = { ...byId(1, 8), ignoreNotFound: true };
    expect((await run(deleteCases, service, ignoring, true)).result).toEqual({ deletedCount: 1, interruptedRunIds: [] });
    const emptyService = serviceWith(cases);
    const emptyResult = await run(deleteCases, emptyService, { ...byId(8), ignoreNotFound: true }, true);
    expect(emptyResult).toMatchObject({ result: { deletedCount: 0, interruptedRunIds: [] }, questions: [] });
    expect(emptyService.changes).toEqual([]);
  });

  it('fails when no case matches, even if IDs may be missing', async () => {
    for (const ignoreNotFound of [false, true]) {
      const service = serviceWith([]);
      const { error, questions } = await run(deleteCases, service, { ...allOf(queueA), ignoreNotFound }, true);
      expect(error).toMatchObject({ code: 'no_case_matches', exit: 3, hint: 'Search for cases with `aops cases search`.' });
      expect([service.changes, questions]).toEqual([[], []]);
    }
  });

  it.each<[object, string]>([
    [{}, 'No cases were specified.'],
    [{ allMatching: true }, '--all-matching requires a queue.'],
    [{ ...byId(1), ...allOf(queueA) }, '--all-matching cannot be combined with the IDs of cases.'],
    [{ ...byId(1), status: ['failed'] }, 'Filters require --all-matching.'],
    [{ ...byId(1), search: '' }, 'Filters require --all-matching.'],
    [{ ...byId(1, 4), queue: queueA }, `The case ${uuidOf(4)} is in another queue.`],
  ])('rejects an unclear selection: %j', async (input, message) => {
    const service = serviceWith(cases);
    expect((await run(deleteCases, service, input, true)).error).toMatchObject({ exit: 2, message });
    expect(service.changes).toEqual([]);
  });

  it('reports that nobody is signed in before anything else', async () => {
    const signedOut = new AopsError('Nobody is signed in.', { code: 'not_signed_in', exit: exitCodes.auth });
    for (const input of [{}, { allMatching: true }]) {
      const context = { client: () => Promise.reject(signedOut) } as unknown as Context;
      const emptyInput = { cases: [], allMatching: false, status: [], priority: [], label: [] };
      expect(await failureOf(selectCases(context, { ...emptyInput, ...input } as never))).toBe(signedOut);
    }
  });

  it('accepts the queue of the cases', async () => {
    const service = serviceWith(cases, { bulkDeleteCases: removal });
    expect((await run(deleteCases, service, { ...byId(1, 2), queue: queueA }, true)).result).toEqual(removal);
  });
});

it.each<[string, AnyCommand, object]>([
  ['set-status', setStatus, { to: 'completed' }],
  ['reprocess', reprocess, {}],
  ['retry', retry, {}],
])('%s fails when an ID does not exist', async (_, command, input) => {
  const service = serviceWith([makeCase(1)]);
  expect((await run(command, service, { ...byId(1, 8), ...input }, true)).error).toMatchObject({ status: 404 });
  expect(service.changes).toEqual([]);
});

it('hands cases to the specified agent, and says so', async () => {
  const service = serviceWith([makeCase(1)], { bulkReprocessCases: { reprocessedCount: 1, skippedCount: 0, delegatedCount: 1 } });
  const { result } = await run(reprocess, service, { ...byId(1), agent: uuidOf(5) }, true);
  expect(service.changes).toEqual([
    ['bulkReprocessCases', { params: { queue_id: queueA }, body: { case_ids: [uuidOf(1)], agent_id: uuidOf(5) } }],
  ]);
  const text = (counts: object) => (reprocess.output as unknown as { text: (value: object) => string }).text(counts);
  expect([text(result as object), text({ reprocessedCount: 2, skippedCount: 1 })]).toEqual([
    'Delegated 1 case.',
    'Reprocessing 2 cases. Skipped 1 case.',
  ]);
});

it('counts cases whose status is not known to this version', () => {
  const caseWithOddStatus = (number: number) => makeCase(number, 'resting' as CaseDisplayStatus);
  expect(describeCounts(countsOf([caseWithOddStatus(1), caseWithOddStatus(2), makeCase(3)]))).toBe('3 cases: 1 pending, 2 resting');
});

describe('a change of cases that interrupts or repeats work', () => {
  const statuses: CaseDisplayStatus[] = ['pending', 'in_progress', 'needs_input', 'postponed', 'completed', 'failed'];

  it.each<[string, AnyCommand, object, CaseDisplayStatus[]]>([
    ['set-status --to pending', setStatus, { to: 'pending' }, ['in_progress', 'needs_input', 'completed']],
    ['set-status --to completed', setStatus, { to: 'completed' }, []],
    ['set-status --to failed', setStatus, { to: 'failed' }, []],
    ['reprocess', reprocess, {}, ['completed']],
    ['retry', retry, {}, []],
  ])('needs confirmation only where it does: %s', async (_, command, input, confirmedStatuses) => {
    for (const status of statuses) {
      const service = serviceWith([makeCase(1, status)], { bulkUpdateCaseStatus: change, bulkReprocessCases: change });
      const { error, questions } = await run(command, service, { ...input, ...byId(1) }, false);
      const isAsked = confirmedStatuses.includes(status);
      expect([questions.length, service.changes.length, error?.code], status).toEqual(
        isAsked ? [1, 0, 'not_confirmed'] : [0, 1, undefined],
      );
    }
  });

  it('says what it interrupts', async () => {
    const cases = [
      ...range(2).map((number) => makeCase(number, 'in_progress')),
      ...range(2, 3).map((number) => makeCase(number, 'needs_input')),
    ];
    const service = serviceWith(cases, { bulkUpdateCaseStatus: change });
    const { questions } = await run(setStatus, service, { to: 'pending', ...allOf(queueA) }, true);
    expect(questions).toEqual([
      {
        message:
          'Reopen 4 cases: 2 in progress, 2 needs input? This interrupts 2 runs. 2 runs are waiting for a person and can still be answered.',
        initial: false,
      },
    ]);
    expect(service.changes).toEqual([
      ['bulkUpdateCaseStatus', { params: { queue_id: queueA }, body: { all_matching: true, filters: {}, status: 'pending' } }],
    ]);
  });

  it('selects failed cases for a retry, unless statuses are specified', async () => {
    const cases = [makeCase(1, 'failed'), makeCase(2, 'pending')];
    const bodies = async (input: object): Promise<unknown[]> => {
      const service = serviceWith(cases, { bulkReprocessCases: change });
      await run(retry, service, { ...allOf(queueA), ...input });
      return service.changes.map(([, { body }]) => body);
    };
    expect(await bodies({})).toEqual([{ all_matching: true, filters: { status: ['failed'] } }]);
    expect(await bodies({ status: ['pending'] })).toEqual([{ all_matching: true, filters: { status: ['pending'] } }]);
    const pendingService = serviceWith([makeCase(2, 'pending')]);
    expect((await run(retry, pendingService, allOf(queueA))).error?.hint).toBe(
      'Without --status, only cases with the status failed are selected.',
    );
    expect((await run(retry, pendingService, { ...allOf(queueA), status: ['failed'] })).error?.hint).toBe(
      'Search for cases with `aops cases search`.',
    );
  });
});

describe('a bulk change in several requests', () => {
  const parts: Part[] = [2, 3, 4].map((count, index) => ({ queueId: queueA, body: { case_ids: range(count, index * 10).map(uuidOf) } }));
  const selection: Selection = { parts, counts: { pending: 9, claimed: 0, completed: 0, failed: 0, needs_input: 0, postponed: 0 } };
  const key = 'k1';
  const refusal = new AopsError('It is not allowed.', { code: 'forbidden', exit: 5, details: { idempotency_key: key } });
  const lossOf = (change: { isNoted: boolean }) =>
    new OpenChangeError('The outcome is unknown.', { code: 'outcome_unknown', exit: 13, details: { idempotency_key: key }, ...change });
  const lossError = lossOf({ isNoted: true });
  const answer = { updatedCount: 2, interruptedRunIds: ['r1'] };

  /** The failure when the request with this index fails. */
  const failAt = (error: unknown, failingIndex: number, target = selection) => {
    let count = -1;
    const send = async (): Promise<typeof answer> => {
      count += 1;
      if (count === failingIndex) throw error;
      return answer;
    };
    return failureOf(eachPart(target, send, (repeatArguments) => `Repeat with ${repeatArguments}.`));
  };

  it('adds up numbers and joins lists', async () => {
    expect(await eachPart(selection, async () => answer)).toEqual({ updatedCount: 6, interruptedRunIds: ['r1', 'r1', 'r1'] });
  });

  it('reports what succeeded and what did not, with the partial result', async () => {
    expect(await failAt(refusal, 1)).toMatchObject({
      message: 'It is not allowed. Of 9 cases, 2 succeeded and 7 did not.',
      hint: 'Repeat with k1.',
      code: 'forbidden',
      exit: 5,
      result: answer,
    });
    expect(await failAt(lossError, 1)).toMatchObject({
      message: 'The outcome is unknown. Of 9 cases, 2 succeeded, the outcome of 3 is unknown, and 4 were not sent.',
      hint: 'Settle it with `aops retry k1`. Repeat with k1.',
      exit: 13,
      result: answer,
    });
    expect(await failAt(lossOf({ isNoted: false }), 1)).toMatchObject({ hint: 'Repeat with k1.' });
    expect(await failAt(lossError, 2)).toMatchObject({
      message: 'The outcome is unknown. Of 9 cases, 5 succeeded and the outcome of 4 is unknown.',
      result: { updatedCount: 4, interruptedRunIds: ['r1', 'r1'] },
    });
    expect(await failAt(refusal, 2)).toMatchObject({ message: 'It is not allowed. Of 9 cases, 5 succeeded and 4 did not.' });
  });

  it('reports a failure of the first request without a result, and as it is if nothing was sent', async () => {
    const failure = await failAt(lossError, 0);
    expect(failure).toMatchObject({ message: 'The outcome is unknown. Of 9 cases, the outcome of 2 is unknown and 7 were not sent.' });
    expect(failure).not.toHaveProperty('result');
    expect(await failAt(refusal, 0)).toBe(refusal);
  });

  it('passes on other errors, and the failure of a single request', async () => {
    const otherError = new Error('broken');
    expect(await failAt(otherError, 1)).toBe(otherError);
    expect(await failAt(lossError, 0, { ...selection, parts: parts.slice(0, 1) })).toBe(lossError);
    const keyless = new AopsError('Interrupted.', { code: 'interrupted', exit: 130 });
    expect(await failAt(keyless, 1)).toMatchObject({ message: 'Interrupted. Of 9 cases, 2 succeeded and 7 did not.' });
  });

  it('explains how to repeat the command with its key', async () => {
    let count = 0;
    const send = async (): Promise<typeof answer> => {
      count += 1;
      if (count === 2) throw refusal;
      return answer;
    };
    expect((await failureOf(eachPart(selection, send))).hint).toBe(
      'Run the same command again with --idempotency-key k1; requests that were carried out are not repeated.',
    );
  });
});

describe('a selection of cases', () => {
  const selectionOf = (...sizes: number[]): Selection =>
    ({ parts: sizes.map((size) => ({ queueId: queueA, body: { case_ids: range(size).map(uuidOf) } })) }) as Selection;
  const matching = (status?: string[]): Selection =>
    ({ parts: [{ queueId: queueA, body: { all_matching: true, filters: status === undefined ? {} : { status } } }] }) as Selection;

  it('has a single case only if it consists of one ID', () => {
    expect([selectionOf(1), selectionOf(2), selectionOf(1, 1), selectionOf(0), selectionOf(), matching()].map(onlyCaseId)).toEqual([
      uuidOf(1),
      ...[undefined, undefined, undefined, undefined, undefined],
    ]);
  });

  it('is counted again', async () => {
    const { client } = serviceWith([makeCase(1, 'failed'), makeCase(2, 'failed'), makeCase(3, 'pending', queueB)]);
    expect(await countAgain(client, matching())).toMatchObject({ failed: 2, pending: 0 });
    const multiQueueSelection = { parts: [...selectionOf(1).parts, { queueId: queueB, body: { case_ids: [uuidOf(3)] } }] } as Selection;
    expect(await countAgain(client, multiQueueSelection)).toMatchObject({ failed: 1, pending: 1 });
    expect(await countAgain(client, selectionOf())).toMatchObject({ failed: 0, pending: 0 });
  });

  it('is asked in one request whether it has cases with a status', async () => {
    const { client, reads } = serviceWith([makeCase(1, 'failed')]);
    expect(await hasNoCaseIn(client, matching(), ['failed', 'pending'])).toBe(false);
    expect(await hasNoCaseIn(client, matching(), ['pending'])).toBe(true);
    expect(await hasNoCaseIn(client, matching(['completed', 'failed']), ['failed'])).toBe(false);
    expect(reads).toHaveLength(3);
    expect(await hasNoCaseIn(client, matching(['completed']), ['failed'])).toBe(true);
    expect(await hasNoCaseIn(client, selectionOf(1), ['failed'])).toBe(true);
    expect(await hasNoCaseIn(client, selectionOf(), ['failed'])).toBe(true);
    expect(reads).toHaveLength(3);
  });

  it('is described with what happened to it', () => {
    expect(bulkText('Deleted', 1, 0)).toBe('Deleted 1 case.');
    expect(bulkText('Deleted', 2, 1, ['r1'])).toBe('Deleted 2 cases. Skipped 1 case. Interrupted 1 run.');
    expect(bulkText('Deleted', 0, 2, ['r1', 'r2'])).toBe('Deleted 0 cases. Skipped 2 cases. Interrupted 2 runs.');
  });
});

describe('counts of cases', () => {
  const zero = { pending: 0, claimed: 0, completed: 0, failed: 0, needs_input: 0, postponed: 0 };

  it.each<[Partial<typeof zero>, string]>([
    [{}, '0 cases'],
    [{ pending: 1 }, '1 pending case'],
    [{ failed: 2 }, '2 failed cases'],
    [{ claimed: 2 }, '2 in progress cases'],
    [{ needs_input: 1 }, '1 case that needs input'],
    [{ needs_input: 2 }, '2 cases that need input'],
    [{ pending: 1, needs_input: 2 }, '3 cases: 1 pending, 2 needs input'],
  ])('%j are described as %s', (counts, text) => {
    expect(describeCounts({ ...zero, ...counts })).toBe(text);
  });

  it('warn of the runs that a change affects', () => {
    expect(warnOfRuns(zero)).toBe('');
    expect(warnOfRuns({ ...zero, claimed: 1 })).toBe(' This interrupts 1 run.');
    expect(warnOfRuns({ ...zero, needs_input: 2 })).toBe(' 2 runs are waiting for a person and can still be answered.');
  });

  it('are read again when cases changed their status meanwhile, up to five times', async () => {
    let requests = 0;
    /** The total is off for this many rounds of seven requests. */
    const countWith = async (roundsOff: number): Promise<number> => {
      requests = 0;
      const call = async (_: string, { body }: { body: { filters: { status: string[] } } }): Promise<{ total: number }> => {
        const round = Math.floor(requests / 7);
        requests += 1;
        return { total: body.filters.status.length === 1 ? 1 : round < roundsOff ? 5 : 6 };
      };
      expect(await caseCounts({ call } as never, queueA)).toEqual({
        pending: 1,
        claimed: 1,
        completed: 1,
        failed: 1,
        needs_input: 1,
        postponed: 1,
      });
      return requests / 7;
    };
    expect([await countWith(0), await countWith(1), await countWith(4), await countWith(9)]).toEqual([1, 2, 5, 5]);
  });
});
