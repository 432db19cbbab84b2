/** The events of many runs that are watched together by polling, with a simulated service and simulated time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import type { Client } from '../../src/client/client.ts';
import { UnavailableError } from '../../src/client/errors.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import type { HumanRequest } from '../../src/interface/types.ts';
import { type ManyRunsOptions, type RunSelection, RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { type RunPosition, runStart } from '../../src/watch/resume/run-position.ts';
import { question } from './fake-run.ts';
import { SharedTime } from './shared-time.ts';

interface Row {
  id: string;
  title: string;
  status: string;
  created_at: string;
  pending_human_request: HumanRequest | null;
  updated_at?: string;
  completed_at?: string;
  agent_id?: string;
  case_queue_id?: string;
}

interface CallInput {
  params: { run_id: string };
  query: { limit: number; offset: number; status?: string; since?: string; until?: string };
}

/** A team whose runs the test changes. */
function startTeam(ids: readonly string[] = []) {
  const clock = new SharedTime();
  const rows = new Map<string, Row>();
  const messages = new Map<string, string[]>();
  const requests: { time: number; name: string; query: object }[] = [];
  /** What the list does not show of a run, as with some services. */
  const hiddenRequests = new Set<string>();
  const failures = new Map<string, Error>();
  const messageFailures = new Map<string, Error>();
  let hints: (() => void) | undefined;
  const team = {
    ...{ clock, rows, messages, requests, hiddenRequests, failures, messageFailures },
    hasHints: false,
    hint: () => hints?.(),
    add(id: string, status = 'running') {
      rows.set(id, { id, title: id, status, created_at: new Date(clock.now() + rows.size).toISOString(), pending_human_request: null });
      messages.set(id, []);
    },
    set: (id: string, change: Partial<Row>) => void Object.assign(rows.get(id) as Row, change),
    say: (id: string, text: string) => void messages.get(id)?.push(text),
    names: () => requests.map(({ name }) => name),
  };
  for (const id of ids) team.add(id);
  const call = async (id: string, { params, query }: CallInput): Promise<unknown> => {
    requests.push({
      time: clock.now(),
      name: id === 'listRuns' ? 'list' : `${id === 'getRun' ? 'run' : 'messages'} ${params.run_id}`,
      query,
    });
    if (id === 'listRuns') {
      const { limit, offset, status, since = '', until = '9999' } = query;
      const matching = [...rows.values()].filter(
        (row) => (status ?? row.status) === row.status && row.created_at >= since && row.created_at < until,
      );
      const data = matching
        .toReversed()
        .slice(offset, offset + limit)
        .map((row) => ({ ...row, ...(hiddenRequests.has(row.id) && { pending_human_request: null }) }));
      return { data, total: matching.length };
    }
    const failure = failures.get(params.run_id) ?? (id === 'listRunMessages' ? messageFailures.get(params.run_id) : undefined);
    if (failure !== undefined) throw failure;
    const row = rows.get(params.run_id) as Row;
    const { title: _, pending_human_request, ...run } = row;
    if (id === 'getRun') return { run, pending_human_request };
    const texts = messages.get(params.run_id) as string[];
    const page = texts.slice(query.offset, query.offset + query.limit);
    return {
      messages: page.map((text, index) => ({
        id: `${params.run_id}-${query.offset + index}`,
        text_content: text,
        timestamp: row.created_at,
      })),
      total: texts.length,
    };
  };
  const openEvents = async (id: string, _: unknown, { signal }: { signal: AbortSignal }) => {
    if (id !== 'streamTeamEvents' || !team.hasHints) throw new NoStreamError('none', { final: true });
    const aborted = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    aborted.catch(() => undefined);
    const next = () => {
      const hinted = new Promise((resolve) => {
        hints = () => resolve({ type: 'run.changed', id: '', data: '{}' });
      });
      return Promise.race([hinted, aborted]);
    };
    return { next, close: () => undefined, retry: undefined };
  };
  return { ...team, team, client: { onWaiting: () => () => undefined, call, openEvents } as unknown as Client };
}

type Team = ReturnType<typeof startTeam>;

