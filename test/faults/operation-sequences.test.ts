/**
 * Random sequences of operations of all groups, several at a time, by seed: agents and queues are deleted while runs and cases use them,
 * the clock jumps, runs are removed while they are read, the service is killed in between. The service never answers with a 5xx, and in
 * the end everything that can be counted in two ways has the same count.
 */
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/interface/operations.ts';
import type { LogEntry } from '../../src/service/service.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { crashImage } from '../service/helpers/crash.ts';
import type { Behaviour } from '../service/helpers/runtime.ts';
import { type Answer, type Api, type CallInput, config, startApi } from '../service/helpers/service.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const rounds = 4;
const stepsInRound = 200;
const workers = 8;

/** Numbers from 0 to 1, the same ones for a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let hash = Math.imul(state ^ (state >>> 15), 1 | state);
    hash = (hash + Math.imul(hash ^ (hash >>> 7), 61 | hash)) ^ hash;
    return ((hash ^ (hash >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const picture = Buffer.from('89504e470d0a1a0a', 'hex');
const behaviours: Record<string, Behaviour> = {
  write: async (host) => {
    await host.sandbox.write('note.txt', Buffer.from('note'));
    const image = { name: 'page.png', mimeType: 'image/png', bytes: picture };
    const memory = { path: 'notes.md', content: 'more\n', append: true };
    await host.commit(
      'step',
      null,
      [
        { kind: 'text', id: 't', text: 'Done.' },
        { kind: 'screenshot', id: 's', toolName: 'browse', startedAt: new Date(host.clock.now()), image },
      ],
      memory,
    );
    return { status: 'completed' };
  },
  ask: async (host) =>
    host.answer('ask') ? { status: 'completed' } : { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Pay?' } },
  sleep: async (host) => {
    if (!host.journal.has('until')) await host.commit('until', host.clock.now() + 10 * minute);
    const until = host.journal.get('until') as number;
    return host.clock.now() < until ? { status: 'sleeping', until } : { status: 'completed' };
  },
  fail: async () => ({ status: 'failed', error: 'no luck' }),
  postpone: async (host) => {
    if (host.case !== undefined) await host.act('later', { do: 'postpone', until: host.clock.now() + 5 * minute });
    return { status: 'completed' };
  },
};
const words = ['done', ...Object.keys(behaviours)];

/** The IDs of each kind so far. Those of deleted objects are kept, and requested too. */
type KnownIds = Record<string, string[]>;

class Player {
  readonly knownIds: KnownIds = {};
  readonly #random: () => number;
  readonly trail: string[] = [];
  #number = 0;

  constructor(seed: number) {
    this.#random = random(seed);
  }

