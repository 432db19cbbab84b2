/** Inboxes of several profiles as one. */
import { expect, it } from 'vitest';
import type { PendingRequest } from '../../src/cli/following/pending-requests.ts';
import { type InboxEvent, watchInbox } from '../../src/commands/inbox/events.ts';
import { InboxFeed, type Source } from '../../src/commands/inbox/inbox-feed.ts';
import type { Pace } from '../../src/watch/pace.ts';

const request = (id: string, profile: string): PendingRequest =>
  ({ id, profile, title: id, run_id: 'r', agent_name: 'a', created_at: `2026-11-20T00:00:0${id}Z` }) as PendingRequest;

/** A source whose polls the test delivers. An error ends it. */
function polled(origin: string, profile: string) {
  type Settle = { resolve: (requests: PendingRequest[]) => void; reject: (error: Error) => void };
  let settle: Settle = { resolve: () => undefined, reject: () => undefined };
  const nextRead = (): Promise<PendingRequest[]> =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
  let next = nextRead();
  let isPaused = (): void => undefined;
  const pace = { pause: async () => isPaused() } as unknown as Pace;
  const source: Source = {
    origin,
    load: () => next,
    watch: (load) =>
      watchInbox(load, { clock: { now: () => 0, sleep: async () => undefined }, signal: new AbortController().signal, pace }),
  };
  /** Ends the read in progress, and prepares the next one. */
  const deliver = (result: PendingRequest[] | Error): void => {
    const { resolve, reject } = settle;
    next = nextRead();
    if (result instanceof Error) reject(result);
    else resolve(result);
  };
  /** Resolves when the events of the poll were passed on. */
  const poll = async (...ids: string[]): Promise<void> => {
    const paused = new Promise<void>((resolve) => {
      isPaused = resolve;
    });
    // The source has been opened, and reads.
    await new Promise((resolve) => setImmediate(resolve));
    deliver(ids.map((id) => request(id, profile)));
    await paused;
  };
  return { source, poll, fail: (error: Error) => deliver(error) };
}

function feedOf(...sources: Source[]) {
  const events: string[] = [];
  const failures: unknown[] = [];
  const onEvent = (event: InboxEvent) => {
    const id = event.type === 'human_request.resolved' ? event.data.human_request_id : event.data.human_request.id;
    events.push(`${event.type.split('.')[1]} ${id}`);
  };
  const onFailure = (index: number, error: unknown) => {
    failures.push(index);
    return failures.length === sources.length ? error : undefined;
  };
  const feed = new InboxFeed(
    sources.map((source) => async () => source),
    { onEvent, onFailure },
  );
  return { feed, events, failures, shown: () => feed.pending.map(({ id, profile }) => `${profile} ${id}`) };
}

it('shows a request that two profiles can read once, with the first of them', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://a', 'two')];
  const { events, shown } = feedOf(one.source, two.source);
  await two.poll('1', '2');
  expect(shown()).toEqual(['two 1', 'two 2']);
  await one.poll('1');
  expect(shown()).toEqual(['one 1', 'two 2']);
  expect(events).toEqual(['pending 1', 'pending 2']);
  await one.poll();
  await two.poll('2');
  expect(shown()).toEqual(['two 2']);
  expect(events.slice(2)).toEqual(['resolved 1']);
  await one.poll('1');
  expect(shown()).toEqual(['one 1', 'two 2']);
  expect(events.slice(3)).toEqual(['pending 1']);
});

it('shows a request as resolved although the other profile returned it in an earlier reading', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://a', 'two')];
  const { events, shown } = feedOf(one.source, two.source);
  await one.poll('1');
  await two.poll('1', '2');
  await one.poll('1', '2');
  await one.poll('2');
  expect(shown()).toEqual(['one 2']);
  expect(events).toEqual(['pending 1', 'pending 2', 'resolved 1']);
  // This reading began before that one, but takes longer.
  await two.poll('1', '2', '3');
  expect(shown()).toEqual(['one 2', 'two 3']);
  await two.poll('2', '3');
  expect(events.slice(3)).toEqual(['pending 3']);
});

it('does not show a request that was resolved before the other profile returned it', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://a', 'two')];
  const { events, shown } = feedOf(one.source, two.source);
  await one.poll('1');
  await one.poll();
  await two.poll('1');
  expect(shown()).toEqual([]);
  await two.poll();
  expect(events).toEqual(['pending 1', 'resolved 1']);
});

it('shows a request that only one profile can read any more', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://a', 'two')];
  const { shown } = feedOf(one.source, two.source);
  await one.poll('1');
  await two.poll('1');
  await one.poll();
  // The reading that began later counts.
  for (let poll = 0; poll < 2; poll += 1) await two.poll('1');
  expect(shown()).toEqual(['two 1']);
});

it('keeps requests of two services with the same ID apart', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://b', 'two')];
  const { events, shown } = feedOf(one.source, two.source);
  await one.poll('1');
  await two.poll('1');
  expect(shown()).toEqual(['one 1', 'two 1']);
  await one.poll('1', '3');
  await two.poll('1', '2');
  // The oldest ones are first, whatever their services.
  expect(shown()).toEqual(['one 1', 'two 1', 'two 2', 'one 3']);
  await one.poll('1');
  await two.poll();
  expect(shown()).toEqual(['one 1']);
  expect(events.filter((event) => event.endsWith(' 1'))).toEqual(['pending 1', 'pending 1', 'resolved 1']);
});

it('continues with the other profiles when one fails, and shows what they can read', async () => {
  const [one, two] = [polled('https://a', 'one'), polled('https://a', 'two')];
  const { feed, failures, events, shown } = feedOf(one.source, two.source);
  await one.poll('1', '2');
  await two.poll('1');
  one.fail(new Error('gone'));
  await feed.nextPoll();
  expect(shown()).toEqual(['two 1']);
  expect(failures).toEqual([0]);
  await two.poll('1', '3');
  expect(events).toEqual(['pending 1', 'pending 2', 'pending 3']);
  const ended = feed.end();
  two.fail(new Error('also gone'));
  await expect(ended).rejects.toThrow('also gone');
  expect(() => feed.pending).toThrow('also gone');
  expect(feed.lastPending.map(({ id }) => id)).toEqual(['1', '3']);
});