/** Watches, and notes each event as a line. */
function watch({ client, clock }: Team, selection: RunSelection, options: Partial<ManyRunsOptions> = {}) {
  const stop = new AbortController();
  const runsWatch = new RunsWatch(client, selection, { clock, signal: stop.signal, teamId: 't1', messages: false, ...options });
  const lines: string[] = [];
  let isOver = false;
  const end = (async () => {
    for await (const { run, body } of runsWatch.updates()) {
      const detail =
        body.type === 'run.status'
          ? body.data.status
          : body.type === 'message'
            ? body.data.message.text_content
            : body.type === 'human_request.pending'
              ? body.data.human_request.id
              : body.type === 'run.finished'
                ? body.data.run.status
                : body.type === 'run.lost'
                  ? body.error.code
                  : '';
      if (body.type !== 'runs.read') lines.push(`${run?.id} ${body.type} ${detail}`.trim());
    }
    isOver = true;
  })();
  end.catch((error: unknown) => void lines.push(String(error)));
  return {
    ...{ runsWatch, lines, end, isOver: () => isOver },
    /** In small steps: what was woken needs some turns before it goes to sleep again. */
    async pass(milliseconds: number) {
      const end = clock.now() + milliseconds;
      do await clock.goTo(Math.min(end, clock.now() + 1_000));
      while (clock.now() < end);
      await clock.goTo(end);
    },
    async stop() {
      stop.abort(new Error('The test is over.'));
      await expect(end).rejects.toThrow('The test is over.');
    },
  };
}

const named = (...ids: string[]): RunSelection => ({ kind: 'named', runs: ids.map((id) => ({ id })) });
const active = (addsNew: boolean): RunSelection => ({ kind: 'filter', filter: {}, addsNew });
const notFound = new AopsError('Gone.', { code: 'run_not_found', exit: exitCodes.notFound });

describe('named runs', () => {
  it.each([2, 6])('are watched until all of %i have ended', async (count) => {
    const ids = Array.from({ length: count }, (_, index) => `r${index}`);
    const team = startTeam(ids);
    const { lines, pass, isOver, runsWatch } = watch(team, named(...ids));
    await pass(2_000);
    expect(lines.toSorted()).toEqual(ids.map((id) => `${id} run.status running`));
    // Runs that are found in the list have their row.
    for (const { id, listItem } of runsWatch.runs.values()) expect(listItem?.title).toBe(id);
    lines.length = 0;
    for (const id of ids.slice(1)) team.set(id, { status: 'completed' });
    await pass(90_000);
    expect(lines.toSorted()).toEqual(ids.slice(1).flatMap((id) => [`${id} run.finished completed`, `${id} run.status completed`]));
    expect(isOver()).toBe(false);
    team.set('r0', { status: 'failed' });
    await pass(90_000);
    expect(lines.slice(-2)).toEqual(['r0 run.status failed', 'r0 run.finished failed']);
    expect(isOver()).toBe(true);
    // Watching can be continued from there.
    expect(runsWatch.runs.get('r0')?.position).toMatchObject({ status: 'failed', isFinished: true });
    const requestCount = team.requests.length;
    await pass(60_000);
    expect(team.requests).toHaveLength(requestCount);
  });

  it('include those that cannot be read, which are lost', async () => {
    const team = startTeam(['r0', 'r1']);
    team.failures.set('r0', notFound);
    const { lines, pass, isOver, runsWatch } = watch(team, named('r0', 'r1'));
    await pass(1_000);
    expect(lines).toEqual(['r0 run.lost run_not_found', 'r1 run.status running']);
    // What was known of it before is not lost.
    expect(runsWatch.runs.get('r0')?.position).toEqual(runStart);
    team.set('r1', { status: 'completed' });
    await pass(90_000);
    expect([lines.slice(2), isOver()]).toEqual([['r1 run.status completed', 'r1 run.finished completed'], true]);
    expect(team.names().filter((name) => name === 'run r0')).toHaveLength(1);
  });

  it('can be none at all', async () => {
    const { pass, isOver, lines } = watch(startTeam(), named());
    await pass(0);
    expect([lines, isOver()]).toEqual([[], true]);
  });
});

