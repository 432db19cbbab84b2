/** What is new in the events of a run's stream and in responses. */
import { describe, expect, it } from 'vitest';
import type { Run, RunMessage } from '../../src/interface/types.ts';
import type { RunEventBody } from '../../src/watch/events.ts';
import { RunState } from '../../src/watch/run-state.ts';
import { question } from './fake-run.ts';

const streamEvents = (state: RunState, type: string, data: unknown): RunEventBody[] => [
  ...state.event({ id: '1', type, data: JSON.stringify(data) }),
];
const message = (id: string, more: Partial<RunMessage> = {}): RunMessage => ({ id, text_content: id, ...more }) as RunMessage;
const runOf = (status: string): Run => ({ id: 'r1', status }) as Run;

describe('an event of the stream', () => {
  it('is reported in the form that polling has, and becomes part of the known state', () => {
    const state = new RunState();
    expect(state.isNew).toBe(true);
    expect(streamEvents(state, 'run.status', { status: 'running', previous: 'pending' })).toEqual([
      { type: 'run.status', data: { status: 'running', previous: null } },
    ]);
    expect(state.isNew).toBe(false);
    expect(streamEvents(state, 'message', { message: message('m1') })).toEqual([{ type: 'message', data: { message: message('m1') } }]);
    expect([state.offset, state.lastMessageId]).toEqual([1, 'm1']);
    const request = question('q1', 'Pay?');
    expect(streamEvents(state, 'human_request.pending', { human_request: request })).toEqual([
      { type: 'human_request.pending', data: { human_request: request } },
    ]);
    expect(state.differs(runOf('running'), request)).toBe(false);
    expect(streamEvents(state, 'human_request.resolved', { human_request_id: 'q1', resolution: 'withdrawn' })).toEqual([
      { type: 'human_request.resolved', data: { human_request_id: 'q1', title: 'Pay?', resolution: 'withdrawn' } },
    ]);
    expect(streamEvents(state, 'run.finished', { run: runOf('completed') })).toEqual([
      { type: 'run.finished', data: { run: runOf('completed') } },
    ]);
  });

  it.each([
    ['message', { message: message('m1') }],
    ['run.status', { status: 'running' }],
  ])('shows that the run has continued after its end: %s', (type, data) => {
    const state = new RunState();
    streamEvents(state, 'run.status', { status: 'completed' });
    streamEvents(state, 'run.finished', { run: runOf('completed') });
    expect(state.position.isFinished).toBe(true);
    streamEvents(state, type, data);
    expect(state.position.isFinished).toBe(false);
  });

  it('is not reported again if its content is known', () => {
    const state = new RunState();
    for (const isFirst of [true, false]) {
      expect(streamEvents(state, 'run.status', { status: 'waiting' })).toHaveLength(isFirst ? 1 : 0);
      expect(streamEvents(state, 'message', { message: message('m1') })).toHaveLength(isFirst ? 1 : 0);
      expect(streamEvents(state, 'human_request.pending', { human_request: question('q1') })).toHaveLength(isFirst ? 1 : 0);
    }
    expect(state.offset).toBe(1);
  });

  it('does not resolve a request that is not pending', () => {
    const state = new RunState();
    const resolution = { human_request_id: 'q1', resolution: 'answered' };
    expect(streamEvents(state, 'human_request.resolved', resolution)).toEqual([]);
    streamEvents(state, 'human_request.pending', { human_request: question('q2') });
    expect(streamEvents(state, 'human_request.resolved', resolution)).toEqual([]);
    expect(state.request?.id).toBe('q2');
  });

  it('of an unknown type is ignored', () => {
    expect(streamEvents(new RunState(), 'run.renamed', { message: message('m1'), status: 'running', run: runOf('completed') })).toEqual([]);
  });

  it.each(['message', 'run.status', 'human_request.pending', 'human_request.reminder', 'human_request.resolved', 'run.finished'])(
    'of the type %s is rejected without its content',
    (type) => {
      for (const data of [null, 'text', {}, { message: null, status: null, human_request: null, human_request_id: null, run: null }])
        expect(() => streamEvents(new RunState(), type, data)).toThrow(SyntaxError);
      expect(() => [...new RunState().event({ id: '1', type, data: 'not JSON' })]).toThrow(SyntaxError);
    },
  );
});

describe('a reminder of a request', () => {
  const request = question('q1', 'Pay?');
  const reminded = (hour: number) => ({ ...request, reminders: hour, reminded_at: `2026-07-18T1${hour}:00:00.000Z` });
  const typesOf = (bodies: readonly RunEventBody[]): string[] => bodies.map(({ type }) => type);

  it('is reported once, by a stream and by polling', () => {
    const state = new RunState();
    streamEvents(state, 'human_request.pending', { human_request: request });
    expect(state.differs(runOf('waiting'), reminded(1))).toBe(true);
    expect(streamEvents(state, 'human_request.reminder', { human_request: reminded(1) })).toEqual([
      { type: 'human_request.reminder', data: { human_request: reminded(1) } },
    ]);
    expect(streamEvents(state, 'human_request.reminder', { human_request: reminded(1) })).toEqual([]);
    streamEvents(state, 'run.status', { status: 'waiting' });
    expect(state.differs(runOf('waiting'), reminded(1))).toBe(false);
    expect(typesOf([...state.run(runOf('waiting'), reminded(2))])).toEqual(['human_request.reminder']);
    expect(typesOf([...state.run(runOf('waiting'), reminded(2))])).toEqual([]);
    // A response from before the reminder, or of a list that does not contain it.
    for (const earlier of [request, reminded(1), { ...request, reminded_at: 'unknown' }])
      expect([state.differs(runOf('waiting'), earlier), ...state.run(runOf('waiting'), earlier)]).toEqual([false]);
    expect(state.position.request).toEqual({
      id: 'q1',
      title: 'Pay?',
      created_at: request.created_at,
      reminded_at: reminded(2).reminded_at,
    });
  });

  it('is not reported if it preceded the watch, and is if it came while nobody watched', () => {
    const state = new RunState();
    expect(typesOf([...state.run(runOf('waiting'), reminded(1))])).toEqual(['run.status', 'human_request.pending']);
    expect(typesOf([...new RunState(state.position).run(runOf('waiting'), reminded(1))])).toEqual([]);
    expect(typesOf([...new RunState(state.position).run(runOf('waiting'), reminded(2))])).toEqual(['human_request.reminder']);
  });
});

