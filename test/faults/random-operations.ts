/** Random operations of all groups on a few things, by seed: agents and queues are deleted while runs and cases use them. */
import type { OperationId } from '../../src/interface/operations.ts';
import type { Behaviour } from '../service/helpers/runtime.ts';
import { type Answer, type Api, type CallInput, config } from '../service/helpers/service.ts';
import { randomFrom } from '../support/random.ts';

const minute = 60_000;
const picture = Buffer.from('89504e470d0a1a0a', 'hex');
/** What the agents do that `nextMove` creates. */
export const behaviours: Record<string, Behaviour> = {
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
export type KnownIds = Record<string, string[]>;

/** Chooses at random, and knows what was created. */
export class Player {
  readonly knownIds: KnownIds = {};
  readonly #random: () => number;
  /** What was done so far. */
  readonly trail: string[] = [];
  #number = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
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

export type Step = (player: Player, api: Api) => Promise<Answer>;
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

/** A random operation on something that the player knows. */
export function nextMove(player: Player): Step {
  let offset = player.below(total);
  for (const [weight, step] of moves) {
    if (offset < weight) return step;
    offset -= weight;
  }
  return moves[0]?.[1] as Step;
}