describe('runs whose end was reported earlier', () => {
  const end: RunPosition = { ...runStart, offset: 1, lastMessageId: 'r0-0', status: 'completed', isFinished: true };

  it.each([2, 6])('are not reported again, so watching %i of them ends without an event', async (count) => {
    const ids = Array.from({ length: count }, (_, index) => `r${index}`);
    const team = startTeam(ids);
    for (const id of ids) {
      team.set(id, { status: 'completed' });
      team.say(id, 'one');
    }
    const starts = new Map(ids.map((id) => [id, { ...end, lastMessageId: `${id}-0` }]));
    const { lines, pass, isOver, runsWatch } = watch(team, named(...ids), { starts, messages: true });
    await pass(30_000);
    expect([lines, isOver(), runsWatch.isOver]).toEqual([[], true, true]);
    expect([...runsWatch.runs.values()].map(({ run }) => run?.id)).toEqual(ids);
  });

  it('are reported if they have continued since', async () => {
    const team = startTeam(['r0']);
    team.set('r0', { status: 'completed' });
    team.say('r0', 'one');
    team.say('r0', 'two');
    const { lines, pass, isOver } = watch(team, named('r0'), { starts: new Map([['r0', end]]), messages: true });
    await pass(90_000);
    expect(lines).toEqual(['r0 message two', 'r0 run.finished completed']);
    expect(isOver()).toBe(true);
  });
});

