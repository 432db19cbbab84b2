/** Resuming a watched run: readers that stop anywhere and continue with a token see the same events as one that never stopped. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { runStart } from '../../src/watch/resume/run-position.ts';
import { runPoint } from '../../src/watch/resume/token.ts';
import { type RunStart, watchRun } from '../../src/watch/watch-run.ts';
import { type Behaviour, Gate } from '../service/helpers/runtime.ts';
import { startApi } from '../service/helpers/service.ts';
import { Forwarder } from '../support/forwarder.ts';
import { randomFrom } from '../support/random.ts';
import { afterTest } from '../support/temporary.ts';
import { FakeRun, question, texts } from './fake-run.ts';

const textOf = (text: string) => ({ kind: 'text' as const, id: text, text });
const fastClock = { now: () => Date.parse('2026-07-18T09:00:00.000Z'), sleep: async () => undefined };

/** What a reader must see again after a restart: everything except the time at which it was observed. */
const lasting = ({ seq, type, run_id, data }: RunEvent) => ({ seq, type, run_id, data });

function clientOf(url: string, token: string): Client {
  const client = new Client({ baseUrl: url, credential: bearerCredential(token), userAgent: 'aops/test' });
  afterTest(() => client.close());
  return client;
}

interface Reader {
  /** A client for each life of the reader. */
  client: () => Client;
  runId: string;
  clock?: typeof systemClock;
  /** The largest number of events that the reader receives in one life. */
  maxEvents: number;
  /** How many of the last events of a life can be lost with the reader, because it had not processed them. */
  maxLost?: number;
  onEvent?: (event: RunEvent) => void;
}

/** Watches a run to its end with a reader that is killed again and again, and continues with the token of the last event that it processed. */
async function readWithKills(reader: Reader, random: () => number): Promise<{ events: RunEvent[]; kills: number }> {
  const { client, runId, clock = systemClock, maxEvents, maxLost = 0, onEvent = () => undefined } = reader;
  const events: RunEvent[] = [];
  for (let kills = 0; ; kills += 1) {
    const token = events.at(-1)?.resume;
    const start: RunStart = token === undefined ? { seq: 0, position: runStart } : runPoint(token, runId);
    let remaining = 1 + Math.floor(random() * maxEvents);
    for await (const event of watchRun(client(), runId, { clock, signal: new AbortController().signal }, start)) {
      events.push(event);
      onEvent(event);
      if (event.type === 'run.finished') return { events, kills };
      remaining -= 1;
      if (remaining === 0) break;
    }
    events.length = Math.max(0, events.length - Math.floor(random() * (maxLost + 1)));
  }
}

/** A run that reaches its next state when the reader has seen the last event of the current one. */
function scriptedRun(): { run: FakeRun; advance: (event: RunEvent) => void } {
  const run = new FakeRun();
  run.maxPageSize = 7;
  let count = 0;
  let request = 0;
  const person = (minute: number) => ({
    id: `u${minute}`,
    role: 'user',
    timestamp: `2026-07-18T10:${String(minute).padStart(2, '0')}:00.000Z`,
  });
  const { reported } = run;
  const say = (): string => {
    const from = count;
    count += 3 + (from % 17);
    reported.messages.push(...texts(from, count));
    return `m${count - 1}`;
  };
  const steps = Array.from({ length: 12 }, (_, step) => [
    () => say(),
    () => {
      request += 1;
      Object.assign(reported, { status: 'waiting', request: question(`q${request}`, `Pay “${request}” €?`) });
      return `q${request}`;
    },
    () => {
      reported.messages.push(person(step));
      Object.assign(reported, { status: 'running', request: null });
      return 'running';
    },
    () => say(),
  ]).flat();
  const lastStep = (): string => {
    say();
    Object.assign(reported, { status: 'failed', request: null });
    return 'run.finished';
  };
  let awaited = (steps.shift() as () => string)();
  const mark = (event: RunEvent): string =>
    event.type === 'message'
      ? event.data.message.id
      : event.type === 'run.status'
        ? event.data.status
        : event.type === 'human_request.pending'
          ? event.data.human_request.id
          : event.type;
  const advance = (event: RunEvent): void => {
    if (mark(event) === awaited) awaited = (steps.shift() ?? lastStep)();
  };
  return { run, advance };
}

