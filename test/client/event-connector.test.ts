/** Opening event streams: when another attempt is useful, and what happens to the request and to the rate limit. */
import { describe, expect, it, vi } from 'vitest';
import type { Dispatcher } from '../../src/base/undici.ts';
import { EventConnector } from '../../src/client/event-connector.ts';
import type { Pacer } from '../../src/client/limits/pacing.ts';
import type { RateGate } from '../../src/client/limits/rate-gate.ts';
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { failureOf } from './harness.ts';

const stream = { 'content-type': 'text/event-stream' };
const request = { method: 'GET', path: '/v2/runs/r1/events' } as Parameters<EventConnector['open']>[1];

/** What the service does with a request: it answers, or the connection fails. */
type Step = { status: number; headers?: Record<string, string>; data?: string } | Error;

/** A connector whose requests get these answers, one after another; the parts that it uses note their calls. */
function connector(steps: readonly Step[], { refresh, authorization }: Partial<ClientOptions['credential']> = {}) {
  const clock = new ManualClock();
  const calls: string[] = [];
  const events: ClientEvent[] = [];
  const dispatched: Dispatcher.DispatchOptions[] = [];
  const controller = {
    pause: () => undefined,
    resume: () => undefined,
    abort: ({ message }: Error) => void calls.push(`abort: ${message}`),
  } as unknown as Dispatcher.DispatchController;
  const dispatcher = {
    dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      const step = steps[dispatched.length];
      dispatched.push(options);
      clock.advance(20);
      handler.onRequestStart?.(controller, undefined);
      if (step instanceof Error) handler.onResponseError?.(controller, step);
      else if (step !== undefined) {
        handler.onResponseStart?.(controller, step.status, step.headers ?? stream, '');
        if (step.data !== undefined) handler.onResponseData?.(controller, Buffer.from(step.data));
      }
      return true;
    },
  } as unknown as Dispatcher;
  const end = new AbortController();
  const connecting = new EventConnector({
    base: { origin: 'https://aops.example', prefix: '/base' },
    clock,
    gate: {
      leave: () => void calls.push('leave'),
      observe: (_: unknown, sentAt: number, receivedAt: number) => void calls.push(`observe after ${receivedAt - sentAt} ms`),
    } as unknown as RateGate,
    pacer: { enter: async () => void calls.push('enter') } as unknown as Pacer,
    credential: {
      authorization: authorization ?? (async () => 'Bearer secret'),
      ...(refresh && { refresh }),
    } as ClientOptions['credential'],
    userAgent: 'aops/test',
    signal: end.signal,
    openDispatcher: async (connections) => {
      calls.push(`open ${connections}`);
      return dispatcher;
    },
    emit: (event) => void events.push(event),
  });
  const open = (options: { lastEventId?: string; signal?: AbortSignal } = {}) =>
    connecting.open('streamRunEvents', request, {
      lastEventId: options.lastEventId,
      signal: options.signal ?? new AbortController().signal,
    });
  return { open, clock, calls, events, dispatched, end };
}