describe('matching runs', () => {
  it('are those that match at first, and watching ends with them', async () => {
    const team = startTeam(['r0', 'r1']);
    team.add('old', 'completed');
    const { lines, pass, isOver } = watch(team, active(false));
    await pass(1_000);
    expect(lines.toSorted()).toEqual(['r0 run.status running', 'r1 run.status running']);
    team.add('new');
    await pass(90_000);
    expect(lines).toHaveLength(2);
    for (const id of ['r0', 'r1']) team.set(id, { status: 'interrupted' });
    await pass(90_000);
    expect(lines.slice(2).toSorted()).toEqual(
      ['r0', 'r1'].flatMap((id) => [`${id} run.finished interrupted`, `${id} run.status interrupted`]),
    );
    expect(isOver()).toBe(true);
  });

  it('include those that were watched before and have ended since, unless they do not exist any more', async () => {
    const team = startTeam(['r0', 'r1', 'r2']);
    const running = { ...runStart, status: 'running' };
    const ended = { ...runStart, status: 'completed', isFinished: true };
    const starts = new Map([
      ['r1', running],
      ['r2', ended],
      ['deleted', running],
    ] as const);
    for (const id of ['r1', 'r2']) team.set(id, { status: 'completed' });
    team.failures.set('deleted', notFound);
    const { lines, pass, isOver, runsWatch } = watch(team, active(false), { starts });
    await pass(1_000);
    expect(lines.toSorted()).toEqual(['r0 run.status running', 'r1 run.finished completed', 'r1 run.status completed']);
    expect([...runsWatch.runs.keys()].toSorted()).toEqual(['r0', 'r1']);
    team.set('r0', { status: 'completed' });
    await pass(90_000);
    expect(isOver()).toBe(true);
  });

  it('do not include those of another agent that were watched before', async () => {
    const team = startTeam(['r0', 'r1', 'r2']);
    for (const [id, agent_id] of [
      ['r1', 'a1'],
      ['r2', 'a2'],
    ] as const)
      team.set(id, { status: 'completed', agent_id });
    team.set('r0', { agent_id: 'a1' });
    team.set('r1', { case_queue_id: 'q1' });
    const starts = new Map(['r1', 'r2'].map((id) => [id, { ...runStart, status: 'running' }] as const));
    const { lines, pass, stop, runsWatch } = watch(team, { kind: 'filter', filter: { agent_id: 'a1' }, addsNew: true }, { starts });
    await pass(1_000);
    expect(lines.toSorted()).toEqual(['r0 run.status running', 'r1 run.finished completed', 'r1 run.status completed']);
    expect([[...runsWatch.positions().keys()].toSorted(), runsWatch.count]).toEqual([['r0', 'r1'], 2]);
    await stop();
  });

  it('can be none, which ends watching immediately unless new ones are added', async () => {
    const none = watch(startTeam(), active(false));
    await none.pass(1_000);
    expect([none.lines, none.isOver()]).toEqual([[], true]);
    const team = startTeam();
    const waiting = watch(team, active(true));
    await waiting.pass(60_000);
    expect(waiting.isOver()).toBe(false);
    team.add('r0');
    await waiting.pass(10_000);
    expect(waiting.lines).toEqual(['r0 run.status running']);
    await waiting.stop();
  });

  it('are listed with the filters of the selection', async () => {
    const team = startTeam(['r0']);
    const { pass, stop } = watch(team, { kind: 'filter', filter: { agent_id: 'a1', status: 'running' }, addsNew: true });
    await pass(90_000);
    await stop();
    const [newest, ...queries] = team.requests.map(({ query }) => query);
    expect(newest).toEqual({ limit: 1, offset: 0 });
    expect(queries.length).toBeGreaterThan(1);
    for (const query of queries) expect(query).toMatchObject({ agent_id: 'a1', status: 'running', limit: 100, offset: 0 });
  });

  it('with a certain status are noticed as soon as they have it, however old they are', async () => {
    const team = startTeam(['old', 'r0']);
    team.set('old', { status: 'completed' });
    const { lines, pass, stop } = watch(team, { kind: 'filter', filter: { status: 'running' }, addsNew: true });
    await pass(1_000);
    team.set('old', { status: 'running' });
    await pass(2_500);
    expect(lines).toEqual(['r0 run.status running', 'old run.status running']);
    await stop();
  });

  it('do not include one that had ended before, although it is the newest', async () => {
    const team = startTeam(['r0']);
    team.add('r1', 'completed');
    const { lines, pass, stop } = watch(team, active(true));
    await pass(90_000);
    expect(lines).toEqual(['r0 run.status running']);
    await stop();
  });

  it('have their current row of the list', async () => {
    const team = startTeam(['r0']);
    const { runsWatch, pass, stop } = watch(team, active(true));
    await pass(1_000);
    team.set('r0', { title: 'later' });
    await pass(90_000);
    expect(runsWatch.runs.get('r0')?.listItem?.title).toBe('later');
    await stop();
  });

  it('are searched for from the newest one on, and completely only now and then', async () => {
    const team = startTeam();
    const { pass, stop } = watch(team, active(true));
    await pass(1_000);
    for (const id of ['r0', 'r1', 'r2']) team.add(id, 'completed');
    await pass(300_000);
    team.requests.length = 0;
    await pass(900_000);
    const queries = team.requests.map(({ query }) => query as { since?: string; status?: string });
    const [newer, complete] = [queries.filter(({ since }) => since !== undefined), queries.filter(({ status }) => status === 'running')];
    const since = (id: string) => newer.filter((query) => query.since === team.rows.get(id)?.created_at).length;
    expect([since('r0'), since('r0') + since('r2')]).toEqual([complete.length, newer.length]);
    expect(complete.length).toBeGreaterThan(0);
    expect(newer.length).toBeGreaterThan(5 * complete.length);
    // What has ended is not read again.
    expect(team.names().filter((name) => name !== 'list')).toEqual([]);
    await stop();
  });

  it('are read together with the new ones', async () => {
    const team = startTeam(['r0', 'r1', 'r2']);
    const { lines, pass, stop } = watch(team, active(true));
    await pass(1_000);
    team.requests.length = 0;
    team.set('r1', { status: 'waiting', pending_human_request: question('q1') });
    team.add('r3');
    await pass(1_000);
    expect(lines.slice(3)).toEqual(['r3 run.status running', 'r1 run.status waiting', 'r1 human_request.pending q1']);
    expect(team.requests.map(({ query }) => query)).toEqual([{ limit: 100, offset: 0, since: team.rows.get('r0')?.created_at }]);
    await stop();
  });

  it('are found if they end before they are seen', async () => {
    const team = startTeam(['r0']);
    const { lines, pass, stop, runsWatch } = watch(team, active(true));
    await pass(1_000);
    team.add('r1', 'completed');
    await pass(90_000);
    expect(lines.slice(1)).toEqual(['r1 run.status completed', 'r1 run.finished completed']);
    team.add('r2', 'failed');
    await pass(90_000);
    expect(lines.slice(3)).toEqual(['r2 run.status failed', 'r2 run.finished failed']);
    expect([...runsWatch.runs.values()].map(({ id, listItem }) => [id, listItem?.title])).toEqual([
      ['r0', 'r0'],
      ['r1', 'r1'],
      ['r2', 'r2'],
    ]);
    await stop();
  });

  it('are found if they were created in the same millisecond as the newest one', async () => {
    const team = startTeam(['r0']);
    const { lines, pass, stop } = watch(team, active(true));
    await pass(1_000);
    team.add('r1', 'completed');
    team.set('r1', { created_at: team.rows.get('r0')?.created_at as string });
    await pass(90_000);
    expect(lines.slice(1)).toEqual(['r1 run.status completed', 'r1 run.finished completed']);
    await stop();
  });

  it('are watched again if they continue after their end', async () => {
    const team = startTeam(['r0']);
    const { lines, pass, stop } = watch(team, active(true));
    await pass(1_000);
    for (const status of ['completed', 'running', 'failed']) {
      team.set('r0', { status });
      await pass(900_000);
    }
    expect(lines).toEqual([
      ...['r0 run.status running', 'r0 run.status completed', 'r0 run.finished completed'],
      ...['r0 run.status running', 'r0 run.status failed', 'r0 run.finished failed'],
    ]);
    await stop();
  });

  it.each([
    ['of which nothing is kept but their positions', true, []],
    ['unless all of them are kept', false, ['r1', 'r0']],
  ])('continue after what was reported of those that ended a while ago, %s', async (_, forgets, kept) => {
    const team = startTeam(['r0', 'r1']);
    const { runsWatch, lines, pass, stop } = watch(team, active(true), { messages: true, forgets });
    await pass(1_000);
    const end = (id: string, completed_at: string) => {
      team.say(id, completed_at);
      team.set(id, { status: 'completed', completed_at });
    };
    for (const id of ['r0', 'r1']) end(id, '2026-07-18T10:00:00.000Z');
    await pass(30_000);
    expect([...runsWatch.runs.keys()]).toEqual(['r1', 'r0']);
    await pass(60_000);
    expect([[...runsWatch.runs.keys()], [...runsWatch.positions().keys()], runsWatch.count]).toEqual([kept, ['r1', 'r0'], 2]);
    expect(runsWatch.positions().get('r0')).toMatchObject({ offset: 1, status: 'completed', isFinished: true });
    lines.length = 0;
    team.requests.length = 0;
    await pass(300_000);
    expect([lines, team.names().filter((name) => name !== 'list')]).toEqual([[], []]);
    end('r1', '2026-07-18T11:00:00.000Z');
    team.set('r0', { status: 'running' });
    await pass(60_000);
    expect(lines.toSorted()).toEqual(['r0 run.status running', 'r1 message 2026-07-18T11:00:00.000Z', 'r1 run.finished completed']);
    await stop();
  });

  it('are kept if they were lost, also where those that ended a while ago are not', async () => {
    const team = startTeam(['r0', 'r1']);
    const { runsWatch, lines, pass, stop } = watch(team, active(true), { forgets: true });
    await pass(1_000);
    team.rows.delete('r0');
    team.failures.set('r0', notFound);
    team.set('r1', { status: 'completed' });
    await pass(300_000);
    expect(lines.slice(2).toSorted()).toEqual(['r0 run.lost run_not_found', 'r1 run.finished completed', 'r1 run.status completed']);
    expect([...runsWatch.runs.keys()]).toEqual(['r0']);
    await stop();
  });

  it('continue after what was reported of them before the watch was resumed, even twice', async () => {
    const team = startTeam(['r0', 'r1']);
    team.say('r0', 'one');
    for (const id of ['r0', 'r1']) team.set(id, { status: 'completed' });
    const position = { ...runStart, offset: 1, lastMessageId: 'r0-0', status: 'completed', isFinished: true };
    const first = watch(team, active(true), { messages: true, starts: new Map([['r0', position]]) });
    await first.pass(60_000);
    expect([first.lines, first.runsWatch.runs.size, first.runsWatch.count]).toEqual([[], 0, 1]);
    await first.stop();
    const { lines, pass, stop } = watch(team, active(true), { messages: true, starts: first.runsWatch.positions() });
    await pass(1_000);
    team.say('r0', 'two');
    team.set('r0', { status: 'running' });
    await pass(60_000);
    expect(lines).toEqual(['r0 message two', 'r0 run.status running']);
    await stop();
  });

  it('are reported again if they have continued and ended between two readings', async () => {
    const team = startTeam(['r0', 'r1']);
    team.set('r1', { status: 'completed' });
    const { lines, pass, stop } = watch(team, active(true), { messages: true });
    await pass(1_000);
    for (const completed_at of ['2026-07-18T10:00:00.000Z', '2026-07-18T10:00:01.000Z']) {
      team.say('r0', completed_at);
      team.set('r0', { status: 'completed', completed_at });
      await pass(90_000);
    }
    expect(lines).toEqual([
      ...['r0 run.status running', 'r0 message 2026-07-18T10:00:00.000Z', 'r0 run.status completed', 'r0 run.finished completed'],
      ...['r0 message 2026-07-18T10:00:01.000Z', 'r0 run.finished completed'],
    ]);
    await stop();
  });
});

