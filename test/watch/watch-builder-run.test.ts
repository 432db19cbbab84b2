import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import type { BuilderRun, BuilderRunProgress } from '../../src/interface/types.ts';
import { pointOf } from '../../src/watch/resume/token.ts';
import { type BuilderRunEvent, type BuilderRunStart, questionsOf, watchBuilderRun } from '../../src/watch/watch-builder-run.ts';
import { question } from './fake-run.ts';

/** A builder run with one status in its progress, and another one when it is read a moment later. */
function clientWith(polls: readonly [status: string, whole: string][]): Client {
  let poll = -1;
  const call = async (id: string): Promise<unknown> => {
    if (id === 'getBuilderRunStatus') poll += 1;
    const [status, whole] = polls[poll] as [string, string];
    if (id === 'getBuilderRunStatus') return { id: 'b1', status, phase: null };
    const questionRequest = { ...question('q1'), type: 'question', questions: [{ question: 'Which?' }] };
    return { id: 'b1', status: whole, pending_user_questions: whole === 'waiting_for_input' ? questionRequest : null };
  };
  return { call, onWaiting: () => () => undefined } as unknown as Client;
}

async function typesOf(client: Client): Promise<string[]> {
  const clock = { ...systemClock, sleep: async () => undefined };
  const types: string[] = [];
  for await (const { type, data } of watchBuilderRun(
    client,
    { buildId: 'r1', builderRunId: 'b1' },
    { clock, signal: new AbortController().signal },
  ))
    types.push(type === 'builder_run.status' ? `> ${data.status}` : type);
  return types;
}

it('uses the latest status when a builder run changes between two requests', async () => {
  const discardedClient = clientWith([
    ['waiting_for_input', 'waiting_for_input'],
    ['waiting_for_input', 'cancelled'],
  ]);
  expect(await typesOf(discardedClient)).toEqual(['> waiting_for_input', 'builder_run.asking', '> cancelled', 'builder_run.finished']);
  const answeredClient = clientWith([
    ['waiting_for_input', 'waiting_for_input'],
    ['waiting_for_input', 'running'],
    ['completed', 'completed'],
  ]);
  expect(await typesOf(answeredClient)).toEqual([
    '> waiting_for_input',
    'builder_run.asking',
    'builder_run.answered',
    '> running',
    '> completed',
    'builder_run.finished',
  ]);
});

/** What one poll reads: the progress, and the newest builder run of the revision. */
interface Poll {
  progress: Partial<BuilderRunProgress>;
  newest?: Partial<BuilderRun>;
}

/** The events of builder run `b1`, and the operations that were called. */
const collectEvents = (...polls: Poll[]) => collectEventsFrom(undefined, ...polls);

/** The same after a position. */
async function collectEventsFrom(
  start: BuilderRunStart | undefined,
  ...polls: Poll[]
): Promise<{ events: BuilderRunEvent[]; calls: string[] }> {
  const calls: string[] = [];
  let poll = -1;
  const call = async (id: string, { params }: { params: Record<string, string> }): Promise<unknown> => {
    calls.push(`${id} ${Object.values(params).join()}`);
    if (id === 'getBuilderRunStatus') poll += 1;
    const { progress, newest = {} } = polls[poll] as Poll;
    if (id === 'getBuilderRunStatus') return { id: 'b1', phase: null, ...progress };
    return { id: 'b1', pending_user_questions: null, status: progress.status, ...newest };
  };
  const client = { call, onWaiting: () => () => undefined } as unknown as Client;
  const clock = { now: () => Date.parse('2026-07-18T09:00:00.000Z'), sleep: async () => undefined };
  const events: BuilderRunEvent[] = [];
  const ids = { buildId: 'r1', builderRunId: 'b1' };
  for await (const event of watchBuilderRun(client, ids, { clock, signal: new AbortController().signal }, start)) events.push(event);
  return { events, calls };
}

const inShort = ({ type, data }: BuilderRunEvent): string => {
  if (type === 'builder_run.status') return `${data.previous}>${data.status}`;
  if (type === 'builder_run.phase') return `phase ${data.phase}`;
  if (type === 'builder_run.asking') return `?${data.questions.id}`;
  return type === 'builder_run.answered' ? `!${data.request_id}` : type;
};

const askingPoll = (id: string): Poll => ({
  progress: { status: 'waiting_for_input' },
  newest: { pending_user_questions: { ...question(id), questions: [{ question: 'Which?' }] } } as Partial<BuilderRun>,
});

