/** Event streams that are reopened where they broke off, and what they do to polling. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { UnavailableError } from '../../src/client/errors.ts';
import type { EventReader } from '../../src/client/event-reader.ts';
import type { StreamEvent } from '../../src/client/event-stream.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { Pace } from '../../src/watch/pace.ts';
import { runChanges, StreamChanges, teamChanges } from '../../src/watch/stream-changes.ts';
import { RetryingStream } from '../../src/watch/streamed.ts';
import { failureOf } from '../client/harness.ts';
import { ManualClock } from '../service/helpers/clock.ts';

const inertSignal = new AbortController().signal;

/** One stream: the IDs of its events, how it ends, and when the service wants clients to reconnect. */
interface Script {
  ids?: string[];
  end?: Error;
  retry?: number;
}

/** Opens one scripted stream after the other; an error is thrown instead. */
function openScripted(scripts: readonly (Script | Error)[]) {
  const lastEventIds: (string | undefined)[] = [];
  const closedStreams: unknown[] = [];
  const open = async (lastEventId: string | undefined): Promise<EventReader> => {
    const script = scripts[lastEventIds.length];
    lastEventIds.push(lastEventId);
    if (script === undefined) throw new Error('There are no more streams.');
    if (script instanceof Error) throw script;
    const { ids = [], end, retry } = script;
    const events = ids.map((id): StreamEvent => ({ id, type: 'message', data: `data of ${id}` }));
    return {
      retry,
      next: async () => {
        const event = events.shift();
        if (event === undefined && end !== undefined) throw end;
        return event;
      },
      close: (reason: unknown) => closedStreams.push(reason),
    } as unknown as EventReader;
  };
  return { open, lastEventIds, closedStreams };
}

function newStream(scripts: readonly (Script | Error)[], random = 0) {
  let now = 0;
  const clock = { now: () => 0, steady: () => now } as unknown as Clock;
  const { open, lastEventIds, closedStreams } = openScripted(scripts);
  const stream = new RetryingStream<string>({ clock, open, bodies: ({ data }) => [data], random: () => random });
  /** What one attempt reads. */
  const read = async (signal = inertSignal): Promise<string[]> => {
    const bodies: string[] = [];
    for await (const body of stream.read(signal, () => bodies.push('opened'))) bodies.push(body);
    return bodies;
  };
  return { stream, read, lastEventIds, closed: closedStreams, pass: (milliseconds: number) => (now += milliseconds) };
}

describe('a stream', () => {
  it('is reopened after its last event that has an ID', async () => {
    const { stream, read, lastEventIds, closed, pass } = newStream([{ ids: ['1', '2', ''] }, { ids: [] }, { ids: ['3'] }, {}]);
    expect(stream.wait).toBe(0);
    expect(await read()).toEqual(['opened', 'data of 1', 'data of 2', 'data of ']);
    expect(closed).toHaveLength(1);
    for (let count = 0; count < 3; count += 1) await read();
    expect(lastEventIds).toEqual([undefined, '2', '2', '3']);
    expect(closed).toHaveLength(4);
    pass(60_000);
    expect(stream.wait).toBe(0);
  });

  it('is reopened after longer and longer pauses until it contains an event', async () => {
    const resetError = new Error('The connection was reset.');
    const scripts = [...Array.from({ length: 6 }, () => resetError), { ids: ['1'] }, { ids: ['2'], end: resetError }, resetError];
    const { stream, read } = newStream(scripts);
    const waitTimes: number[] = [];
    for (const _ of scripts) {
      await read();
      waitTimes.push(stream.wait);
    }
    expect(waitTimes).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 1_000, 1_000, 2_000]);
  });

  it('is reopened when its pause is over', async () => {
    const { stream, read, pass } = newStream([{}]);
    await read();
    pass(400);
    expect(stream.wait).toBe(600);
    pass(700);
    expect(stream.wait).toBe(0);
  });

  it('is reopened later if the service requests it, and not at the same moment by all clients', async () => {
    expect(await waitAfter({ retry: 9_000 })).toBe(9_000);
    expect(await waitAfter({ retry: 10 })).toBe(1_000);
    expect(await waitAfter(new NoStreamError('busy', { wait: 5_000 }))).toBe(5_000);
    expect(await waitAfter(new NoStreamError('busy'))).toBe(1_000);
    expect(await waitAfter({}, 1)).toBe(1_500);
    // What other errors contain has another meaning.
    expect(await waitAfter(Object.assign(new UnavailableError('The certificate is not trusted.', {}), { final: true, wait: 9_000 }))).toBe(
      1_000,
    );
  });

  it('is not tried again if the service has none, or sends something else', async () => {
    for (const script of [new NoStreamError('unknown', { final: true }), { end: new SyntaxError('That is no event.') }]) {
      const { stream, read } = newStream([script]);
      await read();
      expect(stream.wait).toBe(Number.POSITIVE_INFINITY);
      stream.retry();
      expect(stream.wait).toBe(Number.POSITIVE_INFINITY);
    }
  });

  it('can be reopened immediately when the service answers again', async () => {
    const { stream, read } = newStream([new Error('The connection was reset.')]);
    await read();
    stream.retry();
    expect(stream.wait).toBe(0);
  });

  it('ends with the reason of its signal, and is closed', async () => {
    const stop = new AbortController();
    const { read, closed } = newStream([{ ids: ['1'], end: new Error('The connection was reset.') }]);
    stop.abort(new Error('enough'));
    expect(await failureOf(read(stop.signal))).toMatchObject({ message: 'enough' });
    expect(closed).toHaveLength(1);
  });

  const waitAfter = async (script: Script | Error, random = 0): Promise<number> => {
    const { stream, read } = newStream([script], random);
    await read();
    return stream.wait;
  };
});

