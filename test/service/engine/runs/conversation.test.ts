/** What people do to a run: answers, messages, and stops, and what refuses them, in a database without a service. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { HasClock, HasStore, HasWorker } from '../../../../src/service/engine/engine.ts';
import { postMessage, respond } from '../../../../src/service/engine/runs/conversation.ts';
import { interruptRuns, stopRun } from '../../../../src/service/engine/runs/lifecycle.ts';
import { putEvaluation } from '../../../../src/service/store/agents/evaluations.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { startExecution } from '../../helpers/execution.ts';
import { allRows } from '../../helpers/rows.ts';

type RequestStatus = 'pending' | 'answered' | 'withdrawn';

/** The run `r` of the case `c` in a state; its human request is `h`. Nobody executes it. */
async function runIn(status: string, request: RequestStatus | undefined = status === 'waiting' ? 'pending' : undefined) {
  const { db } = await startExecution();
  const clock = new ManualClock();
  const calls: unknown[] = [];
  const worker = { wake: () => calls.push('wake'), abort: (...args: unknown[]) => calls.push(args) };
  const engine = { store: db, clock, worker } as unknown as HasStore & HasClock & HasWorker;
  const completed_at = ['completed', 'failed', 'interrupted'].includes(status) ? '2026-07-02T00:00:00.000Z' : null;
  await sql`update runs set status = ${status}, completed_at = ${completed_at}`.execute(db);
  await sql`update jobs set status = 'parked', owner = null`.execute(db);
  await sql`update cases set status = ${status === 'interrupted' ? 'failed' : 'pending'}`.execute(db);
  if (request !== undefined)
    await sql`insert into human_requests (id, run_id, turn, step, type, title, status, created_at)
      values ('h', 'r', 1, 'ask', 'approval', 'Pay?', ${request}, '')`.execute(db);
  await putEvaluation(db, {
    ...{ run_id: 'r', status: 'ready', passed: 1, total: 1, critical: 0, medium: 0, low: 0, issues: 0, comment: null },
    ...{ results: '[]', updated_at: '' },
  });
  const run = () => db.selectFrom('runs').selectAll().executeTakeFirstOrThrow();
  return {
    ...{ db, clock, engine, calls, run, now: new Date(clock.now()).toISOString() },
    job: (kind = 'run') => db.selectFrom('jobs').select(['status', 'due_at', 'epoch', 'lane']).where('kind', '=', kind).executeTakeFirst(),
    request: () => db.selectFrom('human_requests').select(['status', 'response', 'responder_id']).executeTakeFirst(),
    messages: async () => (await db.selectFrom('messages').select(['turn', 'text_content']).orderBy('seq').execute()).map(Object.values),
    events: async () => (await db.selectFrom('events').select('kind').execute()).map(({ kind }) => kind).sort(),
    caseOfRun: async () => {
      const { status: state } = await db.selectFrom('cases').select('status').executeTakeFirstOrThrow();
      return [state, ...(await db.selectFrom('case_events').select(['type', 'reason']).orderBy('seq').execute()).map(Object.values)];
    },
    evaluation: () => db.selectFrom('evaluations').select(['status', 'updated_at']).executeTakeFirst(),
    respond: (body: object = { approved: true }, to: object = {}) =>
      respond(engine, { teamId: 't', runId: 'r', requestId: 'h', responderId: 'me', ...to }, body),
    post: (rules: object = {}, to: object = {}) =>
      postMessage(engine, { teamId: 't', runId: 'r', senderId: 'me', ...to }, 'Hello', { checkPermission: () => undefined, ...rules }),
  };
}

/** Checks that a call is refused, and changes nothing. */
async function expectRefusal(parts: Awaited<ReturnType<typeof runIn>>, call: () => Promise<unknown>, refusal: object): Promise<void> {
  const before = await allRows(parts.db);
  await expect(call()).rejects.toMatchObject(refusal);
  expect(await allRows(parts.db)).toEqual(before);
  expect(parts.calls).toEqual([]);
}

const notFound = { status: 404 };