describe('a builder run', () => {
  it('is reported with each phase and status once, in numbered events', async () => {
    const { events, calls } = await collectEvents(
      { progress: { status: 'running', phase: 'planning' } },
      { progress: { status: 'running', phase: 'planning' } },
      { progress: { status: 'running', phase: null } },
      { progress: { status: 'running', phase: 'writing' } },
      { progress: { status: 'waiting_for_approve', phase: 'writing' } },
    );
    expect(events.map(inShort)).toEqual([
      'phase planning',
      'null>running',
      'phase writing',
      'running>waiting_for_approve',
      'builder_run.proposed',
    ]);
    expect(events[0]).toEqual({
      v: 1,
      seq: 1,
      type: 'builder_run.phase',
      builder_run_id: 'b1',
      ts: '2026-07-18T09:00:00.000Z',
      data: { phase: 'planning' },
      resume: expect.stringMatching(/^r1/),
    });
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    // While it is working, only its progress is read.
    expect(calls).toEqual([...Array.from({ length: 5 }, () => 'getBuilderRunStatus b1'), 'getLatestBuilderRun r1']);
  });

  it('reports each request for input once, and its answer', async () => {
    const { events } = await collectEvents(askingPoll('q1'), askingPoll('q1'), askingPoll('q2'), { progress: { status: 'completed' } });
    expect(events.map(inShort)).toEqual([
      'null>waiting_for_input',
      '?q1',
      '!q1',
      '?q2',
      '!q2',
      'waiting_for_input>completed',
      'builder_run.finished',
    ]);
  });

  it.each(['completed', 'failed', 'cancelled'] as const)('ends when it is %s', async (status) => {
    const { events } = await collectEvents({ progress: { status } });
    expect(events.map(inShort)).toEqual([`null>${status}`, 'builder_run.finished']);
    expect(events.at(-1)?.data).toEqual({ builder_run: { id: 'b1', status, pending_user_questions: null } });
  });

  it('has tokens that say whether its proposal, or its end, was reported', async () => {
    const { events } = await collectEvents({ progress: { status: 'waiting_for_approve' } }, { progress: { status: 'completed' } });
    const reported = ({ resume }: BuilderRunEvent): unknown => pointOf(resume, 'builder_run', 'this builder run').isReported;
    expect(events.map((event) => [inShort(event), reported(event)])).toEqual([
      ['null>waiting_for_approve', false],
      ['builder_run.proposed', true],
    ]);
    const { position, seq } = { position: pointOf(events[1]?.resume as string, 'builder_run', 'this builder run'), seq: 2 };
    const later = await collectEventsFrom({ position, seq }, { progress: { status: 'completed' } });
    expect(later.events.map((event) => [inShort(event), reported(event)])).toEqual([
      ['waiting_for_approve>completed', false],
      ['builder_run.finished', true],
    ]);
  });

  it('is not mistaken for the builder run that replaced it', async () => {
    const otherRun = { id: 'b2', status: 'waiting_for_approve', pending_user_questions: null } as Partial<BuilderRun>;
    const { events } = await collectEvents(
      { progress: { status: 'waiting_for_input' }, newest: { ...askingPoll('q9').newest, id: 'b2' } },
      { progress: { status: 'cancelled' }, newest: otherRun },
    );
    expect(events.map(inShort)).toEqual(['null>waiting_for_input', 'waiting_for_input>cancelled', 'builder_run.finished']);
    expect(events.at(-1)?.data).toEqual({ builder_run: { id: 'b1', status: 'cancelled', phase: null } });
  });

  it('ends when it has ended since its progress was read', async () => {
    const { events } = await collectEvents({ progress: { status: 'waiting_for_input' }, newest: { status: 'completed' } });
    expect(events.map(inShort)).toEqual(['null>completed', 'builder_run.finished']);
  });
});

describe('the questions of a builder run', () => {
  const run = (status: string, pending: unknown): BuilderRun =>
    ({ id: 'b1', status, started_at: '2026-07-18T08:00:00.000Z', pending_user_questions: pending }) as BuilderRun;
  const questions = [{ question: 'Which?' }, { question: 'Why?' }];

  it('are complete, or filled in from the builder run', () => {
    const pending = { id: 'q1', title: 'Two things', description: 'Briefly', created_at: '2026-07-18T08:30:00.000Z', questions };
    expect(questionsOf(run('waiting_for_input', pending))).toEqual({ ...pending, type: 'question' });
    expect(questionsOf(run('waiting_for_input', { questions }))).toEqual({
      id: 'b1',
      type: 'question',
      title: 'Which?',
      description: null,
      created_at: '2026-07-18T08:00:00.000Z',
      questions,
    });
    const emptyPoll = { ...run('waiting_for_input', { questions: [] }), started_at: null };
    expect(questionsOf(emptyPoll)).toMatchObject({ title: '', created_at: '', questions: [] });
  });

  it('are missing unless the builder run waits for answers to questions in a known form', () => {
    expect(questionsOf(run('running', { questions }))).toBeUndefined();
    expect(questionsOf(run('waiting_for_input', null))).toBeUndefined();
    expect(questionsOf(run('waiting_for_input', { questions: 'Which?' }))).toBeUndefined();
  });
});