describe('a run', () => {
  it('is read by itself where the list may be incomplete', async () => {
    const ids = ['r0', 'r1', 'r2', 'r3'];
    const team = startTeam(ids);
    team.hiddenRequests.add('r1');
    const { lines, pass, stop, runsWatch } = watch(team, active(true));
    await pass(1_000);
    expect(team.names().filter((name) => name !== 'list')).toEqual([]);
    lines.length = 0;
    team.set('r0', { status: 'waiting', pending_human_request: question('q0') });
    team.set('r1', { status: 'waiting', pending_human_request: question('q1') });
    await pass(90_000);
    expect(lines.toSorted()).toEqual([
      ...['r0 human_request.pending q0', 'r0 run.status waiting', 'r1 human_request.pending q1', 'r1 run.status waiting'],
    ]);
    expect(team.names().filter((name) => name.startsWith('run'))).toContain('run r1');
    expect(team.names()).not.toContain('run r0');
    team.set('r2', { status: 'completed' });
    await pass(90_000);
    expect(team.names()).toContain('run r2');
    // Only the list contains its title.
    expect(runsWatch.runs.get('r2')?.listItem?.title).toBe('r2');
    await stop();
  });

  it('that is lost when it is read by itself does not end the others', async () => {
    const team = startTeam(['r0', 'r1', 'r2', 'r3']);
    const { lines, pass, stop } = watch(team, active(true));
    await pass(1_000);
    lines.length = 0;
    team.failures.set('r1', notFound);
    for (const id of ['r1', 'r2']) team.set(id, { status: 'completed' });
    await pass(90_000);
    expect(lines.toSorted()).toEqual(['r1 run.lost run_not_found', 'r2 run.finished completed', 'r2 run.status completed']);
    await stop();
  });

  it('reports its messages before its end, and before the request that they explain', async () => {
    const team = startTeam(['r0', 'r1']);
    const { lines, pass, isOver } = watch(team, named('r0', 'r1'), { messages: true });
    await pass(1_000);
    lines.length = 0;
    team.say('r0', 'one');
    await pass(90_000);
    expect(lines).toEqual(['r0 message one']);
    team.say('r0', 'two');
    team.set('r0', { status: 'waiting', pending_human_request: question('q0') });
    await pass(90_000);
    expect(lines.slice(1)).toEqual(['r0 message two', 'r0 run.status waiting', 'r0 human_request.pending q0']);
    for (const id of ['r0', 'r1']) {
      team.say(id, 'last');
      team.set(id, { status: 'completed', pending_human_request: null });
    }
    await pass(90_000);
    expect(lines.filter((line) => line.startsWith('r0')).slice(4)).toEqual([
      ...['r0 message last', 'r0 human_request.resolved', 'r0 run.status completed', 'r0 run.finished completed'],
    ]);
    expect(lines.filter((line) => line.startsWith('r1'))).toEqual([
      ...['r1 message last', 'r1 run.status completed', 'r1 run.finished completed'],
    ]);
    expect(isOver()).toBe(true);
  });

  it('is not read again and again because the list does not show the request that it waits for', async () => {
    const ids = ['r0', 'r1', 'r2', 'r3'];
    const team = startTeam(ids);
    for (const id of ids) {
      team.hiddenRequests.add(id);
      team.set(id, { status: 'waiting', pending_human_request: question(`q-${id}`), updated_at: '2026-07-18T09:00:00.000Z' });
    }
    const { lines, pass, stop } = watch(team, active(true));
    await pass(5_000);
    expect(lines.filter((line) => line.includes('human_request.pending'))).toHaveLength(4);
    const readsOf = () => team.names().filter((name) => name.startsWith('run ')).length;
    const count = readsOf();
    await pass(50_000);
    expect(readsOf()).toBe(count);
    // A change in the list is read immediately, and another request without one after a while.
    team.set('r1', { pending_human_request: question('q1'), updated_at: '2026-07-18T09:01:00.000Z' });
    await pass(5_000);
    expect(lines.slice(-2)).toEqual(['r1 human_request.resolved', 'r1 human_request.pending q1']);
    team.set('r2', { pending_human_request: question('q2') });
    await pass(70_000);
    expect(lines.slice(-2)).toEqual(['r2 human_request.resolved', 'r2 human_request.pending q2']);
    await stop();
  });

  it('that is deleted while its messages are read does not end the others', async () => {
    const team = startTeam(['r0', 'r1']);
    const { lines, pass, stop } = watch(team, named('r0', 'r1'), { messages: true });
    await pass(2_000);
    lines.length = 0;
    team.messageFailures.set('r0', notFound);
    team.say('r1', 'one');
    await pass(10_000);
    expect(lines.toSorted()).toEqual(['r0 run.lost run_not_found', 'r1 message one']);
    await stop();
  });

  it('reports what it said before it waited, although its messages could not be read at first', async () => {
    const team = startTeam(['r0', 'r1']);
    const { lines, pass, stop } = watch(team, active(true), { messages: true });
    await pass(5_000);
    lines.length = 0;
    team.messageFailures.set('r0', new UnavailableError('The service cannot be reached.', {}));
    team.say('r0', 'one');
    team.set('r0', { status: 'waiting', pending_human_request: question('q0') });
    await pass(10_000);
    expect(lines).toEqual([]);
    team.messageFailures.clear();
    await pass(10_000);
    expect(lines).toEqual(['r0 message one', 'r0 run.status waiting', 'r0 human_request.pending q0']);
    await stop();
  });

  it('reports no messages if they are not wanted', async () => {
    const team = startTeam(['r0']);
    team.say('r0', 'one');
    const { lines, pass, stop } = watch(team, named('r0'));
    await pass(90_000);
    expect(lines).toEqual(['r0 run.status running']);
    expect(team.names()).not.toContain('messages r0');
    await stop();
  });
});