describe('the request of a run that has ended', () => {
  const at = (time: string): Partial<RunMessage> => ({ role: 'user', timestamp: `2026-07-18T${time}.000Z` });

  it.each([
    ['completed', undefined, 'answered'],
    ['failed', undefined, 'withdrawn'],
    ['interrupted', undefined, 'withdrawn'],
    ['failed', at('08:59:59'), 'withdrawn'],
    ['failed', at('09:00:00'), 'answered'],
    ['interrupted', at('09:00:01'), 'answered'],
    ['failed', { ...at('09:00:01'), role: 'assistant' }, 'withdrawn'],
    ['failed', { ...at('09:00:01'), timestamp: 'unknown' }, 'withdrawn'],
  ] as const)('is, if the run is %s and a message was sent %j, reported as %s', (status, sent, resolution) => {
    const state = new RunState();
    streamEvents(state, 'human_request.pending', { human_request: question('q1') });
    if (sent !== undefined) streamEvents(state, 'message', { message: message('m1', sent as Partial<RunMessage>) });
    expect([...state.run(runOf(status), null)]).toEqual([
      { type: 'human_request.resolved', data: { human_request_id: 'q1', title: 'Question q1', resolution } },
      { type: 'run.status', data: { status, previous: null } },
      { type: 'run.finished', data: { run: runOf(status) } },
    ]);
  });
});

describe('a request that only polling has reported', () => {
  const polled = (): RunState => {
    const state = new RunState();
    streamEvents(state, 'run.status', { status: 'running' });
    expect([...state.run(runOf('waiting'), question('q1', 'Pay?'))]).toHaveLength(2);
    return state;
  };
  const resolved = (resolution: string) => ({
    type: 'human_request.resolved',
    data: { human_request_id: 'q1', title: 'Pay?', resolution },
  });

  it.each([
    ['running', 'answered'],
    ['completed', 'answered'],
    ['interrupted', 'withdrawn'],
  ])('is resolved when the stream reports that the run is %s', (status, resolution) => {
    const state = polled();
    expect(streamEvents(state, 'run.status', { status })).toEqual([
      resolved(resolution),
      { type: 'run.status', data: { status, previous: 'waiting' } },
    ]);
    expect(state.request).toBeNull();
  });

  it('is resolved when the stream reports the next one, and not when it reports the same', () => {
    const state = polled();
    expect(streamEvents(state, 'run.status', { status: 'waiting' })).toEqual([]);
    expect(streamEvents(state, 'human_request.pending', { human_request: question('q1') })).toEqual([]);
    const request = question('q2');
    expect(streamEvents(state, 'human_request.pending', { human_request: request })).toEqual([
      resolved('answered'),
      { type: 'human_request.pending', data: { human_request: request } },
    ]);
  });
});

describe('a stream that is opened again', () => {
  const streamed = (): RunState => {
    const state = new RunState();
    for (const body of [message('m1'), message('m2')]) streamEvents(state, 'message', { message: body });
    streamEvents(state, 'run.status', { status: 'running' });
    return state;
  };

  it('continues after its last event if polling has reported nothing, or the same state in the end', () => {
    const state = streamed();
    expect([state.beginStream(), state.position.stream]).toEqual(['1', { eventId: '1', messages: 2 }]);
    for (const body of [...state.run(runOf('waiting'), question('q1')), ...state.run(runOf('running'), null)]) expect(body).toBeDefined();
    expect([state.beginStream(), state.position.stream]).toEqual(['1', { eventId: '1', messages: 2 }]);
  });

  it.each([
    ['status', 'completed', null],
    ['request', 'running', question('q1')],
  ])('starts with the first event if polling has reported another %s', (_, status, request) => {
    const state = streamed();
    expect([...state.run(runOf(status), request)]).not.toEqual([]);
    expect([state.position.stream, state.beginStream()]).toEqual([undefined, undefined]);
    // It reports the status, and what is known already is not new.
    expect(streamEvents(state, 'message', { message: message('m1') })).toEqual([]);
    expect([state.position.stream, state.beginStream()]).toEqual([{ eventId: '1', messages: 1 }, '1']);
    expect(streamEvents(state, 'run.status', { status: 'running' })).toHaveLength(1);
  });

  it('starts with the first event if the ID of its last event is too long', () => {
    const state = streamed();
    // Such an ID is not a part of a position.
    for (const body of state.event({ id: 'x'.repeat(501), type: 'message', data: JSON.stringify({ message: message('m3') }) }))
      expect(body.type).toBe('message');
    expect(state.position.stream).toEqual({ eventId: '1', messages: 3 });
    expect([state.beginStream(1), state.beginStream(0), state.position.stream]).toEqual(['1', undefined, undefined]);
  });
});
