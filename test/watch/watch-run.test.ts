import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { Pace } from '../../src/watch/pace.ts';
import { runStart } from '../../src/watch/resume/run-position.ts';
import { exitOfRun, isFinal } from '../../src/watch/run-status.ts';
import { watchRun } from '../../src/watch/watch-run.ts';
import { failureOf, newClient, scriptedServer } from '../client/harness.ts';
import { json } from '../faults/raw-server.ts';
import { FakeRun, question, texts } from './fake-run.ts';

/** A clock that advances only by sleeping. */
function sleepingClock(): Clock & { sleeps: number[] } {
  const sleeps: number[] = [];
  let now = Date.parse('2026-07-18T09:00:00.000Z');
  return {
    sleeps,
    now: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      sleeps.push(ms);
      now += ms;
    },
  };
}

async function collectEvents(run: FakeRun, clock = sleepingClock()): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of watchRun(run.client, 'r1', { clock, signal: new AbortController().signal })) events.push(event);
  return events;
}

/** Short descriptions of events. */
const inShort = (events: RunEvent[]): string[] => events.map(eventInShort);

function eventInShort(event: RunEvent): string {
  switch (event.type) {
    case 'message':
      return event.data.message.id;
    case 'run.status':
      return `${event.data.previous}>${event.data.status}`;
    case 'human_request.pending':
      return `?${event.data.human_request.id}`;
    case 'human_request.reminder':
      return `reminder of ${event.data.human_request.id}`;
    case 'human_request.resolved':
      return `!${event.data.human_request_id} ${event.data.resolution}`;
    case 'rate_limit.waiting':
      return `wait ${event.data.wait_seconds}`;
    case 'run.finished':
      return `finished ${event.data.run.status}`;
  }
}

