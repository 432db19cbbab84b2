/** `aops inbox` without a terminal: the list and the stream of requests. The prompts are tested in test/e2e/inbox.test.ts. */
import { once } from 'node:events';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import { type PendingRequest, pendingRequests } from '../../src/cli/following/pending-requests.ts';
import { defineCommand } from '../../src/cli/kit/command.ts';
import { eventLine, type InboxEvent, watchInbox } from '../../src/commands/inbox/events.ts';
import { watchRequests } from '../../src/commands/inbox/watch.ts';
import { retryThroughOutages } from '../../src/watch/polling.ts';
import { startTestService, type TestService } from '../support/service.ts';

const ask = '- ask: { id: who, questions: [{ question: "Which vendor?", options: [{ label: Acme }, { label: Other }] }] }';

let service: TestService;
let agent: string;
let otherRun: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- approve: { id: pay, title: "Pay {{message}}?" }', 'payer');
  otherRun = await service.agent(ask, 'asker');
});
beforeEach(async () => {
  const { data } = await service.api<{ data: { id: string }[] }>('GET', `/teams/${service.service.teamId}/runs?status=waiting`);
  for (const { id } of data) await service.api('POST', `/runs/${id}/stop`);
});

const startWaiting = async (agentName: string, message: string): Promise<string> => {
  const run = await service.start(agentName, message);
  await service.until(run, 'waiting');
  return run;
};

