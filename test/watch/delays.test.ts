/**
 * Many runs whose requests, responses, and streams take any time and break: whatever arrives in which order, each event is reported once,
 * and nothing goes back to an earlier state.
 */
import { describe, expect, it, vi } from 'vitest';
import type { RunEventBody } from '../../src/watch/events.ts';
import { type RunSelection, RunsWatch } from '../../src/watch/many/watch-runs.ts';
import type { RunPosition } from '../../src/watch/resume/run-position.ts';
import { isFinal } from '../../src/watch/run-status.ts';
import { positionedEvents } from '../../src/watch/watch-run.ts';
import { randomFrom } from '../support/random.ts';
import { afterTest } from '../support/temporary.ts';
import { type Change, DelayedService } from './delayed-service.ts';
import { SharedTime } from './shared-time.ts';

/** When the last runs end, after a time without changes, in milliseconds. */
const endsFrom = 90_000;
/** When everything must have been reported. */
const longest = 200_000;

/** A run that says something, asks, continues when it is answered, and ends. @param continues whether it may continue after its end */
function planOf(id: string, random: () => number, continues: boolean): Change[] {
  const changes: Change[] = [];
  let at = Math.floor(random() * 2_000);
  let count = 0;
  const after = (milliseconds: number): number => {
    at += 1 + Math.floor(random() * milliseconds);
    return at;
  };
  const say = (): void => void changes.push({ at: after(300), say: `${id} says ${++count}` });
  changes.push({ at, status: 'running' });
  const questions = Math.floor(random() * 4);
  for (let question = 0; question < questions; question += 1) {
    if (random() < 0.7) say();
    changes.push({ at: after(400), ask: `${id}q${question}` });
    // Some are answered in the moment in which they appear.
    changes.push({ at: after(random() < 0.5 ? 10 : 2_500), settle: true });
  }
  if (random() < 0.5) changes.push({ at: after(400), ask: `${id}last` });
  // Some end while they wait, and others are quiet for a long time before.
  if (random() < 0.5) at = endsFrom;
  say();
  const finish = (): void => void changes.push({ at: after(random() < 0.5 ? 10 : 1_000), status: random() < 0.8 ? 'completed' : 'failed' });
  finish();
  // A message continues it.
  for (let times = Math.floor(random() * 3); continues && times > 0; times -= 1) {
    at += Math.floor(random() * 3_000);
    say();
    changes.push({ at, status: 'running' });
    say();
    finish();
  }
  return changes;
}

/** Statuses in their order. */
const statusesOf = (plan: readonly Change[]): string[] =>
  plan.flatMap((change) => ('status' in change ? [change.status] : 'ask' in change ? ['waiting'] : 'settle' in change ? ['running'] : []));

/** Whether these are some of the others, in the same order. */
function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let index = 0;
  for (const each of all) if (each === some[index]) index += 1;
  return index === some.length;
}

/** One watch, which can be stopped, and continued by another one. */
interface Watcher {
  stop: () => Promise<void>;
  outcome: () => 'watching' | 'over' | string;
  positions: () => ReadonlyMap<string, RunPosition>;
  /** The states of the runs that it knows; empty if it does not tell. */
  states: () => [id: string, status: string | null, requestId: string | undefined][];
}

/** Reads until it is stopped. */
function readingOf(read: (signal: AbortSignal) => Promise<void>): Pick<Watcher, 'stop' | 'outcome'> {
  const controller = new AbortController();
  let outcome = 'watching';
  const end = read(controller.signal).then(
    () => {
      outcome = 'over';
    },
    (error: unknown) => {
      outcome = controller.signal.aborted ? 'stopped' : String(error);
    },
  );
  const stop = (): Promise<void> => {
    controller.abort(new Error('enough'));
    return end;
  };
  return { stop, outcome: () => outcome };
}

interface Simulation {
  service: DelayedService;
  clock: SharedTime;
  /** Whether messages are wanted, as by all commands that can be resumed. */
  messages: boolean;
  report: (runId: string, body: RunEventBody) => void;
}

/** What was reported before. */
type Starts = ReadonlyMap<string, RunPosition> | undefined;

/** Watches the runs together. */
function watchTogether({ service, clock, messages, report }: Simulation, selection: RunSelection, starts: Starts): Watcher {
  let watch: RunsWatch | undefined;
  const reading = readingOf(async (signal) => {
    const streamLimits = { streams: 2, runsPerStream: 2 };
    const options = { clock, signal, teamId: 't1', messages, streamLimits };
    watch = new RunsWatch(service.client, selection, { ...options, ...(starts && { starts }) });
    for await (const { run, body } of watch.updates()) {
      if (body.type === 'run.lost') throw body.error;
      if (run !== undefined) report(run.id, body as RunEventBody);
    }
  });
  return {
    ...reading,
    positions: () => watch?.positions() ?? new Map(),
    states: () => [...(watch?.runs ?? [])].map(([id, { state }]) => [id, state.status, state.request?.id]),
  };
}