describe('the changes of a stream', () => {
  /** A pace that records what happens to it. */
  function recordingPace() {
    const calls: string[] = [];
    const pace = Object.assign(new Pace(new ManualClock()), {
      rest: (isResting: boolean) => void calls.push(isResting ? 'rest' : 'work'),
      hurry: () => void calls.push('hurry'),
    });
    return { pace, calls };
  }

  /** A stream whose events are sent by the test. */
  function controlledStream(failure: Error | undefined) {
    const waiters: { resolve: (event: StreamEvent | undefined) => void; reject: (error: Error) => void }[] = [];
    const openings: (string | undefined)[] = [];
    const open = async (lastEventId: string | undefined): Promise<EventReader> => {
      openings.push(lastEventId);
      if (failure !== undefined) throw failure;
      return {
        next: () => new Promise((resolve, reject) => waiters.push({ resolve, reject })),
        close: () => undefined,
      } as unknown as EventReader;
    };
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    return {
      open,
      openings,
      settle,
      send: async (id: string) => {
        waiters.shift()?.resolve({ id, type: 'message', data: '{}' });
        await settle();
      },
      breakOff: async () => {
        waiters.shift()?.reject(new Error('The connection was reset.'));
        await settle();
      },
    };
  }

  function setUp(failure?: Error) {
    const stop = new AbortController();
    const clock = new ManualClock();
    const stream = controlledStream(failure);
    const changes = new StreamChanges(stream.open, { clock, signal: stop.signal });
    return { stop, clock, stream, changes };
  }

  it('hurry polling, which rests while the stream is open', async () => {
    const { stop, stream, changes } = setUp();
    const { pace, calls } = recordingPace();
    changes.hurry(pace);
    expect(calls).toEqual(['work']);
    await stream.settle();
    expect(calls.splice(0)).toEqual(['work', 'rest', 'hurry']);
    await stream.send('1');
    expect(calls.splice(0)).toEqual(['hurry']);
    const second = recordingPace();
    changes.hurry(second.pace);
    expect(second.calls).toEqual(['rest']);
    await stream.send('2');
    expect(second.calls).toEqual(['rest', 'hurry']);
    stop.abort();
  });

  it('stop hurrying polling when the stream breaks, and the stream is reopened after a pause', async () => {
    const { stop, clock, stream, changes } = setUp();
    const { pace, calls } = recordingPace();
    changes.hurry(pace);
    await stream.settle();
    await stream.send('1');
    calls.splice(0);
    await stream.breakOff();
    expect(calls.splice(0)).toEqual(['work', 'hurry']);
    expect(stream.openings).toEqual([undefined]);
    clock.advance(999);
    await stream.settle();
    expect(stream.openings).toHaveLength(1);
    clock.advance(1_000);
    await stream.settle();
    expect(stream.openings).toEqual([undefined, '1']);
    expect(calls).toEqual(['rest', 'hurry']);
    stop.abort();
  });

  it('leave polling alone if the service has no streams', async () => {
    const { clock, stream, changes } = setUp(new NoStreamError('unknown', { final: true }));
    const { pace, calls } = recordingPace();
    changes.hurry(pace);
    await stream.settle();
    clock.advance(100_000);
    await stream.settle();
    expect(calls).toEqual(['work', 'work']);
    expect(stream.openings).toHaveLength(1);
  });

  it('are those of the team, or those of the run from now on', async () => {
    const openings: unknown[] = [];
    const openEvents = async (...args: unknown[]): Promise<never> => {
      openings.push(args);
      throw new NoStreamError('unknown', { final: true });
    };
    const options = { clock: new ManualClock(), signal: inertSignal };
    const client = { openEvents } as unknown as Client;
    teamChanges(client, 't1', options);
    runChanges(client, 'r1', options);
    expect(openings).toEqual([
      ['streamTeamEvents', { params: { teamId: 't1' } }, { lastEventId: undefined, signal: inertSignal }],
      ['streamRunEvents', { params: { run_id: 'r1' }, query: { from: 'now' } }, { lastEventId: undefined, signal: inertSignal }],
    ]);
  });
});