it('all ends are reported with all messages, although one reading makes few requests', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
  const team = startTeam(ids);
  const { lines, pass, isOver } = watch(team, active(false), { messages: true });
  await pass(10_000);
  for (const id of ids) {
    team.say(id, 'last');
    team.set(id, { status: 'completed' });
  }
  await pass(120_000);
  for (const id of ids)
    expect(lines.filter((line) => line.startsWith(`${id} `))).toEqual([
      ...[`${id} run.status running`, `${id} message last`, `${id} run.status completed`, `${id} run.finished completed`],
    ]);
  expect(isOver()).toBe(true);
  const times = new Map<number, number>();
  for (const { time } of team.requests) times.set(time, (times.get(time) ?? 0) + 1);
  expect(Math.max(...times.values())).toBeLessThanOrEqual(30);
});

describe('hints that something has changed', () => {
  const listsOf = ({ requests }: Team): number[] => requests.filter(({ name }) => name === 'list').map(({ time }) => time);

  it('make readings rare while nothing changes, and immediate when something does', async () => {
    const team = startTeam(['r0', 'r1', 'r2', 'r3']);
    team.team.hasHints = true;
    const { lines, pass, stop } = watch(team, active(true));
    await pass(5_000);
    team.requests.length = 0;
    await pass(25_000);
    expect(new Set(listsOf(team)).size).toBeLessThanOrEqual(1);
    team.set('r0', { status: 'waiting', pending_human_request: question('q0') });
    team.hint();
    await pass(0);
    expect(lines.slice(4)).toEqual(['r0 run.status waiting', 'r0 human_request.pending q0']);
    await stop();
  });

  it('show soon that an older run continues which had ended', async () => {
    const team = startTeam(['r0', 'r1']);
    for (const id of ['r0', 'r1']) team.set(id, { status: 'completed' });
    team.team.hasHints = true;
    const { lines, pass, stop } = watch(team, active(true));
    await pass(60_000);
    team.set('r0', { status: 'running' });
    team.hint();
    await pass(0);
    expect(lines).toEqual(['r0 run.status running']);
    // The next hint comes too early to read all matching runs again at once.
    team.set('r1', { status: 'running' });
    team.set('r0', { status: 'completed' });
    team.hint();
    await pass(6_000);
    expect(lines.slice(1).toSorted()).toEqual(['r0 run.finished completed', 'r0 run.status completed', 'r1 run.status running']);
    team.requests.length = 0;
    await pass(20_000);
    expect(listsOf(team)).toEqual([]);
    await stop();
  });

  it('cause one reading of the list per second, however many there are', async () => {
    const team = startTeam(['r0', 'r1', 'r2', 'r3']);
    team.team.hasHints = true;
    const { pass, stop } = watch(team, active(true));
    await pass(5_000);
    team.requests.length = 0;
    for (let count = 0; count < 50; count += 1) {
      team.hint();
      await pass(100);
    }
    const times = [...new Set(listsOf(team))];
    expect(times.length).toBeGreaterThanOrEqual(4);
    for (const [index, time] of times.slice(1).entries()) expect(time - (times[index] as number)).toBeGreaterThanOrEqual(1_000);
    await stop();
  });
});