describe('aops inbox', () => {
  it('says that nothing is waiting for an answer', async () => {
    expect(await service.cli(['inbox'])).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing is waiting for an answer.\n' });
    expect((await service.cli(['inbox', '--json'])).json()).toMatchObject({ data: [], total: 0 });
  });

  it('lists all requests with their runs, oldest first', async () => {
    const first = await startWaiting(agent, '1');
    const second = await startWaiting(otherRun, '2');
    const listResult = await service.cli(['inbox', '--json']);
    expect(listResult).toMatchObject({ code: 0, stderr: '' });
    expect(listResult.json().data).toEqual([
      expect.objectContaining({
        run_id: first,
        title: 'Pay 1?',
        type: 'approval',
        agent_id: agent,
        agent_name: 'payer',
        run_title: '1',
        run_number: 1,
      }),
      expect.objectContaining({ run_id: second, type: 'question', agent_name: 'asker', questions: [expect.anything()] }),
    ]);
    const rows = await service.cli(['inbox']);
    expect(rows.stdout).toMatch(
      new RegExp(`^1\\t\\d{4}-\\S+Z\\tpayer\\tPay 1\\?\\tapproval\\t${first}\\n2\\t.*\\tasker\\t.*\\t${second}\\n$`),
    );
    const fieldsResult = await service.cli(['inbox', '--agent', 'asker', '--fields', 'run_id']);
    expect(fieldsResult.stdout).toBe(`${second}\n`);
    expect((await service.cli(['inbox', '-o', 'id'])).stdout.trim().split('\n')).toHaveLength(2);
  });

  it('prints a table on a terminal with --no-input', async () => {
    await startWaiting(agent, 'x');
    const result = await service.cli(['inbox', '--no-input'], { tty: true, env: { NO_COLOR: '1' } });
    expect(result.stdout).toMatch(/^RUN +ASKED +AGENT +REQUEST +TYPE\n\d+ +just now {2}payer {2}Pay x\? {3}approval/);
  });

  it('filters by queue, run, type, and age', async () => {
    const [first, second] = [await startWaiting(agent, 'a'), await startWaiting(otherRun, 'b')];
    const queue = (await service.cli(['queues', 'create', 'bills', '-o', 'id'])).stdout.trim();
    const listed = async (...flags: string[]): Promise<string[]> => {
      const result = await service.cli(['inbox', '--fields', 'run_id', ...flags]);
      expect(result).toMatchObject({ code: 0 });
      return result.stdout.split('\n').filter((line) => line !== '');
    };
    expect(await listed('--type', 'approval')).toEqual([first]);
    expect(await listed('--type', 'question')).toEqual([second]);
    expect(await listed('--run', second)).toEqual([second]);
    expect(await listed('--run', '@latest', '--run', first)).toEqual([first, second]);
    expect(await listed('--older-than', '1h')).toEqual([]);
    expect(await listed('--older-than', '0')).toEqual([first, second]);
    expect(await listed('--queue', queue)).toEqual([]);
    expect(await service.cli(['inbox', '--queue', 'no such queue'])).toMatchObject({ code: 3, stdout: '' });
    expect((await service.cli(['inbox', '--older-than', 'soon'])).stderr).toContain('--older-than must be a duration');
  });

  it('filters by the queue on the service, and by age at the time of each reading', async () => {
    const queries: unknown[] = [];
    const request = (hour: number) => ({ id: `q${hour}`, title: 'Pay?', type: 'approval', created_at: `2026-11-20T0${hour}:00:00Z` });
    const data = [1, 2].map((hour) => ({ id: `r${hour}`, title: 'T', agent_name: 'payer', pending_human_request: request(hour) }));
    const client = {
      call: async (_id: string, { query }: { query: unknown }) => {
        queries.push(query);
        return { data, total: 2 };
      },
    };
    const filter = { queueId: 'queue', until: Date.parse('2026-11-20T01:00:00Z') };
    const found = await pendingRequests(client as never, 'team', filter, () => undefined);
    expect(found.map(({ id }) => id)).toEqual(['q1']);
    expect(queries).toEqual([{ status: 'waiting', limit: 100, offset: 0, case_queue_id: 'queue' }]);
  });

  it('reads the run if the list does not include its request', async () => {
    const run = await startWaiting(agent, 'quiet list');
    const { pending_human_request: request, run: runRow } = await service.api<{ pending_human_request: unknown; run: { id: string } }>(
      'GET',
      `/runs/${run}`,
    );
    const missingId = '00000000-0000-4000-8000-000000000009';
    const listedRuns = [run, missingId].map((id) => ({ ...runRow, id, title: 'T', agent_name: 'payer', pending_human_request: null }));
    const { ServiceAnswerError } = await import('../../src/client/errors.ts');
    const client = {
      call: async (id: string, { params }: { params: { run_id: string } }) => {
        if (id === 'listRuns') return { data: listedRuns, total: 2 };
        if (params.run_id === missingId) throw new ServiceAnswerError(404, { error: 'run_not_found' }, {});
        return { run: runRow, pending_human_request: request };
      },
    };
    const unreadableIds: string[] = [];
    const foundRequests = await pendingRequests(client as never, 'team', {}, (id) => unreadableIds.push(id));
    expect(unreadableIds).toEqual([]);
    expect(foundRequests).toEqual([expect.objectContaining({ run_id: run, title: 'Pay quiet list?' })]);
  });

  it('prints events in the form that a filter gives them', async () => {
    await startWaiting(agent, 'filtered');
    let interrupt = (): void => undefined;
    const watchResult = await service.cli(['inbox', '--watch', '-o', 'ndjson', '--jq', '.data.human_request.title'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        if (stdout.includes('Pay filtered?\n')) interrupt();
      },
    });
    expect(watchResult.stdout).toContain('Pay filtered?\n');
    expect(watchResult.stdout).not.toContain('{');
  });

  it('prints requests as they arrive and are resolved, as NDJSON', async () => {
    const first = await startWaiting(agent, 'before');
    const state = { started: false, answered: false };
    let interrupt = (): void => undefined;
    const watchResult = await service.cli(['inbox', '--watch', '-o', 'ndjson'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        const lines = stdout.split('\n').length - 1;
        if (lines === 1 && !state.started) {
          state.started = true;
          void service.start(otherRun, 'after');
        }
        if (lines === 2 && !state.answered) {
          state.answered = true;
          void service.api('POST', `/runs/${first}/stop`);
        }
        if (lines === 3) interrupt();
      },
    });
    expect(watchResult.code).toBe(130);
    const events = watchResult.lines<InboxEvent>();
    expect(events.map(({ v, seq, type }) => [v, seq, type])).toEqual([
      [1, 1, 'human_request.pending'],
      [1, 2, 'human_request.pending'],
      [1, 3, 'human_request.resolved'],
    ]);
    expect(events[0]).toMatchObject({ run_id: first, data: { human_request: { title: 'Pay before?', agent_name: 'payer' } } });
    expect(events[2]).toMatchObject({ run_id: first, data: { title: 'Pay before?' } });
  });

  it('reports reminders, which other services might not have', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const request = { id: 'q1', title: 'Pay?', run_id: 'r1', agent_name: 'payer' } as PendingRequest;
    const reminded = (reminders: number): PendingRequest => ({ ...request, reminders, reminded_at: `2026-11-20T0${reminders}:00:00Z` });
    // Some services might send null instead.
    const unreminded = { ...request, reminded_at: null } as unknown as PendingRequest;
    const polls = [[request], [unreminded], [reminded(1)], [reminded(1)], [reminded(2)], []];
    const load = async (): Promise<PendingRequest[]> => polls.shift() ?? Promise.reject(controller.abort());
    const clock: Clock = { now: () => 0, sleep: async () => undefined };
    const events: InboxEvent[] = [];
    const watch = async (): Promise<void> => {
      for await (const event of watchInbox(load, { clock, signal })) events.push(event);
    };
    await expect(watch()).rejects.toBeUndefined();
    expect(events.map(({ type, run_id }) => [type, run_id])).toEqual([
      ['human_request.pending', 'r1'],
      ['human_request.reminder', 'r1'],
      ['human_request.reminder', 'r1'],
      ['human_request.resolved', 'r1'],
    ]);
    expect(events.map((event) => eventLine(event, { tty: false, width: 80, now: 0 }).split('\t').slice(0, 3))).toEqual([
      ['?', 'payer', 'Pay?'],
      ['!', 'payer', 'Pay?'],
      ['!', 'payer', 'Pay?'],
      ['✓', '', 'Pay?'],
    ]);
  });

  it('polls soon after news, and less often without any', async () => {
    const request = { id: '1', run_id: 'r', title: 'Pay?', created_at: '2026-11-23T12:00:00Z' } as PendingRequest;
    const reminded = { ...request, reminded_at: '2026-11-23T13:00:00Z' };
    const lists = [[], [request], [request], [reminded], [], []];
    const news: boolean[] = [];
    const pace = { pause: async (hasNews: boolean) => void news.push(hasNews) };
    const clock: Clock = { now: () => 0, sleep: async () => undefined };
    const load = async () => {
      const next = lists.shift();
      if (next === undefined) throw new Error('enough');
      return next;
    };
    const reading = async (): Promise<void> => {
      for await (const _ of watchInbox(load, { clock, signal: new AbortController().signal, pace: pace as never }));
    };
    await expect(reading()).rejects.toThrow('enough');
    expect(news).toEqual([false, true, false, true, true, false]);
  });

  it('polls less often when little of the rate limit remains', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const allowances: unknown[] = [];
    const allowance = { limit: 100, remaining: 5, milliseconds: 60_000 };
    const pace = {
      pause: async (_hasNews: boolean, _signal: AbortSignal, remaining: unknown) => {
        allowances.push(remaining);
        throw new Error('enough');
      },
    };
    const clock: Clock = { now: () => 0, sleep: async () => undefined };
    const events = watchInbox(async () => [], { clock, signal, pace: pace as never, client: { allowance } as never });
    await expect(events.next()).rejects.toThrow('enough');
    expect(allowances).toEqual([allowance]);
  });

  it('continues after a short outage of the service, and ends after a long one', async () => {
    const signal = new AbortController().signal;
    const unreachableError = new AopsError('away', { code: 'unreachable', exit: exitCodes.unavailable });
    let now = 0;
    const clock: Clock = {
      now: () => now,
      sleep: async (milliseconds) => {
        now += milliseconds;
      },
    };
    const request = { id: 'q1', title: 'Pay?', run_id: 'r1' } as PendingRequest;
    const polls: (PendingRequest[] | Error)[] = [[request], unreachableError, unreachableError, [request], []];
    const load = retryThroughOutages(
      async () => {
        const poll = polls.shift() ?? unreachableError;
        if (poll instanceof Error) throw poll;
        return poll;
      },
      { clock, signal },
    );
    const reports: string[] = [];
    const watch = (async () => {
      for await (const { type } of watchInbox(load, { clock, signal })) reports.push(type);
    })();
    await expect(watch).rejects.toBe(unreachableError);
    expect(reports).toEqual(['human_request.pending', 'human_request.resolved']);
    expect(now).toBeGreaterThan(60_000);
    // A service that has never responded is not waited for.
    await expect(retryThroughOutages(() => Promise.reject(unreachableError), { clock, signal })()).rejects.toBe(unreachableError);
  });

  it('prints them as sanitised lines', async () => {
    const evil = await service.agent('- approve: { id: pay, title: "Pay \\e[31mred\\u202e" }', 'evil');
    const run = await startWaiting(evil, 'x');
    let interrupt = (): void => undefined;
    const watchResult = await service.cli(['inbox', '--watch', '--agent', 'evil'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => void (stdout.endsWith('\n') && interrupt()),
    });
    expect(watchResult.code).toBe(130);
    expect(watchResult.stdout).toBe(`?\tevil\tPay ^[[31mred\\u{202e}\t${run}\n`);
  });

  it('passes each event to --exec and notifies of requests', async () => {
    const run = await startWaiting(agent, 'hook');
    const counts = { lines: 0, executed: 0 };
    let interrupt = (): void => undefined;
    const watchResult = await service.cli(
      ['inbox', '--watch', '--notify', '--exec', 'echo "$AOPS_EVENT $AOPS_REQUEST_TITLE $AOPS_API_KEY."; cat'],
      {
        tty: true,
        env: { TERM_PROGRAM: 'iTerm.app', NO_COLOR: '1' },
        onStart: (deliver) => {
          interrupt = deliver;
        },
        onOutput: (stdout, stderr) => {
          if (stdout.includes('?  payer') && counts.lines++ === 0) void service.api('POST', `/runs/${run}/stop`);
          if (stderr.includes('"type":"human_request.resolved"') && counts.executed++ === 0) interrupt();
        },
      },
    );
    expect(watchResult.code).toBe(130);
    const { run_number } = (await service.get(run)).run;
    const notification = `\u001b]9;aops: payer #${run_number} needs an answer: Pay hook?\u0007\u0007`;
    expect(watchResult.stderr).toContain(notification);
    const lines = watchResult.stderr.replace(notification, '').split('\n');
    expect(lines).toContain('human_request.resolved Pay hook? .');
    const event = JSON.parse(lines.find((line) => line.includes('"human_request.pending"')) ?? '') as InboxEvent;
    expect(event).toMatchObject({ v: 1, seq: 1, run_id: run, data: { human_request: { title: 'Pay hook?', agent_name: 'payer' } } });
  });

  it.each([['--watch'], ['--all-profiles'], ['--notify'], ['--exec', 'true']])('cannot combine --web with %s', async (...flags) => {
    const refusal = await service.cli(['inbox', '--web', ...flags]);
    expect(refusal).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`--web and ${flags[0]} cannot be combined: the page `),
    });
  });

  it('requires --watch for --notify and --exec', async () => {
    expect(await service.cli(['inbox', '--notify'])).toMatchObject({ code: 2, stderr: 'error: --notify requires --watch.\n' });
    expect(await service.cli(['inbox', '--exec', 'true'])).toMatchObject({ code: 2, stderr: 'error: --exec requires --watch.\n' });
  });

  it('rejects output formats that do not support events', async () => {
    for (const flags of [['--json'], ['-o', 'yaml'], ['--jq', '.'], ['--fields', 'id']]) {
      const refusal = await service.cli(['inbox', '--watch', ...flags]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('Add -o ndjson.');
    }
  });
});