const eventsOf = async (events: AsyncIterable<RunEvent>, onEvent: (event: RunEvent) => void = () => undefined): Promise<RunEvent[]> => {
  const collected: RunEvent[] = [];
  for await (const event of events) {
    collected.push(event);
    onEvent(event);
  }
  return collected;
};

describe('a reader that is killed again and again and resumes', () => {
  it('receives every event of a run in progress once and in order after 200 kills', async () => {
    const { run, advance } = scriptedRun();
    const signal = new AbortController().signal;
    const whole = await eventsOf(watchRun(run.client, 'r1', { clock: fastClock, signal }), advance);
    expect(whole.length).toBeGreaterThan(200);
    let kills = 0;
    for (let seed = 1; kills < 200; seed += 1) {
      const { run, advance } = scriptedRun();
      const reader = { client: () => run.client, runId: 'r1', clock: fastClock, maxEvents: 12, onEvent: advance };
      const result = await readWithKills(reader, randomFrom(seed));
      kills += result.kills;
      expect(result.events.map(lasting)).toEqual(whole.map(lasting));
    }
  });

  it('receives every event of a run that has ended once and in order, with and without its event stream', async () => {
    const api = await startApi({
      behaviours: {
        many: async (host) => {
          for (let batch = 0; batch < 4; batch += 1) await host.emit(texts(batch * 30, batch * 30 + 30).map(textOf));
          return { status: 'completed' };
        },
      },
    });
    const run = await api.run('many', 'Go');
    await api.until(run.id, 'completed');
    const withStreams = clientOf(api.service.url, api.service.token);
    const proxy = await Forwarder.to(api.service.url);
    proxy.streams = false;
    const withoutStreams = clientOf(proxy.url, api.service.token);
    const whole = await eventsOf(watchRun(withStreams, run.id, { clock: systemClock, signal: new AbortController().signal }));
    expect(whole).toHaveLength(1 + 120 + 2);
    const random = randomFrom(1);
    let kills = 0;
    while (kills < 60) {
      // A life of the reader can continue with polling where the stream of its previous life broke off, and the other way round.
      const client = (): Client => (random() < 0.7 ? withStreams : withoutStreams);
      const result = await readWithKills({ client, runId: run.id, clock: fastClock, maxEvents: 20, maxLost: 10 }, random);
      kills += result.kills;
      expect(result.events.map(lasting)).toEqual(whole.map(lasting));
    }
  });

  it('receives every message and request of a run in progress once and in order, from its event stream', async () => {
    const gates = new Map(Array.from({ length: 20 }, (_, index) => [`m${index * 4}`, new Gate()]));
    const asks: Behaviour = async (host) => {
      if (host.answer('ask') !== undefined) return { status: 'completed' };
      let count = 0;
      for (const gate of gates.values()) {
        await host.emit(texts(count, count + 4).map(textOf));
        count += 4;
        await gate.opened;
      }
      return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
    };
    const api = await startApi({ behaviours: { asks } });
    const run = await api.run('asks', 'Go');
    const client = clientOf(api.service.url, api.service.token);
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'message') gates.get(event.data.message.text_content ?? '')?.open();
      if (event.type !== 'human_request.pending') return;
      const params = { run_id: run.id, request_id: event.data.human_request.id };
      void api.ok('respondToHumanRequest', { params, body: { approved: true } });
    };
    const { events, kills } = await readWithKills({ client: () => client, runId: run.id, maxEvents: 2, onEvent }, randomFrom(1));
    const messages = events.flatMap(({ type, data }) => (type === 'message' ? [data.message.text_content] : []));
    expect(kills).toBeGreaterThan(30);
    expect(messages).toEqual(['Go', ...texts(0, 80), 'Approved: Really?']);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => type.startsWith('human_request.')).map(({ type }) => type)).toEqual([
      'human_request.pending',
      'human_request.resolved',
    ]);
  });
});
