/** Polling whose response arrives after a stream of the same run has reported more: the response is out of date. */
import { expect, it } from 'vitest';
import { deferred } from '../../src/base/deferred.ts';
import type { Client } from '../../src/client/client.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { type RunSelection, RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { afterTest } from '../support/temporary.ts';
import { question } from './fake-run.ts';

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A service with one run, whose streams and responses the test writes, and the watch of this run. */
function startService(selection: RunSelection = { kind: 'named', runs: [{ id: 'r1' }] }) {
  const clock = new ManualClock();
  const stop = new AbortController();
  afterTest(() => stop.abort(new Error('The test is over.')));
  const requests: { id: string; answer: (response: object) => void }[] = [];
  const streams: { send: (type: string, data?: object) => void; end: () => void }[] = [];
  const openEvents = async (id: string, _: object, { signal }: { signal: AbortSignal }) => {
    if (id !== 'streamRunsEvents') throw new NoStreamError('none', { final: true });
    const events: (object | Error)[] = [];
    let arrival = deferred();
    const put = (event: object | Error): void => {
      events.push(event);
      arrival.resolve();
      arrival = deferred();
    };
    signal.addEventListener('abort', () => put(signal.reason as Error));
    streams.push({
      send: (type, data = {}) => put({ id: '', type, data: JSON.stringify({ run_id: 'r1', ...data }) }),
      end: () => put(new Error('reset')),
    });
    const next = async () => {
      if (events.length === 0) await arrival.promise;
      const event = events.shift();
      if (event instanceof Error) throw event;
      return event;
    };
    return { next, close: () => undefined, retry: undefined };
  };
  const call = (id: string): Promise<object> => new Promise((resolve) => void requests.push({ id, answer: resolve }));
  const client = { call, openEvents, onWaiting: () => () => undefined, allowance: undefined } as unknown as Client;
  const options = { clock, signal: stop.signal, teamId: 't1', messages: true };
  const watch = new RunsWatch(client, selection, options);
  const log: string[] = [];
  const collectAll = async (): Promise<void> => {
    for await (const { body } of watch.updates()) {
      if (body.type === 'message') log.push(body.data.message.id);
      else log.push(body.type === 'run.status' ? `> ${body.data.status}` : body.type);
    }
  };
  void collectAll().catch(() => undefined);
  /** Answers the oldest request. */
  const answer = async (id: string, response: object): Promise<void> => {
    const request = requests.shift();
    expect(request?.id).toBe(id);
    request?.answer(response);
    await settle();
  };
  return { clock, requests, streams, log, answer, watch };
}

const stateOf = (status: string, request: object | null = null) => ({ run: { id: 'r1', status }, pending_human_request: request });
const message = (id: string) => ({ id, role: 'assistant', type: 'text', timestamp: '2026-07-18T09:00:00.000Z', text_content: id });
const pageOf = (...ids: string[]) => ({ messages: ids.map(message), total: ids.length, limit: 50, offset: 0 });

/** Watches the run through a stream that breaks, and then polls it, so that a response is awaited. */
async function pollAfterBreak(service: ReturnType<typeof startService>, events: readonly [type: string, data: object][]) {
  const { clock, streams, answer } = service;
  await settle();
  await answer('getRun', stateOf('waiting', question('q1')));
  for (const [type, data] of events) streams[0]?.send(type, data);
  streams[0]?.end();
  await settle();
  clock.advance(1_000);
  await settle();
}

it('does not report a request again that was resolved according to a stream', async () => {
  const service = startService();
  const { clock, streams, log, answer } = service;
  const pending = { human_request: question('q1') };
  await pollAfterBreak(service, [
    ['run.status', { status: 'waiting' }],
    ['human_request.pending', pending],
  ]);
  clock.advance(500);
  await settle();
  expect(streams).toHaveLength(2);
  streams[1]?.send('human_request.resolved', { human_request_id: 'q1', resolution: 'answered' });
  streams[1]?.send('run.status', { status: 'running' });
  streams[1]?.end();
  await settle();
  const reported = ['> waiting', 'human_request.pending', 'human_request.resolved', '> running'];
  expect(log).toEqual(reported);
  await answer('getRun', stateOf('waiting', question('q1')));
  expect(log).toEqual(reported);
  // What is requested after the break counts.
  await answer('listRunMessages', pageOf());
  clock.advance(1_000);
  await settle();
  await answer('getRun', stateOf('waiting', question('q2')));
  await answer('listRunMessages', pageOf());
  expect(log).toEqual([...reported, '> waiting', 'human_request.pending']);
});

it('does not read all messages again because a stream has reported the next ones', async () => {
  const service = startService();
  const { clock, requests, streams, log, answer } = service;
  await pollAfterBreak(service, [
    ['run.status', { status: 'running' }],
    ['message', { message: message('m1') }],
  ]);
  clock.advance(500);
  await settle();
  for (const id of ['m1', 'm2', 'm3']) streams[1]?.send('message', { message: message(id) });
  await settle();
  await answer('listRunMessages', pageOf('m1'));
  expect([log, requests]).toEqual([['> running', 'm1', 'm2', 'm3'], []]);
});

it('does not regard a run as continued because the list was requested before its end', async () => {
  const { clock, requests, streams, log, answer, watch } = startService({ kind: 'filter', filter: { status: 'running' }, addsNew: true });
  const row = { id: 'r1', status: 'running', created_at: '2026-07-18T08:00:00.000Z' };
  const listOf = (...data: object[]) => ({ data, total: data.length });
  await settle();
  await answer('listRuns', listOf(row));
  await answer('listRuns', listOf(row));
  expect(streams).toHaveLength(1);
  streams[0]?.send('run.status', { status: 'running' });
  clock.advance(2_000);
  await settle();
  expect(requests.map(({ id }) => id)).toEqual(['listRuns']);
  clock.advance(1);
  streams[0]?.send('run.status', { status: 'completed' });
  streams[0]?.send('run.finished', { run: { ...row, status: 'completed' } });
  await settle();
  await answer('listRuns', listOf(row));
  expect(log).toEqual(['> running', '> completed', 'run.finished']);
  expect(watch.runs.get('r1')).toMatchObject({ isOver: true, isReportedOver: true });
});

it('keeps the end of a run that was read while the end was on the way', async () => {
  const { clock, requests, streams, log, answer, watch } = startService({ kind: 'filter', filter: { status: 'waiting' }, addsNew: true });
  // The service does not list requests, so that the run itself is read.
  const row = { id: 'r1', status: 'waiting', created_at: '2026-07-18T08:00:00.000Z', pending_human_request: null };
  await settle();
  for (let page = 0; page < 2; page += 1) await answer('listRuns', { data: [row], total: 1 });
  expect(streams).toHaveLength(1);
  streams[0]?.end();
  await settle();
  clock.advance(1_000);
  await settle();
  expect(requests.map(({ id }) => id)).toEqual(['listRuns']);
  await answer('listRuns', { data: [row], total: 1 });
  expect(requests.map(({ id }) => id)).toEqual(['getRun']);
  clock.advance(500);
  await settle();
  streams[1]?.send('run.status', { status: 'completed' });
  streams[1]?.send('run.finished', { run: { ...row, status: 'completed' } });
  await settle();
  const run = [...watch.runs.values()][0];
  await answer('getRun', stateOf('waiting', question('q1')));
  expect([log, run?.run?.status]).toEqual([['> completed', 'run.finished'], 'completed']);
});
