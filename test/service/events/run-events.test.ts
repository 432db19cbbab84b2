/** What readers see while a run changes: Postgres reads the run, its request, and its messages at slightly different times. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RunStatus } from '../../../src/interface/types.ts';
import type { StartableEngine } from '../../../src/service/engine/create-engine.ts';
import { RunEvents } from '../../../src/service/events/run-events.ts';
import { type RunPosition, runEventId, runPosition, runPositions, runPresent, runStart } from '../../../src/service/events/run-position.ts';
import { ManualClock } from '../helpers/clock.ts';
import { closeEngine, idleEngine } from '../helpers/engine.ts';
import { inShort } from '../helpers/events.ts';
import { testRuntime } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

let engine: StartableEngine;
let run: { teamId: string; id: string };

beforeAll(async () => {
  const clock = new ManualClock();
  const request = { type: 'approval', title: 'Really?' } as const;
  const api = await startApi({ clock, behaviours: { asks: async () => ({ status: 'waiting', step: 'ask', request }) } });
  const { id } = await api.run('asks', 'Go');
  await api.until(id, 'waiting');
  run = { teamId: api.service.teamId, id };
  await api.service.close();
  engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes: [testRuntime({})], webhooks: {}, push: {} });
});
afterAll(() => closeEngine(engine));

const setStatus = (status: RunStatus) => engine.store.updateTable('runs').set({ status }).where('id', '=', run.id).execute();

/** A run that begins to wait between the moments at which it and its request are read. */
beforeEach(() => setStatus('running'));

/** The events that a reader at this position gets next. */
async function eventsFrom(position: RunPosition): Promise<string[]> {
  const events: string[] = [];
  for await (const { type, data } of { [Symbol.asyncIterator]: () => new RunEvents(engine.store, run, position).poll() })
    events.push(inShort({ type, data: JSON.stringify(data), id: '' }));
  return events;
}

it('a run waits before its request is reported', async () => {
  const position = runStart();
  expect(await eventsFrom(position)).toEqual(['Go', '> running']);
  await setStatus('waiting');
  expect(await eventsFrom(position)).toEqual(['> waiting', '? Really?']);
});

it('a reader that wants only what happens from now on gets the request of a run that was not waiting yet', async () => {
  const position = await runPresent(engine.store, { id: run.id, status: 'running' });
  await setStatus('waiting');
  expect(await eventsFrom(position)).toEqual(['> waiting', '? Really?']);
});

it('a reader that wants only what happens from now on does not get what is already there', async () => {
  await setStatus('waiting');
  expect(await eventsFrom(await runPresent(engine.store, { id: run.id, status: 'waiting' }))).toEqual([]);
});

it('a run that was removed has no more events', async () => {
  const removed = new RunEvents(engine.store, { ...run, id: '00000000-0000-4000-8000-000000000001' }, runStart());
  expect(await removed.poll().next()).toEqual({ done: true, value: false });
});

it.each(['', 'x', '00000000-0000-4000-8000-000000000001', 'x:1.00000000.running..', '00000000-0000-4000-8000-000000000001:x'])(
  'the positions of several runs are refused if one of them is "%s"',
  (other) => {
    const known = `00000000-0000-4000-8000-000000000002:${runEventId(runStart())}`;
    expect([...runPositions(known).keys()]).toEqual(['00000000-0000-4000-8000-000000000002']);
    expect(() => runPositions(`${known},${other}`)).toThrow(expect.objectContaining({ status: 400, error: 'invalid_request' }));
  },
);

it('the end of a run is reported once, and its messages from the position on', async () => {
  const position = runStart();
  await setStatus('completed');
  expect(await eventsFrom(position)).toEqual(['Go', '> completed', 'finished completed']);
  expect(await eventsFrom(position)).toEqual([]);
  expect(await eventsFrom(runPosition(runEventId(position)))).toEqual([]);
  const later = { ...position, seq: 0, isFinished: false };
  expect(await eventsFrom(later)).toEqual(['Go', 'finished completed']);
});

it('messages are reported again if the last one that was reported is another one now', async () => {
  await setStatus('completed');
  const position = { ...runStart(), status: 'completed', isFinished: true };
  const mark = await runPresent(engine.store, { id: run.id, status: 'completed' }).then((present) => present.mark);
  expect(await eventsFrom({ ...position, seq: 1, mark })).toEqual([]);
  expect(await eventsFrom({ ...position, seq: 1, mark: '00000000' })).toEqual(['Go']);
  expect(await eventsFrom({ ...position, seq: 2, mark })).toEqual(['Go']);
});