describe('an answer', () => {
  it('continues the run, and is recorded everywhere', async () => {
    const { respond, run, job, request, messages, events, caseOfRun, calls, clock, now } = await runIn('waiting');
    await respond({ approved: true, reason: 'fine' });
    expect(await run()).toMatchObject({ status: 'pending', turn: 1, resume_count: 0, submitted_prompt_count: 0, updated_at: now });
    expect(await job()).toEqual({ status: 'queued', due_at: clock.now(), epoch: 2, lane: null });
    expect(await request()).toEqual({ status: 'answered', response: 'approved: fine', responder_id: 'me' });
    expect(await messages()).toEqual([[1, 'Approved: Pay?\nfine']]);
    expect(await events()).toEqual(['human_request.responded', 'run.message.created']);
    expect([await caseOfRun(), calls]).toEqual([['pending', ['input_received', 'approved: fine']], ['wake']]);
  });

  it.each([
    ['waiting', 'answered', { status: 409, error: 'human_request_already_answered' }],
    ['running', 'answered', { status: 409, error: 'human_request_already_answered' }],
    ['waiting', 'withdrawn', { status: 409, error: 'run_not_waiting' }],
    ['running', 'pending', { status: 409, error: 'run_not_waiting', message: 'The run is running; only a waiting run can be answered.' }],
  ] as const)('is refused if the run is %s and the request is %s', async (status, request, refusal) => {
    const parts = await runIn(status, request);
    await expectRefusal(parts, () => parts.respond(), refusal);
  });

  it('can answer the questions of the request, and no others', async () => {
    const parts = await runIn('waiting');
    await sql`update human_requests set type = 'question', questions = ${JSON.stringify([{ question: 'Which?' }])}`.execute(parts.db);
    const refusal = { status: 400, error: 'invalid_answer' };
    await expectRefusal(parts, () => parts.respond({ answers: { 'Why?': 'x' } }), refusal);
    await expectRefusal(parts, () => parts.respond({ answers: {} }), refusal);
    await parts.respond({ answers: { 'Which?': 'this' } });
    expect(await parts.request()).toMatchObject({ status: 'answered', response: 'this' });
  });

  it('is refused if it does not fit, or if the run or the request does not exist', async () => {
    const parts = await runIn('waiting');
    await expectRefusal(parts, () => parts.respond({}), { status: 400, error: 'invalid_answer' });
    await expectRefusal(parts, () => parts.respond(undefined, { teamId: 'other' }), { ...notFound, error: 'run_not_found' });
    await expectRefusal(parts, () => parts.respond(undefined, { runId: 'other' }), { ...notFound, error: 'run_not_found' });
    await expectRefusal(parts, () => parts.respond(undefined, { requestId: 'other' }), { ...notFound, error: 'human_request_not_found' });
  });
});