/** Watches each run by itself. */
function watchSingly({ service, clock, report }: Simulation, ids: readonly string[], starts: Starts): Watcher {
  const positions = new Map(starts);
  const readings = ids.map((id) =>
    readingOf(async (signal) => {
      const start = positions.get(id);
      // A command does not watch a run whose end was reported.
      if (start?.isFinished) return;
      for await (const { body, position } of positionedEvents(service.client, id, { clock, signal }, start)) {
        positions.set(id, position);
        report(id, body);
      }
    }),
  );
  const outcomes = (): string => [...new Set(readings.map(({ outcome }) => outcome()))].join();
  return {
    stop: async () => void (await Promise.all(readings.map(({ stop }) => stop()))),
    outcome: outcomes,
    positions: () => positions,
    states: () => [...positions].map(([id, { status, request }]) => [id, status, request?.id]),
  };
}

const ways = ['singly', 'by name', 'with a filter', 'with a filter and new runs'] as const;

const seeds = Array.from({ length: 150 }, (_, index) => index);

describe.each(ways)('runs that are watched %s', (way) => {
  it.each(seeds)('are reported completely, once, and in order, with the delays of seed %i', async (seed) => {
    const random = randomFrom(seed);
    // Pauses before another attempt are random.
    const mock = vi.spyOn(Math, 'random').mockImplementation(random);
    afterTest(() => mock.mockRestore());
    const clock = new SharedTime();
    const startTime = clock.now();
    const ids = Array.from({ length: 1 + Math.floor(random() * 5) }, (_, index) => `r${index}`);
    const endless = way === 'with a filter and new runs';
    const isResumed = random() < 0.4;
    // A watch that is continued does not find runs that have continued and ended again in the meantime.
    const plans = new Map(ids.map((id) => [id, planOf(id, random, endless && !isResumed)]));
    const slowness = random();
    const service = new DelayedService(clock, plans, {
      delay: () => 1 + Math.floor(random() * (random() < slowness ? 1_500 : 20)),
      lifetime: () => (random() < 0.2 ? Number.POSITIVE_INFINITY : Math.floor(random() * 3_000)),
      hasHints: random() < 0.5,
    });
    const events = new Map<string, RunEventBody[]>(ids.map((id) => [id, []]));
    const messages = way === 'singly' || isResumed || random() < 0.8;
    const simulation: Simulation = { service, clock, messages, report: (id, body) => void events.get(id)?.push(body) };
    const watch = (starts?: Starts): Watcher => {
      if (way === 'singly') return watchSingly(simulation, ids, starts);
      const selection: RunSelection =
        way === 'by name' ? { kind: 'named', runs: ids.map((id) => ({ id })) } : { kind: 'filter', filter: {}, addsNew: endless };
      return watchTogether(simulation, selection, starts);
    };
    let watcher = watch();
    if (isResumed) {
      await clock.goTo(startTime + 1_000 + Math.floor(random() * 6_000));
      await watcher.stop();
      await clock.goTo(clock.now() + Math.floor(random() * 1_000));
      watcher = watch(watcher.positions());
    }
    await clock.goTo(startTime + endsFrom - 1);
    for (const state of watcher.states()) expect(state).toEqual([state[0], ...service.stateOf(state[0])]);
    await clock.goTo(startTime + longest);
    expect(watcher.outcome()).toBe(endless ? 'watching' : 'over');
    await watcher.stop();
    for (const [id, plan] of plans) {
      const reported = events.get(id) ?? [];
      // A run that was over before the first reading does not match.
      if (selectsActive(way) && reported.length === 0) continue;
      checkReported(reported, plan, messages);
    }
  });
});

const selectsActive = (way: (typeof ways)[number]): boolean => way.startsWith('with a filter');

function checkReported(reported: readonly RunEventBody[], plan: readonly Change[], messages: boolean): void {
  const texts = reported.flatMap((body) => (body.type === 'message' ? [body.data.message.text_content] : []));
  expect(texts).toEqual(plan.flatMap((change) => (messages && 'say' in change ? [change.say] : [])));
  const statuses = reported.flatMap((body) => (body.type === 'run.status' ? [body.data.status] : []));
  expect([statuses, isPartOf(statuses, ['pending', ...statusesOf(plan)])]).toEqual([statuses, true]);
  const asked = reported.flatMap((body) => (body.type === 'human_request.pending' ? [body.data.human_request.id] : []));
  const planned = plan.flatMap((change) => ('ask' in change ? [change.ask] : []));
  expect([asked, isPartOf(asked, planned)]).toEqual([asked, true]);
  const resolved = reported.flatMap((body) => (body.type === 'human_request.resolved' ? [body.data.human_request_id] : []));
  expect(resolved).toEqual(asked);
  const ends = reported.filter(({ type }) => type === 'run.finished').length;
  const plannedEnds = plan.filter((change) => 'status' in change && isFinal(change.status)).length;
  expect([ends >= 1, ends <= plannedEnds, reported.at(-1)?.type]).toEqual([true, true, 'run.finished']);
}
