/** How the events of something that is watched are shown: on a status line of a terminal, as notes elsewhere, and as JSON for programs. */
import { expect, it, vi } from 'vitest';
import { type EventView, newStreamSink } from '../../../src/cli/following/stream-sinks.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import type { Envelope } from '../../../src/watch/envelope.ts';
import { fakeTerminal, hostileInput, sanitizedHostileText } from '../../terminal/fake-streams.ts';

type Shown = Envelope & { view?: EventView };
const event = (view?: EventView): Shown => ({ seq: 1, time: '', resume: null, ...(view && { view }) }) as unknown as Shown;

/** A sink, and what it has written to stderr. */
async function opened({ tty = false, format = 'table', saved = [] as string[] } = {}) {
  const fake = fakeTerminal({ tty, columns: 80, env: { TERM: 'xterm', NO_COLOR: '1', LANG: 'C.UTF-8' } });
  const context = { terminal: fake.terminal, clock: { now: () => 0 }, format, flags: {} } as unknown as Context;
  const positions = { save: (token: string) => void saved.push(token) } as never;
  const sink = await newStreamSink<Shown>(context, ({ view }) => view, { positions });
  let seen = 0;
  const news = (): string => {
    const text = fake.stderr().slice(seen);
    seen = fake.stderr().length;
    return text;
  };
  return { ...fake, sink, news };
}

it('are notes without a terminal: texts, and progress unless it is only for a moment', async () => {
  const { sink, news } = await opened();
  await sink.event(event());
  await sink.event(event({ text: 'a text' }));
  await sink.event(event({ phase: `running ${hostileInput}` }));
  await sink.event(event({ phase: 'thinking', transient: true }));
  await sink.event(event({ phase: 'done', text: 'another' }));
  sink.close();
  expect(news()).toBe(`a text\n[running ${sanitizedHostileText}]\nanother\n[done]\n`);
});

it('are on a status line of a terminal, which makes room for a prompt', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const { sink, news } = await opened({ tty: true });
    /** What is written in the time in which the status line is drawn several times. */
    const drawn = (): string => {
      vi.advanceTimersByTime(500);
      return news();
    };
    expect(drawn()).toContain('starting');
    await sink.event(event({ phase: 'thinking', transient: true }));
    expect(drawn()).toContain('thinking');
    sink.hold();
    news();
    await sink.event(event({ phase: 'waiting', text: 'a text' }));
    expect(drawn()).toBe('a text\n');
    await sink.resume(true);
    expect(drawn()).toContain('waiting');
    sink.close();
    news();
    await sink.event(event({ text: 'the end' }));
    expect(drawn()).toBe('the end\n');
  } finally {
    vi.useRealTimers();
  }
});

it('are lines of JSON for programs, and their positions are saved once they were printed', async () => {
  const saved: string[] = [];
  const { sink, stdout, stderr } = await opened({ format: 'ndjson', tty: true, saved });
  await sink.event({ ...event(), resume: 't1' } as Shown);
  await sink.event({ ...event(), resume: null } as Shown);
  sink.hold();
  await sink.resume(false);
  sink.close();
  expect([stdout(), stderr(), saved]).toEqual(['{"seq":1,"time":"","resume":"t1"}\n{"seq":1,"time":"","resume":null}\n', '', ['t1']]);
});
