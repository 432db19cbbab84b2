/** The work of a chaos run: runs, messages, cases, and answers, sent through the interface of all nodes. */
import { setTimeout as pause } from 'node:timers/promises';
import type { HumanRequest, Run, RunListItem } from '../../src/interface/types.ts';
import type { ChaosClient } from './client.ts';
import type { Ledger } from './ledger.ts';
import { type AgentName, answerOf, decisionOf, type ItemKind, itemKinds, messageOf, procedures, queueName } from './procedures.ts';
import type { Progress } from './progress.ts';
import type { RandomChoices } from './random-choices.ts';

/** What was created for the load before it begins. */
export interface Setup {
  team: string;
  agents: Record<AgentName, string>;
  queue: string;
  schedules: string[];
  subscription: string;
  secret: string;
}

/** Schedules that fire every minute. */
const scheduleCount = 4;
/** Items that are worked on at the same time. */
const concurrency = 8;

/** Creates the agents, the queue, the webhook, and the schedules. @param hook the URL that receives all events */
export async function prepare(client: ChaosClient, ledger: Ledger, team: string, hook: string): Promise<Setup> {
  const base = `/v2/teams/${team}`;
  const { queue } = await client.change<{ queue: { id: string } }>('POST', `${base}/queues`, { name: queueName });
  const { webhook } = await client.change<{ webhook: { id: string } }>('POST', `${base}/webhooks`, { url: hook });
  const { secret } = await client.read<{ secret: string }>(`${base}/webhook-secret`);
  const agents = {} as Record<AgentName, string>;
  for (const [name, steps] of Object.entries(procedures) as [AgentName, string][]) {
    const input = `version: 1\nsteps:\n${steps.trim().replace(/^/gm, '  ')}\n`;
    const models = { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } };
    const build = { name: 'first', config: { version: 'v2', data: { models, input } } };
    const { agent } = await client.change<{ agent: { id: string } }>('POST', `${base}/agents`, { name, build });
    agents[name] = agent.id;
  }
  await client.change('POST', `/v2/agents/${agents.case}/case-triggers`, { case_queue_id: queue.id, enabled: true });
  const schedules: string[] = [];
  for (let index = 0; index < scheduleCount; index++) {
    const body = { enabled: true, frequency: 'custom', cron: '* * * * *', timezone: 'UTC', task: `schedule ${index}` };
    const { id } = await client.change<{ id: string }>('POST', `/v2/agents/${agents.scheduled}/schedules`, body);
    ledger.add({ kind: 'schedule', schedule: id });
    schedules.push(id);
  }
  return { team, agents, queue: queue.id, schedules, subscription: webhook.id, secret };
}

export interface LoadParts {
  client: ChaosClient;
  ledger: Ledger;
  setup: Setup;
  random: RandomChoices;
  progress: Progress;
}

/** Sends the work of this many items. Resolves when everything was acknowledged. */
export async function runLoad({ client, ledger, setup, random, progress }: LoadParts, count: number): Promise<void> {
  const kinds = random.shuffled(Array.from({ length: count }, (_, index) => itemKinds[index % itemKinds.length] as ItemKind));
  const late: (() => Promise<void>)[] = [];
  const send = async (run: string, item: number): Promise<void> => {
    const message = `${messageOf(item)}-again`;
    await client.change('POST', `/v2/runs/${run}/messages`, { message });
    ledger.add({ kind: 'message', run, text: message });
  };
  const items = kinds.map((kind, item) => {
    const isLate = random.chance(0.5);
    return async (): Promise<void> => {
      if (kind === 'case') {
        const title = messageOf(item);
        const { added_cases } = await client.change<{ added_cases: { id: string }[] }>('POST', `/v2/queues/${setup.queue}/cases`, {
          case: { title, data: title },
        });
        ledger.add({ kind: 'case', item, case: added_cases[0]?.id ?? '' });
        return;
      }
      const { run } = await client.change<{ run: Run }>('POST', `/v2/teams/${setup.team}/runs`, {
        agent_id: setup.agents[kind],
        message: messageOf(item),
      });
      ledger.add({ kind: 'run', item, run: run.id, number: run.run_number ?? 0 });
      if (kind === 'talking') isLate ? late.push(() => send(run.id, item)) : await send(run.id, item);
    };
  });
  await inParallel(items, concurrency, progress);
  await inParallel(late, concurrency);
}

async function inParallel(tasks: readonly (() => Promise<void>)[], width: number, progress?: Progress): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let task = tasks[next++]; task !== undefined; task = tasks[next++]) {
      await progress?.mayContinue();
      await task();
      progress?.add();
    }
  };
  await Promise.all(Array.from({ length: width }, work));
}

/** The person, who answers every request of the team. */
export class Person {
  readonly #parts: Pick<LoadParts, 'client' | 'ledger' | 'setup'>;
  readonly #answered = new Set<string>();
  #isDone = false;
  readonly #end: Promise<void>;

  constructor(parts: Pick<LoadParts, 'client' | 'ledger' | 'setup'>) {
    this.#parts = parts;
    this.#end = this.#answerAll();
  }

  /** Rejects as soon as an answer was refused. */
  get failure(): Promise<never> {
    return this.#end.then(() => new Promise<never>(() => undefined));
  }

  async leave(): Promise<void> {
    this.#isDone = true;
    await this.#end;
  }

  async #answerAll(): Promise<void> {
    const { client, setup } = this.#parts;
    while (!this.#isDone) {
      const { data } = await client.read<{ data: RunListItem[] }>(`/v2/teams/${setup.team}/runs?status=waiting&limit=100`);
      const tasks = data.flatMap(({ id, pending_human_request: request }) =>
        request === null || this.#answered.has(request.id) ? [] : [() => this.#answer(id, request)],
      );
      await inParallel(tasks, 4);
      await pause(100);
    }
  }

  async #answer(run: string, request: HumanRequest): Promise<void> {
    const { client, ledger } = this.#parts;
    const { messages } = await client.read<{ messages: { text_content?: string; role: string }[] }>(`/v2/runs/${run}/messages?limit=1`);
    const item = /item-\d+/.exec(messages[0]?.text_content ?? '')?.[0] ?? '';
    const question = request.questions?.[0]?.question;
    const body = question === undefined ? { approved: decisionOf(item) } : { answers: { [question]: answerOf(item) } };
    const { human_request } = await client.change<{ human_request: { response: string | null } }>(
      'POST',
      `/v2/runs/${run}/human-requests/${request.id}/respond`,
      body,
    );
    this.#answered.add(request.id);
    ledger.add({ kind: 'answer', run, request: request.id, response: human_request.response ?? '' });
  }
}
