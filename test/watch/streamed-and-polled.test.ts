/** Watching a run of the real service: the same events in the same order, by its stream or by polling, whatever happens in between. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import type { Outage } from '../../src/watch/outage-tracker.ts';
import { watchRun } from '../../src/watch/watch-run.ts';
import { failureOf } from '../client/harness.ts';
import { type Behaviour, Gate } from '../service/helpers/runtime.ts';
import { type Api, startApi } from '../service/helpers/service.ts';
import { Forwarder } from '../support/forwarder.ts';
import { runPromptly } from '../support/promptly.ts';
import { afterTest } from '../support/temporary.ts';

const textOf = (text: string) => ({ kind: 'text' as const, id: text, text });

const askBehaviour: Behaviour = async (host) => {
  if (host.answer('ask') === undefined) {
    await host.emit([textOf('Before')]);
    return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
  }
  await host.emit([textOf('After')]);
  return { status: 'completed' };
};

interface WatchHarness {
  events: RunEvent[];
  /** Resolves to all events when the run has ended. */
  end: Promise<RunEvent[]>;
  outages: (Outage | undefined)[];
  stop: AbortController;
}

function clientOf(url: string, token: string): Client {
  const client = new Client({ baseUrl: url, credential: bearerCredential(token), userAgent: 'aops/test' });
  afterTest(() => client.close());
  return client;
}

/** Starts to watch; the test ends without waiting for it. */
function watch(url: string, api: Api, runId: string): WatchHarness {
  const stop = new AbortController();
  const watcher: WatchHarness = { events: [], end: Promise.resolve([]), outages: [], stop };
  const onOutage = (outage: Outage | undefined): void => void watcher.outages.push(outage);
  const collectAll = async (): Promise<RunEvent[]> => {
    const client = clientOf(url, api.service.token);
    for await (const event of watchRun(client, runId, { clock: systemClock, signal: stop.signal, onOutage })) watcher.events.push(event);
    return watcher.events;
  };
  watcher.end = collectAll();
  watcher.end.catch(() => undefined);
  afterTest(() => stop.abort(new Error('The test is over.')));
  return watcher;
}

const until = (watcher: WatchHarness, type: RunEvent['type']): Promise<void> =>
  expect.poll(() => watcher.events.some((event) => event.type === type)).toBe(true) as unknown as Promise<void>;

function inShort(event: RunEvent): string {
  switch (event.type) {
    case 'message':
      return event.data.message.text_content ?? event.data.message.type;
    case 'run.status':
      return `> ${event.data.status}`;
    case 'human_request.pending':
      return `? ${event.data.human_request.title}`;
    case 'human_request.resolved':
      return `${event.data.resolution}: ${event.data.title}`;
    case 'run.finished':
      return `finished ${event.data.run.status}`;
    default:
      return event.type;
  }
}

/** Without the statuses that polling may miss. */
const lasting = (events: RunEvent[]): string[] =>
  events.map(inShort).filter((event) => !/^> (not_started|pending|starting|running)$/.test(event));

async function approve(api: Api, runId: string): Promise<void> {
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: runId } });
  await api.ok('respondToHumanRequest', { params: { run_id: runId, request_id: request?.id ?? '' }, body: { approved: true } });
}

