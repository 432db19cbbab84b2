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

/** What a message changes, before it has ended again. */
const continueRun = () =>
  engine.store
    .updateTable('runs')
    .set((update) => ({ resume_count: update('resume_count', '+', 1) }))
    .where('id', '=', run.id)
    .execute();

/** A run that begins to wait between the moments at which it and its request are read. */
beforeEach(() => engine.store.updateTable('runs').set({ status: 'running', resume_count: 0 }).execute());

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
  const position = await runPresent(engine.store, { id: run.id, status: 'running', resume_count: 0 });
  await setStatus('waiting');
  expect(await eventsFrom(position)).toEqual(['> waiting', '? Really?']);
});

it('a reader that wants only what happens from now on does not get what is already there', async () => {
  await setStatus('waiting');
  expect(await eventsFrom(await runPresent(engine.store, { id: run.id, status: 'waiting', resume_count: 0 }))).toEqual([]);
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
  const later = { ...position, seq: 0, finished: null };
  expect(await eventsFrom(later)).toEqual(['Go', 'finished completed']);
});

it('the end of a run that was continued is reported again, even if nothing else of that was seen', async () => {
  const position = runStart();
  await setStatus('completed');
  await eventsFrom(position);
  await continueRun();
  expect(await eventsFrom(runPosition(runEventId(position)))).toEqual(['finished completed']);
  expect(await eventsFrom(position)).toEqual(['finished completed']);
  expect(await eventsFrom(position)).toEqual([]);
  expect(await eventsFrom(runPosition(runEventId(position)))).toEqual([]);
});

it('a run that is continued while it is read has more events', async () => {
  await setStatus('completed');
  const position = runStart();
  await eventsFrom(position);
  const before = { ...position, seq: 0 };
  const events: string[] = [];
  const polled = new RunEvents(engine.store, run, before).poll();
  for (let event = await polled.next(); ; event = await polled.next()) {
    if (event.done) {
      expect(event.value).toBe(true);
      break;
    }
    events.push(event.value.type);
    await setStatus('running');
  }
  expect(events).toEqual(['message', 'run.status']);
});

it('messages are reported again if the last one that was reported is another one now', async () => {
  await setStatus('completed');
  const position = { ...runStart(), status: 'completed', finished: 0 };
  const mark = await runPresent(engine.store, { id: run.id, status: 'completed', resume_count: 0 }).then((present) => present.mark);
  expect(await eventsFrom({ ...position, seq: 1, mark })).toEqual([]);
  expect(await eventsFrom({ ...position, seq: 1, mark: '00000000' })).toEqual(['Go']);
  expect(await eventsFrom({ ...position, seq: 2, mark })).toEqual(['Go']);
});
