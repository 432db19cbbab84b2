/** The streams that report the events of many runs: which runs each contains, where it continues, and what ends it. */
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../src/base/deferred.ts';
import type { Client } from '../../src/client/client.ts';
import type { EventReader } from '../../src/client/event-reader.ts';
import type { StreamEvent } from '../../src/client/event-stream.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { RunStreams, type StreamLimits } from '../../src/watch/many/run-streams.ts';
import { WatchedRun } from '../../src/watch/many/watched-run.ts';
import { runStart } from '../../src/watch/resume/run-position.ts';
import { ManualClock } from '../service/helpers/clock.ts';

interface OpenStream {
  ids: string[];
  lastEventId: string | undefined;
  signal: AbortSignal;
  send(event: { id?: string; type: string; data: object }): void;
  /** Ends the stream, with an error unless it ends as it should. */
  end(error?: Error): void;
  isClosed: boolean;
}

/** Streams of a service that the test writes; `refusals` are thrown instead of the first ones, and `beforeHead` delays each response. */
function startStreams(refusals: Error[] = [], limits?: StreamLimits, beforeHead?: () => Promise<void>) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const opened: OpenStream[] = [];
  const log: string[] = [];
  const openEvents = async (
    id: string,
    input: { params: object; query: { run_ids: string } },
    { lastEventId, signal }: { lastEventId: string | undefined; signal: AbortSignal },
  ): Promise<EventReader> => {
    expect([id, input.params]).toEqual(['streamRunsEvents', { teamId: 't1' }]);
    const refusal = refusals.shift();
    if (refusal !== undefined) throw refusal;
    await beforeHead?.();
    const queue: (StreamEvent | Error | undefined)[] = [];
    let arrival = deferred();
    const put = (item: StreamEvent | Error | undefined): void => {
      queue.push(item);
      arrival.resolve();
      arrival = deferred();
    };
    signal.addEventListener('abort', () => put(signal.reason as Error));
    const stream: OpenStream = {
      ...{ ids: input.query.run_ids.split(','), lastEventId, signal, isClosed: false },
      send: ({ id: eventId = '', type, data }) => put({ id: eventId, type, data: JSON.stringify(data) }),
      end: put,
    };
    opened.push(stream);
    return {
      retry: undefined,
      next: async () => {
        if (queue.length === 0) await arrival.promise;
        const item = queue.shift();
        if (item instanceof Error) throw item;
        return item;
      },
      close: () => {
        stream.isClosed = true;
      },
    } as unknown as EventReader;
  };
  const streams = new RunStreams({ openEvents } as unknown as Pick<Client, 'openEvents'>, {
    ...{ clock, signal: stop.signal, teamId: 't1', limits },
    onEvent: async (run, body) => void log.push(`${run.id} ${body.type}`),
    onEnd: () => void log.push('end'),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const open = async (runs: readonly WatchedRun[]): Promise<void> => {
    for (const run of runs) expect(streams.take(run)).toBe(true);
    streams.open();
    await settle();
  };
  return { streams, clock, stop, opened, log, settle, open };
}

const newRun = (id: string, eventId?: string): WatchedRun =>
  new WatchedRun(id, new ManualClock(), undefined, eventId === undefined ? runStart : { ...runStart, stream: { eventId, messages: 0 } });
const newRuns = (count: number): WatchedRun[] => Array.from({ length: count }, (_, index) => newRun(`r${index}`));
const finished = (id: string) => ({
  ...{ id: `${id}:9`, type: 'run.finished', data: { run_id: id, run: { id, status: 'completed' } } },
});

describe('runs that are taken', () => {
  it('are streamed from now on, and taken once', async () => {
    const { streams, opened, log } = startStreams();
    const [run] = newRuns(1) as [WatchedRun];
    expect([streams.take(run), run.isStreamed, streams.take(run)]).toEqual([true, true, false]);
    expect([opened, log, streams.isOffered]).toEqual([[], [], true]);
  });

  it('are divided into streams of 50', async () => {
    const { opened, open } = startStreams();
    await open(newRuns(100));
    expect(opened.map(({ ids }) => [ids.length, ids[0], ids.at(-1)])).toEqual([
      [50, 'r0', 'r49'],
      [50, 'r50', 'r99'],
    ]);
  });

  it('join those of a stream that has capacity left, which is replaced', async () => {
    const { streams, opened, open, settle, log } = startStreams();
    const runs = newRuns(52);
    await open(runs.slice(0, 51));
    expect(opened.map(({ ids }) => ids.length)).toEqual([50, 1]);
    streams.open();
    await settle();
    expect(opened).toHaveLength(2);
    await open(runs.slice(51));
    expect(opened.map(({ ids }) => ids.toSorted())).toEqual([expect.anything(), ['r50'], ['r50', 'r51']]);
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, true, false]);
    expect(log).toEqual([]);
    expect(runs.every(({ isStreamed }) => isStreamed)).toBe(true);
  });

  it('take the places of runs that have ended', async () => {
    const { streams, opened, open, settle, log } = startStreams();
    const runs = newRuns(51);
    await open(runs.slice(0, 50));
    opened[0]?.send(finished('r3'));
    await settle();
    expect(log).toEqual(['r3 run.finished']);
    expect(runs[3]).toMatchObject({ isOver: true, run: { id: 'r3', status: 'completed' } });
    await open(runs.slice(50));
    expect(opened[1]?.ids.toSorted()).toEqual([...runs.slice(0, 3), ...runs.slice(4)].map(({ id }) => id).toSorted());
    expect(streams.take(runs[3] as WatchedRun)).toBe(true);
  });

  it('get the last stream, and no other is replaced', async () => {
    const { opened, open } = startStreams([], { streams: 2, runsPerStream: 2 });
    const runs = newRuns(4);
    await open(runs.slice(0, 2));
    await open(runs.slice(2));
    expect(opened.map(({ ids, isClosed }) => [ids, isClosed])).toEqual([
      [['r0', 'r1'], false],
      [['r2', 'r3'], false],
    ]);
  });
});