describe('watching', () => {
  it('continues after a message that is so large that a page ends with it', async () => {
    const run = new FakeRun();
    run.maxPageSize = 1;
    run.beforePoll = (poll, state) => {
      Object.assign(state, { messages: texts(0, poll === 0 ? 2 : 4), status: poll === 0 ? 'running' : 'completed' });
    };
    expect(inShort(await collectEvents(run)).filter((event) => event.startsWith('m'))).toEqual(texts(0, 4));
    expect(run.pages.map(({ offset }) => offset)).toEqual([0, 0, 1, 1, 1, 1, 1, 2, 2, 3]);
  });

  it.each([1, 3])('requests smaller pages when the client can only read %i messages at a time, and keeps their size', async (maximum) => {
    const run = new FakeRun();
    run.maxReadable = maximum;
    run.reported = { status: 'completed', messages: texts(0, 8), request: null };
    expect(inShort(await collectEvents(run))).toEqual([...texts(0, 8), 'null>completed', 'finished completed']);
    const limits = run.pages.map(({ limit }) => limit);
    expect(limits).toEqual([...limits].sort((a, b) => b - a));
    expect(limits.filter((limit) => limit > maximum)).toEqual([50, 25, 12, 6, 3].filter((limit) => limit > maximum));
  });

  it('fails when a single message is too large for the client', async () => {
    const run = new FakeRun();
    run.maxReadable = 0;
    run.reported = { status: 'completed', messages: texts(0, 2), request: null };
    await expect(collectEvents(run)).rejects.toMatchObject({ code: 'answer_too_large' });
  });

  it('reports waits for the rate limit as numbered events among the others', async () => {
    const run = new FakeRun();
    run.beforePoll = (poll, state) => {
      if (poll === 0) Object.assign(state, { messages: ['a'] });
      if (poll === 2) run.hold(2_400);
      if (poll === 2) Object.assign(state, { messages: ['a', 'b'], status: 'completed' });
    };
    run.beforePage = (_, state) => void (state.status === 'completed' && run.hold(9_000));
    const events = await collectEvents(run);
    expect(inShort(events)).toEqual(['a', 'null>running', 'wait 3', 'wait 9', 'b', 'running>completed', 'finished completed']);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(events[2]?.data).toEqual({ wait_seconds: 3, until: expect.stringMatching(/^2026-07-18T09:00:\d\d/) });
  });

  it('reports messages before the status that follows them, and the end last', async () => {
    const run = new FakeRun();
    run.beforePoll = (poll, state) => {
      if (poll === 0) Object.assign(state, { messages: ['a'] });
      if (poll === 2) Object.assign(state, { messages: ['a', 'b', 'c'], status: 'completed' });
    };
    const events = await collectEvents(run);
    expect(inShort(events)).toEqual(['a', 'null>running', 'b', 'c', 'running>completed', 'finished completed']);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events.every((event) => event.v === 1 && event.run_id === 'r1' && /^2026-07-18T09:00:0.*Z$/.test(event.ts))).toBe(true);
  });

  it('reports a run that ended long ago completely', async () => {
    const run = new FakeRun();
    run.reported = { status: 'failed', messages: texts(0, 120), request: null };
    expect(inShort(await collectEvents(run))).toEqual([...texts(0, 120), 'null>failed', 'finished failed']);
    expect(run.pages.map(({ offset }) => offset)).toEqual([0, 49, 98]);
  });

  it('includes messages that were written while it read the last ones', async () => {
    const run = new FakeRun();
    run.reported = { status: 'running', messages: texts(0, 60), request: null };
    run.beforePage = (page, state) => void (page === 1 && state.messages.push(...texts(60, 130)));
    run.beforePoll = (poll, state) => {
      if (poll === 1) state.status = 'completed';
    };
    expect(inShort(await collectEvents(run)).filter((text) => text.startsWith('m'))).toEqual(texts(0, 130));
  });

  it('reads new messages at once when it is resumed, although the state of the run is the same', async () => {
    const run = new FakeRun();
    run.reported = { status: 'waiting', messages: ['m0', 'm1'], request: null };
    const position = { ...runStart, offset: 1, lastMessageId: 'm0', status: 'waiting' };
    const stop = new AbortController();
    const clock: Clock = {
      now: () => 0,
      sleep: async () => {
        stop.abort(new Error('enough'));
        stop.signal.throwIfAborted();
      },
    };
    const events: RunEvent[] = [];
    const watch = async (): Promise<void> => {
      for await (const event of watchRun(run.client, 'r1', { clock, signal: stop.signal }, { seq: 2, position })) events.push(event);
    };
    expect(await failureOf(watch())).toMatchObject({ message: 'enough' });
    expect(inShort(events)).toEqual(['m1']);
  });

  it('continues through unknown statuses', async () => {
    const run = new FakeRun();
    const statuses = ['warming_up', 'running', 'hibernating', 'completed'];
    run.beforePoll = (poll, state) => {
      state.status = statuses[poll] as string;
    };
    expect(inShort(await collectEvents(run))).toEqual([
      'null>warming_up',
      'warming_up>running',
      'running>hibernating',
      'hibernating>completed',
      'finished completed',
    ]);
  });

  it('accepts pages that are smaller than requested', async () => {
    const run = new FakeRun();
    run.maxPageSize = 7;
    run.reported = { status: 'completed', messages: texts(0, 40), request: null };
    expect(inShort(await collectEvents(run)).slice(0, 40)).toEqual(texts(0, 40));
  });
});