it('reads the requests again as soon as the service reports a change', async () => {
  // Without a report, the first pause would never end.
  const sleep: Clock['sleep'] = async (_, signal) => {
    if (signal?.aborted === false) await once(signal, 'abort');
    signal?.throwIfAborted();
  };
  const command = defineCommand({
    summary: 'Watch without polling',
    examples: [{ command: 'aops watching', text: 'Watch without polling' }],
    async run(context) {
      const input = { agent: undefined, queue: undefined, run: [], type: undefined, olderThan: undefined, resume: undefined };
      const flags = { allProfiles: false, notify: false, exec: undefined };
      return watchRequests({ ...context, clock: { ...context.clock, sleep } }, { ...input, ...flags }, () => undefined);
    },
  });
  let interrupt = (): void => undefined;
  let count = 0;
  const started: Promise<string>[] = [];
  const watched = await service.cli(['watching', '-o', 'ndjson'], {
    tree: { watching: { summary: command.summary, load: async () => ({ default: command }) } },
    onStart: (deliver) => {
      interrupt = deliver;
      started.push(startWaiting(agent, '1'));
    },
    onOutput: (stdout) => {
      const lines = stdout.split('\n').length - 1;
      if (lines > count && lines === 1) started.push(startWaiting(agent, '2'));
      if (lines === 2) interrupt();
      count = lines;
    },
  });
  // Otherwise, they could still be reading when the service ends.
  await Promise.all(started);
  expect(watched.lines<InboxEvent>().map(({ type }) => type)).toEqual(['human_request.pending', 'human_request.pending']);
});
