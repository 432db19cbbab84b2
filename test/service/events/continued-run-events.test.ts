/** What a reader sees of a run that continues again and again, at random moments, also while it is read and while nobody reads. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StartableEngine } from '../../../src/service/engine/create-engine.ts';
import { postedMessage } from '../../../src/service/engine/runs/messages.ts';
import { RunEvents } from '../../../src/service/events/run-events.ts';
import { runPosition, runStart } from '../../../src/service/events/run-position.ts';
import { appendMessages } from '../../../src/service/store/runs/messages.ts';
import { isTerminal } from '../../../src/service/store/runs/runs.ts';
import { ManualClock } from '../helpers/clock.ts';
import { closeEngine, idleEngine } from '../helpers/engine.ts';
import { testRuntime } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';

let engine: StartableEngine;
let run: { teamId: string; id: string };

beforeAll(async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock });
  const { id } = await api.run('done');
  await api.until(id, 'completed');
  run = { teamId: api.service.teamId, id };
  await api.service.close();
  engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes: [testRuntime({})], webhooks: {}, push: {} });
});
afterAll(() => closeEngine(engine));

/** Ends are told apart by their times. */
const timeOf = (end: number): string => new Date(Date.parse('2026-07-18T10:00:00.000Z') + end * 1_000).toISOString();

/** The run, which changes step by step: it ends, continues with a message, starts to run, says something. */
async function changingRun() {
  const { store } = engine;
  let [messages, ends] = [0, 0];
  const set = (values: object) => store.updateTable('runs').set(values).where('id', '=', run.id).execute();
  await store.deleteFrom('messages').where('run_id', '=', run.id).execute();
  await set({ status: 'pending', turn: 1, resume_count: 0, completed_at: null });
  const current = () => store.selectFrom('runs').selectAll().where('id', '=', run.id).executeTakeFirstOrThrow();
  const say = (turn: number) =>
    store.transaction().execute((trx) => appendMessages(trx, run.id, [postedMessage({ id: run.id, turn }, `${++messages}`, timeOf(0))]));
  const end = (status: string) => set({ status, completed_at: timeOf(++ends) });
  return {
    /** @param choice 0 to 3: what happens to a run in progress */
    async change(choice: number): Promise<void> {
      const { status, turn, resume_count } = await current();
      if (isTerminal(status)) {
        await say(turn + 1);
        await set({ status: 'pending', turn: turn + 1, resume_count: resume_count + 1, completed_at: null });
      } else if (choice === 0) await end('completed');
      else if (choice === 1) await end('interrupted');
      else if (choice === 2) await set({ status: 'running' });
      else await say(turn);
    },
    async finish(): Promise<void> {
      if (!isTerminal((await current()).status)) await end('completed');
    },
    state: () => ({ messages, ends }),
  };
}

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ change: fc.nat({ max: 3 }) }) },
  { weight: 3, arbitrary: fc.constant('read' as const) },
  { weight: 1, arbitrary: fc.constant('disconnect' as const) },
);

it('has each message once, and each end that it sees once, the last one last', async () => {
  const property = async (actions: (typeof action extends fc.Arbitrary<infer Action> ? Action : never)[]) => {
    const { change, finish, state } = await changingRun();
    const events: { type: string; text: string }[] = [];
    let lastId: string | undefined;
    const open = () => new RunEvents(engine.store, run, lastId === undefined ? runStart() : runPosition(lastId));
    let source = open();
    let poll = source.poll();
    /** Takes one event. Returns whether there was one. */
    const read = async (): Promise<boolean> => {
      const { done, value } = await poll.next();
      if (done) {
        poll = source.poll();
        return false;
      }
      lastId = value.id;
      const data = value.data as { message?: { text_content: string }; status?: string; run?: { completed_at: string } };
      events.push({ type: value.type, text: data.message?.text_content ?? data.status ?? data.run?.completed_at ?? '' });
      return true;
    };
    for (const each of actions)
      if (each === 'read') await read();
      else if (each === 'disconnect') {
        source = open();
        poll = source.poll();
      } else await change(each.change);
    await finish();
    // The poll in progress has read the run before.
    while (await read());
    while (await read());
    const { messages, ends } = state();
    const of = (type: string) => events.filter((event) => event.type === type).map(({ text }) => text);
    expect(of('message')).toEqual(Array.from({ length: messages }, (_, index) => String(index + 1)));
    const finished = of('run.finished');
    expect(finished).toEqual([...new Set(finished)].sort());
    expect(events.at(-1)).toEqual({ type: 'run.finished', text: timeOf(ends) });
  };
  await fc.assert(fc.asyncProperty(fc.array(action, { maxLength: 40 }), property), { numRuns: 150, seed: 1 });
});