describe('the requests of a watch', () => {
  /**
   * The requests of each poll while the state changes: R reads the run, and a number is the offset of a page of messages. The run ends
   * with the last poll.
   * @param milliseconds the pause between two polls
   */
  async function requests(
    polls: number,
    { isQuick, milliseconds = 500, change = () => undefined }: { isQuick: boolean; milliseconds?: number; change?: Change },
  ): Promise<string[]> {
    const run = new FakeRun();
    run.reported = { status: 'running', messages: [], request: null };
    const all: string[][] = [[]];
    let elapsedTime = 0;
    const clock: Clock = { now: () => 0, steady: () => elapsedTime, sleep: async () => undefined };
    const stop = new AbortController();
    const pause = async (): Promise<void> => {
      elapsedTime += milliseconds;
      if (all.length === polls) stop.abort(new Error('enough'));
      stop.signal.throwIfAborted();
      change(run.reported, all.length);
      all.push([]);
    };
    const pace = { isQuick, pause, spend: () => undefined } as unknown as Pace;
    run.beforePoll = () => void all.at(-1)?.push('R');
    const watch = async (): Promise<void> => {
      for await (const _ of watchRun(run.client, 'r1', { clock, signal: stop.signal, pace }));
    };
    run.beforePage = () => void all.at(-1)?.push('M');
    change(run.reported, 0);
    expect(await failureOf(watch())).toMatchObject({ message: 'enough' });
    return all.map((poll) => poll.join(''));
  }
  type Change = (state: FakeRun['reported'], poll: number) => void;
  const grow: Change = ({ messages }, poll) => void messages.push(`m${poll}`);

  it('read the run and its messages in turn while nothing happens', async () => {
    const polls = await requests(30, { isQuick: false });
    expect(polls).toEqual(['RM', 'M', ...Array.from({ length: 14 }, () => ['R', 'M']).flat()]);
  });

  it('read messages more often while messages arrive, and the run every 1.5 seconds', async () => {
    expect(await requests(8, { isQuick: false, change: grow })).toEqual(['RM', 'M', 'M', 'R', 'M', 'M', 'R', 'M']);
    expect(await requests(6, { isQuick: false, change: grow, milliseconds: 1_499 })).toEqual(['RM', 'M', 'R', 'M', 'R', 'M']);
  });

  it('read both the run and its messages every 1.5 seconds at a quick pace, and only messages in between', async () => {
    for (const change of [grow, undefined])
      expect(await requests(8, { isQuick: true, ...(change && { change }) })).toEqual(['RM', 'M', 'M', 'RM', 'M', 'M', 'RM', 'M']);
  });

  it.each(['waiting', 'pending', 'not_started'])(
    'read only the run while it is %s, but its messages at every tenth poll',
    async (status) => {
      for (const isQuick of [false, true]) {
        const change: Change = (state) => {
          state.status = status;
        };
        const nine = Array.from({ length: 9 }, () => 'R');
        expect(await requests(22, { isQuick, change })).toEqual(['RM', ...nine, 'RM', ...nine, 'RM', 'R']);
      }
    },
  );

  it('read messages as soon as a request or another status shows that something happened', async () => {
    const change: Change = (state, poll) => {
      state.status = poll === 2 || poll >= 5 ? 'running' : 'waiting';
      state.request = poll >= 1 && poll <= 3 ? question(`q${poll}`) : null;
    };
    expect(await requests(7, { isQuick: false, change })).toEqual(['RM', 'RM', 'RM', 'M', 'RM', 'RM', 'M']);
  });

  it('read the run when its messages were rewritten', async () => {
    const change: Change = (state, poll) => {
      state.messages = poll < 2 ? ['a', 'b'] : ['x', 'y'];
    };
    expect(await requests(5, { isQuick: true, change })).toEqual(['RM', 'M', 'MM', 'RM', 'M']);
    expect(await requests(6, { isQuick: false, change: (state, poll) => change(state, poll + 1) })).toEqual([
      ...['RM', 'MM', 'R', 'M', 'R', 'M'],
    ]);
  });

  it('count towards the pace unless they catch up with messages that exist already', async () => {
    const run = new FakeRun();
    run.reported = { status: 'completed', messages: texts(0, 120), request: null };
    const clock = sleepingClock();
    let requests = 0;
    const spend = async (_: AbortSignal, catchesUp = false): Promise<void> => {
      if (!catchesUp) requests += 1;
    };
    const pace = Object.assign(new Pace(clock), { spend });
    for await (const _ of watchRun(run.client, 'r1', { clock, signal: new AbortController().signal, pace }));
    expect(run.pages).toHaveLength(3);
    expect(requests).toBe(2);
  });
});

