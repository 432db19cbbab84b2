/** Readers of builder runs and artifacts that are killed again and again, and continue with the token of the last event that they kept. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import type { ArtifactMessage } from '../../src/interface/types.ts';
import { pointOf, type ResumePoint } from '../../src/watch/resume/token.ts';
import { artifactStart, watchArtifact } from '../../src/watch/watch-artifact.ts';
import { watchBuilderRun } from '../../src/watch/watch-builder-run.ts';
import { randomFrom } from '../support/random.ts';
import { question } from './fake-run.ts';

const createdAt = '2026-07-18T09:00:00.000Z';
const signal = new AbortController().signal;

interface PrintedEvent {
  seq: number;
  type: string;
  data: unknown;
  resume: string;
}

/** What a service reports, one state after the other: the next one follows when a poll has found nothing more. */
class States<State> {
  readonly #states: readonly State[];
  #index = 0;

  constructor(states: readonly State[]) {
    this.#states = states;
  }

  get index(): number {
    return this.#index;
  }

  get current(): State {
    return this.#states[this.#index] as State;
  }

  readonly clock = {
    now: () => Date.parse(createdAt),
    sleep: async () => {
      this.#index = Math.min(this.#index + 1, this.#states.length - 1);
    },
  };
}

type Watch<State> = (states: States<State>, token: string | undefined) => AsyncIterable<PrintedEvent>;

/** Reads to the end. A reader that is killed keeps the events up to a token; those after it that belong to the same state are lost. */
async function readWithKills<State>(states: States<State>, watch: Watch<State>, random: () => number) {
  const kept: { event: PrintedEvent; index: number }[] = [];
  for (let kills = 0; ; kills += 1) {
    let isKilled = false;
    for await (const event of watch(states, kept.at(-1)?.event.resume)) {
      kept.push({ event, index: states.index });
      // The command knows that nothing follows the end.
      isKilled = !event.type.endsWith('.finished') && random() < 0.4;
      if (isKilled) break;
    }
    if (!isKilled) return { events: kept.map(({ event }) => event), kills };
    while (kept.at(-1)?.index === states.index && random() < 0.5) kept.pop();
  }
}

/** Returns all events. */
async function compareWithKills<State>(script: readonly State[], watch: Watch<State>, kills: number): Promise<PrintedEvent[]> {
  const { events: whole } = await readWithKills(new States(script), watch, () => 1);
  expect(whole.length).toBeGreaterThan(8);
  let count = 0;
  for (let seed = 1; count < kills; seed += 1) {
    const result = await readWithKills(new States(script), watch, randomFrom(seed));
    count += result.kills;
    expect(result.events).toEqual(whole);
  }
  return whole;
}

const startAt = <Stream extends ResumePoint['stream']>(token: string | undefined, stream: Stream) => {
  if (token === undefined) return undefined;
  const point = pointOf(token, stream, 'this stream');
  return { seq: point.seq, position: point };
};

describe('a reader that is killed 200 times and resumes', () => {
  it('receives every event of a builder run once and in order', async () => {
    const asks = { ...question('q1'), type: 'question', questions: [{ question: 'Which?' }] };
    const script = [
      { status: 'running', phase: 'planning' },
      { status: 'running', phase: 'writing' },
      { status: 'running', phase: null },
      { status: 'waiting_for_input', phase: null, pending_user_questions: asks },
      { status: 'running', phase: 'writing' },
      { status: 'running', phase: 'testing' },
      { status: 'waiting_for_input', phase: null, pending_user_questions: { ...asks, id: 'q2' } },
      { status: 'failed', phase: null },
    ];
    const watch: Watch<(typeof script)[number]> = (states, token) => {
      const call = async () => ({ id: 'b1', pending_user_questions: null, ...states.current });
      const client = { call, onWaiting: () => () => undefined } as unknown as Client;
      const ids = { buildId: 'r1', builderRunId: 'b1' };
      return watchBuilderRun(client, ids, { clock: states.clock, signal }, startAt(token, 'builder_run'));
    };
    await compareWithKills(script, watch, 200);
  });

  it('receives every event of a generation once and in order', async () => {
    const message = (id: string, type = 'text') =>
      ({
        id,
        role: 'assistant',
        content: id,
        created_at: createdAt,
        message: { type, ...(type === 'question' && { toolCallId: `call-${id}`, questions: [{ question: 'Which?' }] }) },
      }) as unknown as ArtifactMessage;
    const messages = [
      message('start'),
      message('m1'),
      message('m2'),
      message('m3', 'question'),
      message('m4'),
      message('m5'),
      message('m6', 'question'),
      message('m7'),
      ...['m8', 'm9', 'm10', 'm11'].map((id) => message(id)),
    ];
    const script = [
      { status: 'pending', count: 1 },
      { status: 'running', count: 3 },
      { status: 'running', count: 4 },
      { status: 'running', count: 6 },
      { status: 'running', count: 7 },
      { status: 'running', count: 11 },
      { status: 'completed', count: 12 },
    ];
    const watch: Watch<(typeof script)[number]> = (states, token) => {
      const call = async (id: string, { query }: { query?: { before?: string } }) => {
        const { status, count } = states.current;
        if (id === 'getArtifact') return { artifact: { id: 'a1', status } };
        // Pages of two messages, so that a reader has to look for the one that it has seen last.
        const end = query?.before === undefined ? count : messages.findIndex((each) => each.id === query.before);
        return { data: messages.slice(Math.max(0, end - 2), end), total: count, has_more: end > 2 };
      };
      const client = { call, onWaiting: () => () => undefined } as unknown as Client;
      return watchArtifact(client, 'a1', startAt(token, 'artifact') ?? artifactStart('start'), { clock: states.clock, signal });
    };
    const events = (await compareWithKills(script, watch, 200)) as { type: string; data: { message?: ArtifactMessage } }[];
    expect(events.flatMap(({ data }) => data.message?.id ?? [])).toEqual(messages.slice(1).map(({ id }) => id));
  });
});