describe('a message', () => {
  it('to a waiting run answers its request', async () => {
    const { post, run, job, request, messages, events, caseOfRun, calls, clock } = await runIn('waiting');
    const { answeredRequest } = await post({ expectedRequest: 'h' });
    expect(answeredRequest).toMatchObject({ id: 'h', status: 'answered' });
    expect(await run()).toMatchObject({ status: 'pending', turn: 1, resume_count: 1, submitted_prompt_count: 1 });
    expect(await job()).toMatchObject({ status: 'queued', due_at: clock.now(), epoch: 2 });
    expect(await request()).toEqual({ status: 'answered', response: 'denied: Hello', responder_id: 'me' });
    expect([await messages(), await events()]).toEqual([[[1, 'Hello']], ['human_request.responded', 'run.message.created']]);
    expect([await caseOfRun(), calls]).toEqual([['pending', ['input_received', 'denied: Hello']], ['wake']]);
  });

  it('continues a waiting run whose request was withdrawn', async () => {
    const { post, run, request, events } = await runIn('waiting', 'withdrawn');
    expect((await post({ checkPermission: () => expect.unreachable() })).answeredRequest).toBeUndefined();
    expect([(await run()).status, (await request())?.status, await events()]).toEqual(['pending', 'withdrawn', ['run.message.created']]);
  });

  it('begins the next turn of a completed run', async () => {
    const { post, run, job, messages, caseOfRun, evaluation, now } = await runIn('completed');
    await post();
    expect(await run()).toMatchObject({ status: 'pending', turn: 2, resume_count: 1, submitted_prompt_count: 1, completed_at: null });
    expect([(await job())?.status, await messages(), await caseOfRun()]).toEqual(['queued', [[2, 'Hello']], ['pending']]);
    expect(await evaluation()).toEqual({ status: 'in_progress', updated_at: now });
  });

  it('continues the turn of an interrupted run, with its case', async () => {
    const { post, run, messages, caseOfRun, evaluation } = await runIn('interrupted');
    await post({ expectedRequest: null });
    expect(await run()).toMatchObject({ status: 'pending', turn: 1, resume_count: 1, completed_at: null });
    expect([await messages(), await caseOfRun(), (await evaluation())?.status]).toEqual([
      [[1, 'Hello']],
      ['pending', ['resumed', null]],
      'in_progress',
    ]);
  });

  it.each(['pending', 'starting', 'running'])('to a run that is %s is left to it', async (status) => {
    const { post, run, job, messages, events, evaluation, calls, now } = await runIn(status);
    const before = await run();
    await post({ expectedRequest: null });
    expect(await run()).toEqual({ ...before, submitted_prompt_count: 1, unread_message: 1, updated_at: now });
    expect([(await job())?.status, await messages(), (await evaluation())?.status]).toEqual(['parked', [[1, 'Hello']], 'ready']);
    expect([await events(), calls]).toEqual([['run.message.created'], ['wake']]);
  });

  it.each([
    ['waiting', null, 'human_request_pending'],
    ['waiting', 'other', 'human_request_pending'],
    ['running', 'h', 'run_not_waiting'],
    ['completed', 'h', 'run_not_waiting'],
  ])('to a run that is %s is refused if it is for the request %s', async (status, expectedRequest, error) => {
    const parts = await runIn(status);
    await expectRefusal(parts, () => parts.post({ expectedRequest }), { status: 409, error });
  });

  it('is refused by a run that has failed, is unknown, or has lost its agent, and without permission to answer', async () => {
    const failed = await runIn('failed');
    await expectRefusal(failed, () => failed.post(), { status: 409, error: 'run_failed' });
    const parts = await runIn('waiting');
    await expectRefusal(parts, () => parts.post({}, { teamId: 'other' }), { ...notFound, error: 'run_not_found' });
    const checkPermission = () => {
      throw new Error('not permitted');
    };
    await expectRefusal(parts, () => parts.post({ checkPermission }), { message: 'not permitted' });
    await sql`update agents set deleted_at = '2026-07-02'`.execute(parts.db);
    await expectRefusal(parts, () => parts.post(), { status: 409, error: 'agent_deleted' });
  });
});

describe('a stop', () => {
  it.each(['pending', 'starting', 'running', 'waiting'])('interrupts a run that is %s', async (status) => {
    const { engine, run, job, request, events, caseOfRun, evaluation, calls, now } = await runIn(status);
    expect(await stopRun(engine, 't', 'r')).toMatchObject({ stopped: true, run: { status: 'interrupted' } });
    expect(await run()).toMatchObject({ status: 'interrupted', completed_at: now, updated_at: now, error: null });
    expect(await job()).toMatchObject({ status: 'done', epoch: 2 });
    expect((await request())?.status).toBe(status === 'waiting' ? 'withdrawn' : undefined);
    expect([await events(), await caseOfRun()]).toEqual([['run.failed'], ['failed', ['failed', 'The run was stopped.']]]);
    expect(await evaluation()).toEqual({ status: 'ready', updated_at: now });
    expect(calls).toEqual([['run', 'r', 'stopped'], 'wake']);
  });

  it.each(['completed', 'failed', 'interrupted'])('changes nothing if the run is %s', async (status) => {
    const { engine, db, calls } = await runIn(status);
    const before = await allRows(db);
    expect(await stopRun(engine, 't', 'r')).toMatchObject({ stopped: false, run: { id: 'r', status } });
    expect([await allRows(db), calls]).toEqual([before, []]);
  });

  it('is refused for a run of another team', async () => {
    const parts = await runIn('running');
    await expectRefusal(parts, () => stopRun(parts.engine, 'other', 'r'), { ...notFound, error: 'run_not_found' });
  });

  it('of the runs of a deleted agent gives their cases back', async () => {
    const { engine, db, run, caseOfRun } = await runIn('running');
    await interruptRuns(engine, db, ['r']);
    expect([(await run()).status, await caseOfRun()]).toEqual(['interrupted', ['pending', ['released', 'The agent was deleted.']]]);
  });
});