describe('runs that are not taken', () => {
  it('are those beyond the limit, until there is space for a whole stream', async () => {
    const { streams, opened, open, settle } = startStreams([], { streams: 2, runsPerStream: 2 });
    const runs = newRuns(6);
    const next = runs[4] as WatchedRun;
    await open(runs.slice(0, 4));
    expect([streams.take(next), next.isStreamed]).toEqual([false, false]);
    for (const [id, isTaken] of [
      ['r0', false],
      ['r1', true],
    ] as const) {
      opened[0]?.send({ type: 'run.missing', data: { run_id: id } });
      await settle();
      expect([id, streams.take(next)]).toEqual([id, isTaken]);
    }
    expect(streams.take(runs[5] as WatchedRun)).toBe(true);
  });
});

describe('a stream', () => {
  it('continues after the last event of each of its runs, unless the ID is too long', async () => {
    const { opened, open } = startStreams();
    await open([newRun('a', '7'), newRun('b'), newRun('c', 'x'.repeat(160)), newRun('d', 'x'.repeat(161))]);
    expect(opened[0]?.lastEventId).toBe(`a:7,c:${'x'.repeat(160)}`);
  });

  it('starts from the beginning if no run has an event', async () => {
    const { opened, open } = startStreams();
    await open(newRuns(2));
    expect(opened[0]).toMatchObject({ ids: ['r0', 'r1'], lastEventId: undefined });
  });

  it('ends when all of its runs have ended', async () => {
    const { opened, open, settle, log } = startStreams();
    await open(newRuns(2));
    for (const id of ['r0', 'r1']) opened[0]?.send(finished(id));
    opened[0]?.end();
    await settle();
    expect([log, opened.length, opened[0]?.isClosed]).toEqual([['r0 run.finished', 'r1 run.finished'], 1, true]);
  });

  it('that breaks leaves its runs to polling until it is open again, without those that have ended', async () => {
    const { streams, clock, opened, open, settle, log } = startStreams();
    const runs = newRuns(3);
    await open(runs);
    opened[0]?.send({ id: 'r1:4', type: 'run.status', data: { run_id: 'r1', status: 'running', previous: null } });
    opened[0]?.send(finished('r0'));
    opened[0]?.end(new Error('reset'));
    await settle();
    expect(log).toEqual(['r1 run.status', 'r0 run.finished', 'end']);
    expect([runs.map(({ isStreamed }) => isStreamed), streams.isOffered, opened.length]).toEqual([[false, false, false], true, 1]);
    clock.advance(1_500);
    await settle();
    expect(opened[1]).toMatchObject({ ids: ['r1', 'r2'], lastEventId: 'r1:4' });
    expect(runs.map(({ isStreamed }) => isStreamed)).toEqual([false, true, true]);
    // If it continues, it can be streamed again.
    expect(streams.take(runs[0] as WatchedRun)).toBe(true);
  });

  it('is the only one to report its runs from the moment in which it is requested again', async () => {
    const answers = [deferred(), deferred()];
    let requests = 0;
    const { clock, opened, open, settle } = startStreams([], undefined, async () => {
      const answer = answers[requests];
      requests += 1;
      await answer?.promise;
    });
    const runs = newRuns(2);
    answers[0]?.resolve();
    await open(runs);
    opened[0]?.end(new Error('reset'));
    await settle();
    Object.assign(runs[0] as WatchedRun, { isOver: true });
    clock.advance(1_500);
    await settle();
    expect([requests, opened.length, runs.map(({ isStreamed }) => isStreamed)]).toEqual([2, 1, [false, true]]);
    answers[1]?.resolve();
    await settle();
    expect([opened[1]?.ids, runs.map(({ isStreamed }) => isStreamed)]).toEqual([['r1'], [false, true]]);
  });

  it('leaves a run to polling that the service does not report', async () => {
    const { streams, opened, open, settle, log } = startStreams();
    const runs = newRuns(2);
    await open(runs);
    opened[0]?.send({ type: 'run.missing', data: { run_id: 'r0' } });
    await settle();
    expect([log, runs.map(({ isStreamed }) => isStreamed)]).toEqual([['end'], [false, true]]);
    expect(streams.take(runs[0] as WatchedRun)).toBe(false);
    // The other one has the stream for itself.
    opened[0]?.send(finished('r1'));
    opened[0]?.end();
    await settle();
    expect(opened).toHaveLength(1);
  });

  it.each([
    ['another run', { run_id: 'other' }],
    ['no run', {}],
  ])('with an event of %s is not read again', async (_, data) => {
    const { streams, opened, open, settle, log } = startStreams();
    const runs = newRuns(2);
    await open(runs);
    opened[0]?.send({ type: 'run.status', data });
    await settle();
    expect([log, streams.isOffered, opened[0]?.isClosed]).toEqual([['end'], false, true]);
    expect(runs.map(({ isStreamed }) => isStreamed)).toEqual([false, false]);
    expect(streams.take(newRun('later'))).toBe(false);
  });

  it('that the service does not offer is not requested again', async () => {
    const { streams, clock, opened, open, settle, log } = startStreams([new NoStreamError('none', { final: true })]);
    const runs = newRuns(1);
    await open(runs);
    clock.advance(3_600_000);
    await settle();
    expect([opened, log, streams.isOffered, runs[0]?.isStreamed]).toEqual([[], ['end'], false, false]);
  });

  it('that the service refuses for a while is requested again', async () => {
    const { streams, clock, opened, open, settle } = startStreams([new NoStreamError('busy', { wait: 5_000 })]);
    await open(newRuns(1));
    expect([opened.length, streams.isOffered]).toEqual([0, true]);
    clock.advance(4_999);
    await settle();
    expect(opened).toHaveLength(0);
    clock.advance(2_501);
    await settle();
    expect(opened).toHaveLength(1);
  });

  it('ends with the signal', async () => {
    const { stop, opened, open } = startStreams();
    await open(newRuns(1));
    stop.abort(new Error('Enough.'));
    await vi.waitFor(() => expect(opened[0]?.isClosed).toBe(true));
    expect(opened[0]?.signal.reason).toMatchObject({ message: 'Enough.' });
    expect(opened).toHaveLength(1);
  });
});