  below = (count: number): number => Math.floor(this.#random() * count);
  one = <Item>(items: readonly Item[]): Item => items[this.below(items.length)] as Item;
  /** An ID of that kind, preferably a new one; an unknown one if no such thing exists. */
  id(kind: string): string {
    const ids = this.knownIds[kind] ?? [];
    return ids.length === 0
      ? '00000000-0000-4000-8000-000000000000'
      : (ids[Math.max(0, ids.length - 1 - this.below(Math.min(ids.length, 8)))] as string);
  }
  note(kind: string, id: string | null | undefined): void {
    if (typeof id === 'string') this.knownIds[kind] = [...(this.knownIds[kind] ?? []).slice(-50), id];
  }
  name = (): string => `name ${++this.#number}`;
}

type Step = (player: Player, api: Api) => Promise<Answer>;
type Move = [weight: number, step: Step];

/** A call from whose answer IDs can be learned. */
const call =
  (id: OperationId, input: (player: Player) => CallInput, learn?: (player: Player, body: never) => void): Step =>
  async (player, api) => {
    const parameters = input(player);
    player.trail.push(`${id} ${JSON.stringify(parameters)}`);
    const answer = await api.call(id, parameters);
    if (answer.status < 300) learn?.(player, answer.body as never);
    return answer;
  };
const at =
  (kind: string, name = `${kind}_id`) =>
  (player: Player): CallInput => ({ params: { [name]: player.id(kind) } });
const withBody =
  (place: (player: Player) => CallInput, body: (player: Player) => unknown) =>
  (player: Player): CallInput => ({
    ...place(player),
    body: body(player),
  });
const emptyInput = (): CallInput => ({});

const moves: Move[] = [
  [
    4,
    call(
      'createAgent',
      withBody(emptyInput, (p) => ({ name: p.name(), build: { name: 'b', config: config(p.one(words)) } })),
      (p, { agent, build }: { agent: { id: string }; build: { id: string } }) => {
        p.note('agent', agent.id);
        p.note('build', build.id);
      },
    ),
  ],
  [1, call('deleteAgent', at('agent'))],
  [
    1,
    call(
      'createRevision',
      withBody(at('agent'), (p) => ({ name: 'r', config: config(p.one(words)) })),
      (p, { build }: { build: { id: string } }) => p.note('build', build.id),
    ),
  ],
  [
    2,
    call(
      'promoteRevision',
      withBody(at('build'), () => ({})),
    ),
  ],
  [
    8,
    call(
      'startRun',
      withBody(emptyInput, (p) => ({
        agent_id: p.id('agent'),
        message: 'go',
        ...(p.below(4) === 0 ? { sandbox_id: p.id('sandbox') } : {}),
      })),
      (p, { run }: { run: { id: string; sandbox_id: string } }) => {
        p.note('run', run.id);
        p.note('sandbox', run.sandbox_id);
      },
    ),
  ],
  [2, call('stopRun', at('run'))],
  [
    2,
    call(
      'postRunMessage',
      withBody(at('run'), () => ({ message: 'go on' })),
    ),
  ],
  [
    6,
    call(
      'getRun',
      at('run'),
      (p, { run, pending_human_request: request }: { run: { id: string }; pending_human_request: { id: string } | null }) => {
        if (request) {
          p.note('asking', run.id);
          p.note('request', request.id);
        }
      },
    ),
  ],
  [
    4,
    async (p, api) =>
      call('respondToHumanRequest', () => ({
        params: { run_id: p.knownIds.asking?.at(-1) ?? p.id('run'), request_id: p.knownIds.request?.at(-1) ?? p.id('run') },
        body: { approved: p.below(2) === 0 },
      }))(p, api),
  ],
  [2, call('listRunMessages', at('run'))],
  [2, async (p, api) => call('getRunDetail', () => ({ params: { runId: p.id('run'), agentId: p.id('agent') } }))(p, api)],
  [2, call('listRunSandboxFiles', at('run'))],
  [2, call('getRunSandboxFileContent', (p) => ({ ...at('run')(p), query: { path: 'note.txt' } }))],
  [
    2,
    call(
      'getRunScreenshotTimeline',
      at('run'),
      (p, { data }: { data: { toolExecutions: { afterScreenshot?: { signedUrl: string } }[] } }) =>
        p.note('url', data.toolExecutions[0]?.afterScreenshot?.signedUrl),
    ),
  ],
  [
    2,
    async (p, api) =>
      p.knownIds.url === undefined ? call('listRuns', emptyInput)(p, api) : api.send('GET', new URL(p.id('url')).pathname),
  ],
  [
    2,
    call(
      'createQueue',
      withBody(emptyInput, (p) => ({ name: p.name() })),
      (p, { queue }: { queue: { id: string } }) => p.note('queue', queue.id),
    ),
  ],
  [1, call('deleteQueue', at('queue'))],
  [
    5,
    call(
      'createCases',
      withBody(at('queue'), (p) => ({
        cases: Array.from({ length: 1 + p.below(4) }, () => ({ title: p.name(), labels: [{ key: 'k', value: p.one(['a', 'b']) }] })),
      })),
      (p, { added_cases }: { added_cases: { id: string }[] }) => {
        for (const { id } of added_cases) p.note('case', id);
      },
    ),
  ],
  [1, call('clearQueueCases', at('queue'))],
  [1, call('deleteCase', at('case'))],
  [2, call('getCase', at('case'))],
  [2, call('listCaseRuns', at('case'))],
  [
    2,
    call(
      'bulkUpdateCaseStatus',
      withBody(at('queue'), (p) => ({ case_ids: [p.id('case'), p.id('case')], status: p.one(['pending', 'completed', 'failed']) })),
    ),
  ],
  [
    2,
    call(
      'bulkReprocessCases',
      withBody(at('queue'), (p) => ({ all_matching: true, ...(p.below(2) === 0 ? { agent_id: p.id('agent') } : {}) })),
    ),
  ],
  [
    1,
    call(
      'bulkDeleteCases',
      withBody(at('queue'), (p) => ({ case_ids: [p.id('case')] })),
    ),
  ],
  [
    1,
    call(
      'bulkUpdateCasePriority',
      withBody(at('queue'), (p) => ({ all_matching: true, priority: p.one(['low', 'high']) })),
    ),
  ],
  [
    1,
    call(
      'createQueueLabel',
      withBody(at('queue'), () => ({ value: 'urgent' })),
      (p, { label }: { label: { id: string } }) => p.note('label', label.id),
    ),
  ],
  [1, async (p, api) => call('deleteQueueLabel', () => ({ params: { queue_id: p.id('queue'), label_id: p.id('label') } }))(p, api)],
  [
    1,
    async (p, api) =>
      call('assignCaseLabels', () => ({
        params: { queue_id: p.id('queue'), case_id: p.id('case') },
        body: { labels: [{ value: 'urgent' }] },
      }))(p, api),
  ],
  [
    3,
    call(
      'createAgentCaseTrigger',
      withBody(at('agent'), (p) => ({ case_queue_id: p.id('queue'), enabled: true, concurrency: p.one([1, null]) })),
      (p, { case_trigger }: { case_trigger: { id: string; agent_id: string } }) => p.note('trigger', case_trigger.id),
    ),
  ],
  [
    1,
    async (p, api) =>
      call('updateAgentCaseTrigger', () => ({
        params: { agent_id: p.id('agent'), trigger_id: p.id('trigger') },
        body: { enabled: p.below(2) === 0 },
      }))(p, api),
  ],
  [
    1,
    async (p, api) => call('deleteAgentCaseTrigger', () => ({ params: { agent_id: p.id('agent'), trigger_id: p.id('trigger') } }))(p, api),
  ],
  [
    2,
    call(
      'createSchedule',
      withBody(at('agent'), (p) => ({
        enabled: true,
        frequency: p.one(['every_5_minutes', 'hourly', 'daily']),
        timezone: 'Europe/Berlin',
      })),
      (p, { id }: { id: string }) => p.note('schedule', id),
    ),
  ],
  [1, async (p, api) => call('deleteSchedule', () => ({ params: { agent_id: p.id('agent'), schedule_id: p.id('schedule') } }))(p, api)],
  [1, call('listAgentSchedules', at('agent'))],
  [
    1,
    call(
      'createEvalRubric',
      withBody(at('agent', 'agentId'), () => ({ title: 'Said', description: 'The final message contains "Done".' })),
    ),
  ],
  [
    1,
    call(
      'replaceEvalRubrics',
      withBody(at('agent', 'agentId'), () => ({ rubrics: [] })),
    ),
  ],
  [1, call('listAgentMemoryFiles', at('agent'))],
  [1, async (p, api) => call('getAgentMemoryFile', () => ({ params: { agent_id: p.id('agent'), path: 'notes.md' } }))(p, api)],
  [
    1,
    call(
      'createConnection',
      withBody(emptyInput, (p) => ({ name: p.name(), provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/' })),
      (p, { id }: { id: string }) => p.note('connection', id),
    ),
  ],
  [1, call('deleteConnection', at('connection'))],
  [1, call('listConnectionTools', at('connection'))],
  [
    2,
    call(
      'createArtifact',
      withBody(emptyInput, (p) => ({
        message: 'title "Page"; runs by status',
        ...(p.below(3) === 0 && p.knownIds.connection ? { connection_ids: [p.id('connection')] } : {}),
      })),
      (p, { artifact_id }: { artifact_id: string }) => p.note('artifact', artifact_id),
    ),
  ],
  [
    1,
    call(
      'updateArtifact',
      withBody(at('artifact', 'artifactId'), () => ({ refresh_frequency: 'every_15_minutes' })),
    ),
  ],
  [
    1,
    call(
      'sendArtifactMessage',
      withBody(at('artifact', 'artifactId'), () => ({ message: 'cases by status' })),
    ),
  ],
  [1, call('refreshArtifact', at('artifact', 'artifactId'))],
  [1, call('stopArtifactMessage', at('artifact', 'artifactId'))],
  [1, call('renderArtifact', at('artifact', 'artifactId'))],
  [1, call('duplicateArtifact', at('artifact', 'artifactId'))],
  [1, call('deleteArtifact', at('artifact', 'artifactId'))],
  [
    1,
    call(
      'createTeamWebhook',
      withBody(emptyInput, () => ({ url: 'http://127.0.0.1:9/' })),
      (p, { webhook }: { webhook: { id: string } }) => p.note('webhook', webhook.id),
    ),
  ],
  [2, call('deleteTeamWebhook', at('webhook', 'subscriptionId'))],
  [
    1,
    call('listWebhookDeliveries', emptyInput, (p, { deliveries }: { deliveries: { id: string }[] }) =>
      p.note('delivery', deliveries[0]?.id),
    ),
  ],
  [1, call('resendWebhookDelivery', at('delivery', 'deliveryId'))],
  [
    1,
    call(
      'createTestWebhookEvent',
      withBody(emptyInput, () => ({ type: 'run.failed' })),
    ),
  ],
  [1, call('createSandbox', emptyInput, (p, { sandbox_id }: { sandbox_id: string }) => p.note('sandbox', sandbox_id))],
  [
    1,
    call(
      'createSandboxUploadUrl',
      withBody(at('sandbox'), () => ({ path: 'in.txt' })),
    ),
  ],
  [1, call('getTeamUsage', emptyInput)],
  [
    2,
    call('listRuns', (p) => ({ query: p.one([{}, { status: 'waiting' }, { search: 'name' }, { sort_order: 'asc', limit: 3 }]) as never })),
  ],
  [1, call('listAgents', emptyInput)],
  [1, call('listQueues', emptyInput)],
];
const total = moves.reduce((sum, [weight]) => sum + weight, 0);

function nextMove(player: Player): Step {
  let offset = player.below(total);
  for (const [weight, step] of moves) {
    if (offset < weight) return step;
    offset -= weight;
  }
  return moves[0]?.[1] as Step;
}

/** Several at a time until the round ends. A failure shows what was done before. */
async function play(player: Player, api: Api, clock: ManualClock, errors: readonly LogEntry[]): Promise<void> {
  let remainingSteps = stepsInRound;
  const work = async (): Promise<void> => {
    while (remainingSteps-- > 0) {
      if (player.below(25) === 0) clock.advance(player.one([minute, 6 * minute, 70 * minute, day, -20 * minute]));
      const answer = await nextMove(player)(player, api);
      const details = (): string => [answer.text, ...player.trail.slice(-30), ...errors.map((entry) => JSON.stringify(entry))].join('\n');
      expect(answer.status, answer.status < 500 ? '' : details()).toBeLessThan(500);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

/** Waits until nothing is in progress. */
async function settle(api: Api, clock: ManualClock): Promise<void> {
  let polls = 0;
  for (;;) {
    // Jobs that were queued while the clock was ahead for a moment wait until it shows that time again.
    if (++polls % 100 === 0) clock.advance(10 * minute);
    const count = async (status: 'pending' | 'starting' | 'running') =>
      (await api.ok('listRuns', { query: { status, count_only: 'true' } })).total;
    // A run that sleeps is running for as long as the clock stands still.
    if ((await count('pending')) + (await count('starting')) === 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function pages<Row>(readPage: (query: { limit: number; offset: number }) => Promise<{ rows: Row[]; total: number }>): Promise<Row[]> {
  const allRows: Row[] = [];
  for (;;) {
    const { rows, total: count } = await readPage({ limit: 50, offset: allRows.length });
    allRows.push(...rows);
    if (rows.length === 0) {
      expect(allRows.length).toBe(count);
      return allRows;
    }
  }
}

/** Compares everything that can be counted in two ways while nothing changes. */
async function check(api: Api): Promise<void> {
  let before = await snapshot(api);
  for (;;) {
    // The comparison takes hundreds of requests, so it only begins when nothing seems to change.
    await new Promise((resolve) => setImmediate(resolve));
    const now = await snapshot(api);
    if (now !== before) {
      before = now;
      continue;
    }
    const failure = await consistent(api).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if ((await snapshot(api)) !== before) continue;
    if (failure === undefined) return;
    throw failure.error;
  }
}

/** Changes without requests: of runs, and of their cases. */
async function snapshot(api: Api): Promise<string> {
  const { data, total: runs } = await api.ok('listRuns', { query: { limit: 100 } });
  const { deliveries, total: deliveryTotal } = await api.ok('listWebhookDeliveries');
  return JSON.stringify([runs, deliveryTotal, deliveries, data.map(({ id, status, updated_at }) => [id, status, updated_at])]);
}

async function consistent(api: Api): Promise<void> {
  const runs = await pages(async (query) => {
    const { data, total: count } = await api.ok('listRuns', { query });
    return { rows: data, total: count };
  });
  const statuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'] as const;
  for (const status of statuses) {
    const { total: count } = await api.ok('listRuns', { query: { status: status as never, count_only: 'true' } });
    expect([status, count]).toEqual([status, runs.filter((run) => run.status === status).length]);
  }
  expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length);

  const agents = await pages(async (query) => {
    const { agents: rows, total: count } = await api.ok('listAgents', { query });
    return { rows, total: count };
  });
  for (const { id } of agents) {
    for (const readId of ['listAgentSchedules', 'listAgentMemoryFiles', 'getAgent', 'listAgentRevisions'] as const)
      expect((await api.call(readId, { params: { agent_id: id } })).status).toBe(200);
  }
  const queues = await pages(async (query) => {
    const { queues: rows, total: count } = await api.ok('listQueues', { query });
    return { rows, total: count };
  });
  for (const { id: queue_id } of queues) {
    const cases = await pages(async (query) => {
      const { cases: rows, total: count } = await api.ok('listCases', { params: { queue_id }, query });
      return { rows, total: count };
    });
    let sum = 0;
    for (const status of ['pending', 'claimed', 'needs_input', 'postponed', 'completed', 'failed']) {
      const { cases: casePage, total: count } = await api.ok('listCases', { params: { queue_id }, query: { status, limit: 100 } });
      expect(casePage.length).toBe(Math.min(100, count));
      sum += count;
    }
    expect(sum).toBe(cases.length);
    const { labels } = await api.ok('listQueueLabels', { params: { queue_id } });
    for (const label of labels) expect(label.case_count).toBe(cases.filter((row) => row.labels.some(({ id }) => id === label.id)).length);
    for (const row of cases) {
      const { runs: caseRuns } = await api.ok('listCaseRuns', { params: { case_id: row.id } });
      // Never two at a time: the previous run of the case has ended, or lost it.
      const holding = caseRuns.filter(
        ({ id, status }) => id === row.claimed_by_run_id && ['pending', 'starting', 'running', 'waiting'].includes(status),
      );
      expect(holding.length).toBe(row.status === 'pending' && row.claimed_by_run_id !== null ? 1 : holding.length);
      expect(
        caseRuns.filter(({ id, status }) => id !== row.claimed_by_run_id && ['pending', 'starting', 'running'].includes(status)),
      ).toEqual([]);
    }
  }
  const deliveries = await pages(async (query) => {
    const { deliveries: rows, total: count } = await api.ok('listWebhookDeliveries', { query });
    return { rows, total: count };
  });
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(deliveries.length);
}

/** What no answer shows: rows and jobs of deleted objects. */
function checkFile(directory: string): void {
  const file = new Libsql(`${directory}/aops.db`);
  const rows = (text: string): unknown[] => file.prepare(text).all();
  expect(rows('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(rows('pragma foreign_key_check')).toEqual([]);
  const orphans: string[] = [];
  const kinds = {
    run: 'runs',
    evaluate: 'runs',
    builder_run: 'builder_runs',
    schedule: 'schedules',
    artifact: 'artifacts',
    refresh_artifact: 'artifacts',
    dispatch_cases: 'queues',
  };
  for (const [kind, table] of Object.entries(kinds)) {
    const remainingRows = rows(
      `select subject_id from jobs where kind = '${kind}' and status in ('queued', 'running') and subject_id not in (select id from ${table})`,
    );
    // A queue's job ends by itself when it finds no work, at any time.
    if (remainingRows.length > 0 && kind !== 'dispatch_cases') orphans.push(`${kind}: ${remainingRows.length}`);
  }
  for (const table of ['messages', 'journal', 'human_requests', 'evaluations', 'run_files', 'tool_executions'])
    if (rows(`select run_id from ${table} where run_id not in (select id from runs)`).length > 0) orphans.push(table);
  expect(orphans).toEqual([]);
  file.close();
}

describe.each([20_261_120, 7])('random sequences of operations, seed %i', (seed) => {
  it('never make the service fail, and leave everything consistent, even if it is killed in between', { timeout: 240_000 }, async () => {
    const clock = new ManualClock();
    const errors: LogEntry[] = [];
    const options = {
      clock,
      behaviours,
      runRetention: 2 * day,
      sandboxRetention: 60 * minute,
      rateLimit: { limit: 1e9, windowSeconds: 60 },
      httpLimits: { keepAliveMilliseconds: 300_000 },
      log: (entry: LogEntry): void => void (entry.level === 'error' && errors.push(entry)),
    };
    const player = new Player(seed);
    let api = await startApi(options);
    for (let round = 1; round <= rounds; round++) {
      await play(player, api, clock, errors);
      if (round % 2 === 0) {
        await settle(api, clock);
        await check(api);
      }
      // Killed in every second round, stopped in the others.
      const image = round % 2 === 0 ? api.dataDirectory : await crashImage(api);
      await api.service.close();
      // A copy, because a reader keeps the database open for a while.
      checkFile(await crashImage({ dataDirectory: image }));
      api = await startApi({ ...options, dataDirectory: image });
    }
    await settle(api, clock);
    await check(api);
  });
});