describe('an event stream', () => {
  it('is requested with the last event, and reported without the token', async () => {
    const { open, dispatched, events, calls } = connector([
      { status: 200, data: 'id: 8\ndata: x\n\n' },
      { status: 200, data: ':\n' },
    ]);
    const reader = await open({ lastEventId: '7' });
    expect(await reader.next()).toMatchObject({ id: '8', data: 'x' });
    await open();
    expect(dispatched[0]).toMatchObject({
      origin: 'https://aops.example',
      path: '/base/v2/runs/r1/events',
      method: 'GET',
      headersTimeout: 10_000,
      bodyTimeout: 45_000,
      headers: {
        accept: 'text/event-stream',
        'accept-encoding': 'identity',
        'user-agent': 'aops/test',
        'last-event-id': '7',
        authorization: 'Bearer secret',
      },
    });
    expect(dispatched[1]?.headers).not.toHaveProperty('last-event-id');
    // All streams share their connections.
    expect(calls).toEqual(['enter', 'open 64', 'observe after 20 ms', 'leave', 'enter', 'observe after 20 ms', 'leave']);
    expect(events[0]).toMatchObject({
      type: 'trace',
      method: 'GET',
      url: 'https://aops.example/base/v2/runs/r1/events',
      status: 200,
      milliseconds: 20,
      requestHeaders: { authorization: 'Bearer ***', 'last-event-id': '7' },
    });
  });

  it.each([
    [401, false],
    [403, false],
    [408, false],
    [429, false],
    [500, false],
    [503, false],
    [400, true],
    [404, true],
    [405, true],
    [499, true],
    [501, true],
    [204, true],
  ])('that is answered with %i is not offered by the service: %s', async (status, final) => {
    const { open, dispatched, calls } = connector([
      { status, headers: {} },
      { status: 200, data: ':\n' },
    ]);
    expect(await failureOf(open())).toMatchObject({ name: 'Error', message: `the service answered ${status}`, final, status });
    expect(calls.filter((call) => ['enter', 'leave'].includes(call))).toEqual(['enter', 'leave']);
    if (final) expect(await failureOf(open())).toMatchObject({ message: 'the service has no event stream', final: true });
    else expect(await open()).toBeDefined();
    expect(dispatched).toHaveLength(final ? 1 : 2);
  });

  it('passes on how long the service wants clients to wait', async () => {
    const { open } = connector([{ status: 503, headers: { 'retry-after': '7' } }]);
    expect(await failureOf(open())).toMatchObject({ final: false, wait: 7_000 });
  });

  it('of which nothing arrives for 10 seconds is held back by an intermediary', async () => {
    const { open, clock, calls } = connector([{ status: 200 }]);
    const failure = failureOf(open());
    await vi.waitFor(() => expect(clock.sleeps).toBe(2));
    clock.advance(10_000);
    expect(await failure).toMatchObject({ message: 'an intermediary holds back the stream', final: true });
    expect(calls).toContain('abort: an intermediary holds back the stream');
    expect(await failureOf(open())).toMatchObject({ message: 'the service has no event stream' });
  });

  it('that has begun may be quiet: the wait for its first part has ended', async () => {
    const { open, clock, calls } = connector([{ status: 200, data: ':\n' }]);
    const sleep = vi.spyOn(clock, 'sleep');
    await open();
    expect(sleep.mock.calls).toEqual([30_000, 10_000].map((milliseconds) => [milliseconds, expect.objectContaining({ aborted: true })]));
    expect(calls.filter((call) => call.startsWith('abort'))).toEqual([]);
  });

  it('is closed with the reason of either signal, also after it was opened', async () => {
    for (const way of ['call', 'client'] as const) {
      const { open, end, calls } = connector([{ status: 200, data: ':\n' }]);
      const controller = new AbortController();
      const reader = await open({ signal: controller.signal });
      (way === 'call' ? controller : end).abort(new Error('Enough.'));
      expect(await failureOf(reader.next())).toMatchObject({ message: 'Enough.' });
      expect(calls).toContain('abort: Enough.');
    }
  });

  it('is not requested if the signal was aborted before', async () => {
    const { open, dispatched } = connector([{ status: 200, data: ':\n' }]);
    expect(await failureOf(open({ signal: AbortSignal.abort(new Error('Enough.')) }))).toMatchObject({ message: 'Enough.' });
    expect(dispatched).toEqual([]);
  });

  it('whose head does not arrive ends with the signal', async () => {
    const { open, calls, dispatched } = connector([]);
    const controller = new AbortController();
    const failure = failureOf(open({ signal: controller.signal }));
    await vi.waitFor(() => expect(dispatched).toHaveLength(1));
    controller.abort(new Error('Enough.'));
    expect(await failure).toMatchObject({ message: 'Enough.' });
    expect(calls).toContain('abort: Enough.');
    expect(calls.at(-1)).toBe('leave');
  });
});

describe('a connection that fails', () => {
  it('is reported, and is not taken for a service without streams', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const { open, events, calls, dispatched } = connector([refused, { status: 200, data: ':\n' }]);
    expect(await failureOf(open())).toBe(refused);
    expect(events).toMatchObject([{ type: 'trace', milliseconds: 20, reason: expect.any(String) }]);
    expect(calls.filter((call) => ['enter', 'leave'].includes(call))).toEqual(['enter', 'leave']);
    await open();
    expect(dispatched).toHaveLength(2);
  });

  it('is not reported in addition to a response', async () => {
    const { open, events } = connector([{ status: 503, headers: {} }]);
    await failureOf(open());
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ status: 503 });
  });
});

describe('a rejected token', () => {
  it('is renewed once', async () => {
    const tokens = ['Bearer old', 'Bearer new', 'Bearer newest'];
    const rejected: string[] = [];
    const { open, dispatched } = connector(
      [
        { status: 401, headers: {} },
        { status: 401, headers: {} },
      ],
      {
        authorization: async () => tokens.shift() as string,
        refresh: async (authorization) => {
          rejected.push(authorization);
          return true;
        },
      },
    );
    expect(await failureOf(open())).toMatchObject({ status: 401, final: false });
    expect(rejected).toEqual(['Bearer old']);
    expect(dispatched.map(({ headers }) => (headers as Record<string, string>).authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  it.each([
    ['that cannot be renewed', { refresh: async () => false }, 401],
    ['of a kind that is never renewed', {}, 401],
    ['is not the reason of another status', { refresh: async () => true }, 403],
  ])('%s is not sent again', async (_, credential, status) => {
    const { open, dispatched } = connector([{ status, headers: {} }], credential);
    expect(await failureOf(open())).toMatchObject({ status });
    expect(dispatched).toHaveLength(1);
  });

  it('whose replacement cannot be read gives its place in the rate limit back', async () => {
    const { open, calls, dispatched } = connector([], { authorization: () => Promise.reject(new Error('No credential.')) });
    expect(await failureOf(open())).toMatchObject({ message: 'No credential.' });
    expect(calls).toEqual(['enter', 'leave']);
    expect(dispatched).toEqual([]);
  });
});