describe('a list of messages that changes', () => {
  /** The reported messages when the list is replaced with another one, and then the run ends. */
  async function collectTexts(...lists: string[][]): Promise<string[]> {
    const run = new FakeRun();
    run.beforePoll = (poll, now) =>
      Object.assign(now, { messages: lists[poll], status: poll === lists.length - 1 ? 'completed' : 'running' });
    return inShort(await collectEvents(run)).filter((text) => !/[ >]/.test(text));
  }

  it('can shrink and grow again', async () => {
    expect(await collectTexts(['a', 'b', 'c'], ['a'], ['a', 'd'])).toEqual(['a', 'b', 'c', 'd']);
    expect(await collectTexts(['a', 'b', 'c'], [], ['d', 'e'])).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('can be replaced, even at the last poll', async () => {
    expect(await collectTexts(['a', 'b', 'c'], ['x', 'y'])).toEqual(['a', 'b', 'c', 'x', 'y']);
    expect(await collectTexts(['a', 'b', 'c'], ['x', 'y', 'z'])).toEqual(['a', 'b', 'c', 'x', 'y', 'z']);
    expect(await collectTexts(['a', 'b', 'c'], ['x', 'y', 'z', 'd'])).toEqual(['a', 'b', 'c', 'x', 'y', 'z', 'd']);
  });

  it('can have its last message replaced', async () => {
    expect(await collectTexts(['a', 'b1'], ['a', 'b2', 'c'])).toEqual(['a', 'b1', 'b2', 'c']);
  });

  it('can be emptied between two pages and filled again', async () => {
    const run = new FakeRun();
    run.maxPageSize = 1;
    run.reported = { status: 'running', messages: texts(0, 20), request: null };
    let emptiedPage = Number.POSITIVE_INFINITY;
    run.beforePoll = (poll, now) => {
      if (poll === 1) {
        now.messages = texts(0, 22);
        // The page before it only repeats the last known message.
        emptiedPage = run.pages.length + 1;
      }
      if (poll === 2) Object.assign(now, { messages: ['x', 'y'], status: 'completed' });
    };
    run.beforePage = (page, now) => {
      if (page === emptiedPage) now.messages = [];
    };
    const reportedTexts = inShort(await collectEvents(run)).filter((text) => !/[ >]/.test(text));
    expect(reportedTexts).toEqual([...texts(0, 20), 'x', 'y']);
  });

  it('does not request pages forever when it is shorter than its total', async () => {
    const run = new FakeRun();
    run.extraTotal = 100;
    run.beforePage = (page) => {
      if (page > 20) throw new Error('There are too many requests.');
    };
    run.reported = { status: 'completed', messages: texts(0, 2), request: null };
    expect(inShort(await collectEvents(run))).toEqual(['m0', 'm1', 'null>completed', 'finished completed']);
    expect(run.pages.length).toBeLessThan(6);
  });

  it('does not keep polling busy forever when it changes for every page', async () => {
    const run = new FakeRun();
    run.beforePage = (page, now) => {
      now.messages = texts(0, 120, `${page}-`);
      if (page >= 6) now.status = 'completed';
    };
    await collectEvents(run);
    expect(run.pages.length).toBeLessThan(20);
  });

  it('never misses nor repeats a message, however it grows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(120), { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(60), { maxLength: 8 }),
        async (messageCounts, pages) => {
          const run = new FakeRun();
          let count = 0;
          const grow = (by: number): void => {
            run.reported.messages.push(...texts(count, count + by));
            count += by;
          };
          run.beforePoll = (poll, now) => {
            grow(messageCounts[poll] ?? 0);
            if (poll >= messageCounts.length - 1) now.status = 'completed';
          };
          run.beforePage = (page) => grow(pages[page] ?? 0);
          const messageEvents = inShort(await collectEvents(run)).filter((text) => text.startsWith('m'));
          expect(messageEvents).toEqual(texts(0, messageEvents.length));
          // Every message that existed when the end was read was reported.
          expect(messageEvents.length).toBeGreaterThanOrEqual(messageCounts.reduce((sum, count) => sum + count, 0));
        },
      ),
      { seed: 7, numRuns: 100 },
    );
  });
});

