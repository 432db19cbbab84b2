/**
 * Many clients of two nodes change the same few things at the same time. No request fails, the database never has to end a transaction
 * for another one, and what belongs together stays together.
 */
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { randomFrom } from '../../support/random.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { inconsistencies } from '../helpers/consistency.ts';
import { openNode } from '../helpers/postgres.ts';
import { type Api, config, startApi } from '../helpers/service.ts';

const procedures = [
  '- say: Hello\n- if: case == nil\n  create_case: { queue: Q, title: A case }',
  '- approve: { id: ok, title: Go on? }\n- if: case\n  complete_case: Done\n- remember: { path: log, content: "{{ run.number }}", append: true }',
  '- ask: { id: who, questions: [{ question: Who? }] }\n- if: case\n  postpone_case: { for: 2h, reason: Later }',
  '- if: case\n  fail_case: No\n- remember: { path: log, content: "{{ message }}" }',
];

/** What the clients know: IDs of everything that they have created. */
interface Known {
  agents: string[];
  revisions: string[];
  runs: string[];
  queues: string[];
  cases: string[];
  artifacts: string[];
}

type Send = (id: Parameters<Api['call']>[0], params: Record<string, string>, body?: unknown) => Promise<Record<string, never>>;

/** @param oneOf chooses at random; from an empty list, an ID that nothing has */
function operations(send: Send, known: Known, oneOf: <Item>(items: readonly Item[]) => Item) {
  const agent = () => ({ agent_id: oneOf(known.agents) });
  const queue = () => ({ queue_id: oneOf(known.queues) });
  const selection = () => oneOf([{ all_matching: true }, { case_ids: [oneOf(known.cases), oneOf(known.cases)] }]);
  const revision = () => config(`version: 1\nsteps:\n${oneOf(procedures).replace(/^/gm, '  ')}`, 'script');
  const keep = (list: string[], found: { id?: string } | undefined): void => {
    if (found?.id !== undefined && !list.includes(found.id)) list.push(found.id);
  };
  return {
    async createAgent() {
      const created = await send('createAgent', {}, { name: oneOf(['A', 'B', 'C']), build: { name: 'first', config: revision() } });
      keep(known.agents, created.agent);
      keep(known.revisions, created.build);
    },
    deleteAgent: () => send('deleteAgent', agent()),
    createRevision: async () => keep(known.revisions, (await send('createRevision', agent(), { name: 'next', config: revision() })).build),
    promote: () => send('promoteRevision', { build_id: oneOf(known.revisions) }),
    generate: () => send('generateRevision', { build_id: oneOf(known.revisions) }, { prompt: 'say "Bye" at the end' }),
    review: () => send(oneOf(['acceptRevision', 'discardRevision'] as const), { build_id: oneOf(known.revisions) }),
    startRun: async () => keep(known.runs, (await send('startRun', {}, { ...agent(), message: 'Hello' })).run),
    stopRun: () => send('stopRun', { run_id: oneOf(known.runs) }),
    postMessage: () => send('postRunMessage', { run_id: oneOf(known.runs) }, { message: 'More' }),
    async answer() {
      const runId = oneOf(known.runs);
      const { pending_human_request: request } = await send('getRun', { run_id: runId });
      const { id, type } = (request ?? { id: oneOf([]), type: 'approval' }) as { id: string; type: string };
      const body = type === 'approval' ? { approved: oneOf([true, false]) } : { answers: { 'Who?': 'Me' } };
      await send('respondToHumanRequest', { run_id: runId, request_id: id }, body);
    },
    createQueue: async () => keep(known.queues, (await send('createQueue', {}, { name: oneOf(['Q', 'R']) })).queue),
    deleteQueue: () => send('deleteQueue', queue()),
    clearQueue: () => send('clearQueueCases', queue()),
    async createCases() {
      const draft = { title: 'A case', labels: [{ key: 'k', value: oneOf(['a', 'b']) }] };
      const { added_cases: added = [] } = await send('createCases', queue(), { cases: [draft, { ...draft, priority: 'high' }] });
      for (const row of added) keep(known.cases, row);
    },
    createTrigger: () => send('createAgentCaseTrigger', agent(), { case_queue_id: oneOf(known.queues), enabled: true }),
    deleteCase: () => send('deleteCase', { case_id: oneOf(known.cases) }),
    deleteCases: () => send('bulkDeleteCases', queue(), selection()),
    reprocess: () => send('bulkReprocessCases', queue(), { ...selection(), ...oneOf([{}, agent()]) }),
    setStatus: () => send('bulkUpdateCaseStatus', queue(), { ...selection(), status: oneOf(['pending', 'completed', 'failed']) }),
    setPriority: () => send('bulkUpdateCasePriority', queue(), { ...selection(), priority: oneOf(['none', 'high']) }),
    label: () => send('assignCaseLabels', { ...queue(), case_id: oneOf(known.cases) }, { labels: [{ value: oneOf(['x', 'y']) }] }),
    async createArtifact() {
      const { artifact_id: id } = await send('createArtifact', {}, { message: 'runs' });
      keep(known.artifacts, { id });
    },
    changeArtifact: () => send(oneOf(['stopArtifactMessage', 'refreshArtifact'] as const), { artifactId: oneOf(known.artifacts) }),
  };
}

describeNeeding(needsPostgres, 'many clients of two nodes', () => {
  it('do not end the transactions of others, and leave everything consistent', async () => {
    const random = randomFrom(7);
    const chosen = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const oneOf = <Item>(items: readonly Item[]): Item => chosen(items) ?? ('00000000-0000-4000-8000-000000000000' as Item);
    const url = await newDatabase();
    const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
    const options = { runtimes: [scriptRuntime], rateLimit: { limit: 100_000, windowSeconds: 60 } };
    const apis = [
      await startApi({ ...options, database: { url, maxConnections: 8, secretKeyFile } }),
      await startApi({ ...options, database: { url, maxConnections: 8, secretKeyFile } }),
    ];
    const failures: unknown[] = [];
    const send: Send = async (id, params, body) => {
      const answer = await chosen(apis).call(id, { params, ...(body === undefined ? {} : { body }) });
      if (answer.status >= 500) failures.push([id, answer.status, answer.text]);
      return answer.body as Record<string, never>;
    };
    const known: Known = { agents: [], revisions: [], runs: [], queues: [], cases: [], artifacts: [] };
    const named = operations(send, known, oneOf);
    for (const first of [named.createAgent, named.createAgent, named.createAgent, named.createQueue, named.createCases]) await first();
    // More often than what deletes everything, and with what the clients then know.
    const { createAgent, startRun, createCases, createTrigger, answer, postMessage, stopRun, reprocess } = named;
    const frequent = [createAgent, startRun, createCases, createTrigger, answer, postMessage, stopRun, reprocess];
    const choices = [...Object.values(named), ...frequent, ...frequent];
    const client = async (): Promise<void> => {
      for (let sent = 0; sent < 60; sent++) await chosen(choices)();
    };
    await Promise.all(Array.from({ length: 12 }, client));
    expect(failures).toEqual([]);

    const store = await openNode(url);
    const active = sql`select 1 from runs where status in ('pending', 'running')`;
    await eventually('every run has ended or waits for a person', async () => (await active.execute(store)).rows.length === 0);
    // A connection reports its figures when it ends.
    for (const api of apis) await api.service.close();
    expect(await inconsistencies(store)).toEqual([]);
    const figures = sql`select deadlocks from pg_stat_database where datname = current_database()`;
    expect((await figures.execute(store)).rows).toEqual([{ deadlocks: 0 }]);
  });
});