describe.each([
  { how: 'by its stream', streams: true },
  { how: 'by polling', streams: false },
])('a run that is watched $how', ({ streams }) => {
  async function setUp(behaviours: Record<string, Behaviour>): Promise<{ api: Api; proxy: Forwarder }> {
    const api = await startApi({ behaviours });
    const proxy = await Forwarder.to(api.service.url);
    proxy.streams = streams;
    return { api, proxy };
  }

  it('is reported from its first message to its end', async () => {
    const { api, proxy } = await setUp({ asks: askBehaviour });
    const run = await api.run('asks', 'Go');
    const watcher = watch(proxy.url, api, run.id);
    await until(watcher, 'human_request.pending');
    await approve(api, run.id);
    const events = await watcher.end;
    const lastingEvents = lasting(events);
    expect(lastingEvents.filter((event) => event !== 'answered: Really?')).toEqual([
      ...['Go', 'Before', '> waiting', '? Really?', 'Approved: Really?', 'After', '> completed', 'finished completed'],
    ]);
    expect(lastingEvents.indexOf('answered: Really?')).toBeGreaterThan(lastingEvents.indexOf('Approved: Really?'));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const statuses = events.flatMap(({ type, data }) =>
      type === 'run.status' ? [data as { status: string; previous: string | null }] : [],
    );
    expect(statuses.map(({ previous }) => previous)).toEqual([null, ...statuses.slice(0, -1).map(({ status }) => status)]);
    expect(watcher.outages).toEqual([]);
    const streamRequests = proxy.requests.filter((path) => path.includes('/events'));
    expect(streamRequests).toHaveLength(1);
    if (streams) expect(proxy.requests).toEqual(streamRequests);
  });

  it('is reported completely if it ended long ago', async () => {
    const { api, proxy } = await setUp({
      many: async (host) => {
        await host.emit(Array.from({ length: 120 }, (_, index) => textOf(`m${index}`)));
        return { status: 'failed', error: 'enough' };
      },
    });
    const run = await api.run('many');
    await api.until(run.id, 'failed');
    const events = await watch(proxy.url, api, run.id).end;
    expect(events.map(inShort)).toEqual([...Array.from({ length: 120 }, (_, index) => `m${index}`), '> failed', 'finished failed']);
  });

  it('reports each message once, however often the connection breaks', async () => {
    const count = 40;
    const gates = Array.from({ length: count }, () => new Gate());
    const { api, proxy } = await setUp({
      slow: async (host) => {
        for (const [index, gate] of gates.entries()) {
          await gate.opened;
          await host.emit([textOf(`m${index}`)]);
        }
        return { status: 'completed' };
      },
    });
    proxy.eventsPerStream = 3;
    const run = await api.run('slow');
    const watcher = watch(proxy.url, api, run.id);
    for (const [index, gate] of gates.entries()) {
      gate.open();
      if (index % 7 === 0) proxy.cut();
      if (index % 10 === 9) await expect.poll(() => watcher.events.map(inShort)).toContain(`m${index}`);
    }
    const events = await watcher.end;
    expect(events.filter(({ type }) => type === 'message').map(inShort)).toEqual(gates.map((_, index) => `m${index}`));
    expect(events.at(-1)).toMatchObject({ type: 'run.finished' });
  }, 240_000);

  it('continues after an outage of the service, whose start and end are reported once', async () => {
    const { api, proxy } = await setUp({ asks: askBehaviour });
    const run = await api.run('asks', 'Go');
    const watcher = watch(proxy.url, api, run.id);
    await until(watcher, 'human_request.pending');
    const before = Date.now();
    proxy.goDown();
    await expect.poll(() => watcher.outages.length).toBe(1);
    await approve(api, run.id);
    await api.until(run.id, 'completed');
    proxy.up = true;
    const events = await watcher.end;
    expect(watcher.outages).toEqual([
      { since: expect.any(Number), reason: expect.stringMatching(/^Could not reach http:\/\/127/) },
      undefined,
    ]);
    expect(watcher.outages[0]?.since).toBeGreaterThanOrEqual(before);
    expect(lasting(events)).toEqual([
      ...['Go', 'Before', '> waiting', '? Really?', 'Approved: Really?', 'After', 'answered: Really?', '> completed', 'finished completed'],
    ]);
  });

  it('is waited for when the service is not running yet', async () => {
    const { api, proxy } = await setUp({ asks: askBehaviour });
    const run = await api.run('asks', 'Go');
    proxy.goDown();
    const watcher = watch(proxy.url, api, run.id);
    await expect.poll(() => watcher.outages.length).toBe(1);
    proxy.up = true;
    await until(watcher, 'human_request.pending');
    expect(watcher.outages).toHaveLength(2);
  });

  it('is an immediate error if it does not exist or cannot be read', async () => {
    const { api, proxy } = await setUp({ asks: askBehaviour });
    const unknownWatcher = watch(proxy.url, api, '00000000-0000-4000-8000-000000000000');
    expect(await runPromptly(() => failureOf(unknownWatcher.end))).toMatchObject({ status: 404, exit: 3 });
    const run = await api.run('asks', 'Go');
    const limitedApi = await api.withToken({ scopes: ['runs:write'] });
    expect(await runPromptly(() => failureOf(watch(proxy.url, limitedApi, run.id).end))).toMatchObject({ status: 403, exit: 5 });
    expect(await runPromptly(() => failureOf(watch(proxy.url, api.as('wrong'), run.id).end))).toMatchObject({ status: 401, exit: 4 });
  });

  it('is reported to several watchers at the same time', async () => {
    const { api, proxy } = await setUp({ asks: askBehaviour });
    const run = await api.run('asks', 'Go');
    const watchers = Array.from({ length: 5 }, () => watch(proxy.url, api, run.id));
    for (const watcher of watchers) await until(watcher, 'human_request.pending');
    await approve(api, run.id);
    for (const watcher of watchers) {
      expect(lasting(await watcher.end).filter((event) => event !== 'answered: Really?')).toEqual([
        ...['Go', 'Before', '> waiting', '? Really?', 'Approved: Really?', 'After', '> completed', 'finished completed'],
      ]);
    }
  });
});

it('is reported as answered if its stream was interrupted from before the request until after the answer', async () => {
  const [asks, ends] = [new Gate(), new Gate()];
  const api = await startApi({
    behaviours: {
      pauses: async (host) => {
        await asks.opened;
        if (host.answer('ask') === undefined) return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Really?' } };
        await ends.opened;
        return { status: 'completed' };
      },
    },
  });
  const proxy = await Forwarder.to(api.service.url);
  const run = await api.run('pauses', 'Go');
  const watcher = watch(proxy.url, api, run.id);
  await expect.poll(() => watcher.events.map(inShort)).toContain('> running');
  proxy.refuses = 'streams';
  proxy.cut();
  asks.open();
  await until(watcher, 'human_request.pending');
  // Neither polls nor streams see the answer before the run has continued.
  proxy.goDown();
  await approve(api, run.id);
  await api.until(run.id, 'running');
  proxy.refuses = 'others';
  proxy.up = true;
  await until(watcher, 'human_request.resolved');
  ends.open();
  expect(lasting(await watcher.end)).toEqual([
    ...['Go', '> waiting', '? Really?', 'Approved: Really?', 'answered: Really?', '> completed', 'finished completed'],
  ]);
});

it('is polled while the service has too many streams open', async () => {
  const api = await startApi({ behaviours: { asks: askBehaviour }, httpLimits: { streamsPerCredential: 0 } });
  const run = await api.run('asks', 'Go');
  const watcher = watch(api.service.url, api, run.id);
  await until(watcher, 'human_request.pending');
  await approve(api, run.id);
  expect(lasting(await watcher.end).at(-1)).toBe('finished completed');
});