describe('human requests', () => {
  async function collectTexts(...polls: [string, string | null][]): Promise<string[]> {
    const run = new FakeRun();
    run.beforePoll = (poll, now) => {
      const [status, id] = polls[poll] as [string, string | null];
      Object.assign(now, { status, request: id === null ? null : question(id) });
    };
    return inShort(await collectEvents(run));
  }

  it('are reported once while they are pending, and once when they are answered', async () => {
    expect(await collectTexts(['waiting', 'q1'], ['waiting', 'q1'], ['running', null], ['completed', null])).toEqual([
      'null>waiting',
      '?q1',
      '!q1 answered',
      'waiting>running',
      'running>completed',
      'finished completed',
    ]);
  });

  it('can follow one another without a poll in between', async () => {
    expect(await collectTexts(['waiting', 'q1'], ['waiting', 'q2'], ['completed', null])).toEqual([
      'null>waiting',
      '?q1',
      '!q1 answered',
      '?q2',
      '!q2 answered',
      'waiting>completed',
      'finished completed',
    ]);
  });

  it.each(['failed', 'interrupted'])('are withdrawn when the run is %s without an answer', async (status) => {
    expect(await collectTexts(['waiting', 'q1'], [status, null])).toEqual([
      'null>waiting',
      '?q1',
      '!q1 withdrawn',
      `waiting>${status}`,
      `finished ${status}`,
    ]);
  });

  it('are answered when a person answered them, even if the run then fails', async () => {
    const response = (timestamp: string, role = 'user') => ({
      id: timestamp,
      type: 'human_response',
      role,
      timestamp: `2026-07-18T${timestamp}.000Z`,
    });
    const resolution = async (message: ReturnType<typeof response>): Promise<string | undefined> => {
      const run = new FakeRun();
      run.beforePoll = (poll, now) => {
        Object.assign(now, poll === 0 ? { status: 'waiting', request: question('q1') } : { status: 'failed', request: null });
        if (poll === 1) now.messages = [message];
      };
      return inShort(await collectEvents(run)).find((line) => line.startsWith('!'));
    };
    // The question was asked at nine o'clock.
    expect(await resolution(response('09:00:01'))).toBe('!q1 answered');
    expect(await resolution(response('08:59:59'))).toBe('!q1 withdrawn');
    expect(await resolution(response('09:00:01', 'assistant'))).toBe('!q1 withdrawn');
  });

  it.each([
    ['09:00:01', 'answered'],
    ['08:59:59', 'withdrawn'],
  ])('are resolved after a position that follows the last message of a person, at %s: %s', async (time, resolution) => {
    const run = new FakeRun();
    run.reported = { status: 'failed', messages: ['m0'], request: null };
    const lastUserMessageAt = Date.parse(`2026-07-18T${time}.000Z`);
    const position = { ...runStart, offset: 1, lastMessageId: 'm0', status: 'waiting', request: question('q1'), lastUserMessageAt };
    const events: RunEvent[] = [];
    const options = { clock: sleepingClock(), signal: new AbortController().signal };
    for await (const event of watchRun(run.client, 'r1', options, { seq: 3, position })) events.push(event);
    expect(inShort(events)).toEqual([`!q1 ${resolution}`, 'waiting>failed', 'finished failed']);
  });
});