it('hurrying ends a pause', async () => {
  const team = startTeam(['r0', 'r1', 'r2', 'r3', 'r4', 'r5']);
  const { runsWatch, lines, pass, stop } = watch(team, named('r0', 'r1', 'r2', 'r3', 'r4', 'r5'));
  await pass(60_000);
  team.set('r0', { status: 'waiting', pending_human_request: question('q0') });
  runsWatch.hurry();
  await pass(0);
  expect(lines.slice(6)).toEqual(['r0 run.status waiting', 'r0 human_request.pending q0']);
  // Without hints, it may be repeated immediately.
  team.set('r1', { status: 'waiting', pending_human_request: question('q1') });
  runsWatch.hurry();
  await pass(0);
  expect(lines.slice(8)).toEqual(['r1 run.status waiting', 'r1 human_request.pending q1']);
  await stop();
});

describe('whatever runs do, also between two readings', () => {
  const step = fc.oneof(
    { weight: 1, arbitrary: fc.constant('add' as const) },
    { weight: 6, arbitrary: fc.record({ run: fc.nat({ max: 4 }), change: fc.nat({ max: 2 }) }) },
    { weight: 3, arbitrary: fc.record({ pass: fc.constantFrom(0, 500, 2_000, 40_000, 90_000) }) },
  );
  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

  it.each([false, true])('a watch reports each message once, and the last end last (hints: %s)', async (hasHints) => {
    const property = async (steps: Step[], forgets: boolean) => {
      const team = startTeam();
      team.team.hasHints = hasHints;
      const { lines, pass, stop } = watch(team, active(true), { messages: true, forgets });
      await pass(1_000);
      const ids: string[] = [];
      let ends = 0;
      const end = (id: string) => team.set(id, { status: 'completed', completed_at: new Date(team.clock.now() + ++ends).toISOString() });
      const say = (id: string) => team.say(id, String(team.messages.get(id)?.length));
      for (const each of steps) {
        if (each === 'add') {
          if (ids.length === 5) continue;
          const id = `r${ids.length}`;
          ids.push(id);
          team.add(id);
        } else if ('pass' in each) await pass(each.pass);
        else if (ids.length > 0) {
          const id = ids[each.run % ids.length] as string;
          const isFinal = team.rows.get(id)?.status === 'completed';
          if (isFinal || each.change === 0) say(id);
          if (isFinal) team.set(id, { status: 'running' });
          else if (each.change === 1) end(id);
        }
        if (hasHints && !(typeof each === 'object' && 'pass' in each)) team.hint();
      }
      for (const id of ids) if (team.rows.get(id)?.status !== 'completed') end(id);
      if (hasHints) team.hint();
      await pass(120_000);
      for (const id of ids) {
        const own = lines.filter((line) => line.startsWith(`${id} `)).map((line) => line.slice(id.length + 1));
        expect(own.filter((line) => line.startsWith('message'))).toEqual(team.messages.get(id)?.map((text) => `message ${text}`));
        expect(own.at(-1)).toBe('run.finished completed');
      }
      await stop();
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), property), { numRuns: 60, seed: 1 });
  });
});