describe('a failure of the service', () => {
  it('neither loses nor repeats a message when it is short', async () => {
    const page = (ids: string[], total: number) => json(200, { messages: ids.map((id) => ({ id })), total, limit: 50, offset: 0 });
    const runPoll = (status: string) => json(200, { run: { id: 'r1', status }, pending_human_request: null });
    const server = await scriptedServer(
      // The service does not offer an event stream.
      json(404, { error: 'route_not_found' }),
      runPoll('running'),
      page(['a', 'b'], 2),
      json(503, { error: 'unavailable' }),
      page(['b'], 2),
      page(['b'], 2),
      runPoll('completed'),
      json(429, { error: 'rate_limited' }, { 'retry-after': '1' }),
      page(['b', 'c'], 3),
    );
    const { client } = newClient(server.url);
    const events: RunEvent[] = [];
    for await (const event of watchRun(client, 'r1', { clock: sleepingClock(), signal: new AbortController().signal })) events.push(event);
    expect(inShort(events)).toEqual(['a', 'b', 'null>running', 'wait 2', 'c', 'running>completed', 'finished completed']);
    expect(server.requests.map(({ path }) => path).filter((path) => path.includes('messages'))).toEqual([
      '/v2/runs/r1/messages?limit=50&offset=0',
      ...Array.from({ length: 5 }, () => '/v2/runs/r1/messages?limit=50&offset=1'),
    ]);
  });

  it('ends the stream with its error when it persists', async () => {
    const run = new FakeRun();
    run.beforePoll = () => {
      throw new Error('gone');
    };
    expect(await failureOf(collectEvents(run))).toMatchObject({ message: 'gone' });
  });

  it('is different from Ctrl-C, which ends the stream with its reason', async () => {
    const run = new FakeRun();
    const controller = new AbortController();
    run.beforePoll = (poll) => void (poll === 2 && controller.abort(new Error('enough')));
    const watchAll = async () => {
      for await (const _ of watchRun(run.client, 'r1', { clock: sleepingClock(), signal: controller.signal }));
    };
    expect(await failureOf(watchAll())).toMatchObject({ message: 'enough' });
  });
});

describe('the pace', () => {
  it('becomes slower while nothing happens and faster when something does', async () => {
    const clock = sleepingClock();
    const run = new FakeRun();
    run.beforePoll = (poll, now) => {
      if (poll === 12) now.messages = ['a'];
      if (poll === 14) now.status = 'completed';
    };
    await collectEvents(run, clock);
    expect(clock.sleeps.map(Math.round)).toEqual([
      ...[340, 476, 666, 933, 1306, 1829, 2560],
      ...Array.from({ length: 20 }, () => 3_000),
      ...[340, 476, 666, 933],
    ]);
  });

  it('can be hurried during a pause and before one', async () => {
    const clock: Clock = {
      now: () => 0,
      sleep: (_, signal) =>
        new Promise((_resolve, reject) => {
          if (signal?.aborted) reject(signal.reason);
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const pace = new Pace(clock);
    const { signal } = new AbortController();
    const pause = pace.pause(false, signal);
    pace.hurry();
    await pause;
    pace.hurry();
    await pace.pause(false, signal);
  });

  it('pauses again after it was hurried', async () => {
    const clock = sleepingClock();
    const pace = new Pace(clock);
    const { signal } = new AbortController();
    pace.hurry();
    for (let count = 0; count < 3; count += 1) await pace.pause(true, signal);
    expect(clock.sleeps).toHaveLength(2);
  });
});

describe('a status', () => {
  it('is final or not, and has an exit code', () => {
    expect(
      ['completed', 'failed', 'interrupted', 'waiting', 'running', 'later'].map((status) => [isFinal(status), exitOfRun(status)]),
    ).toEqual([
      [true, 0],
      [true, 10],
      [true, 11],
      [false, 12],
      [false, 0],
      [false, 0],
    ]);
  });
});
