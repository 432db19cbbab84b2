/** Which agents add cases to a queue, and which work on them, according to their live revisions and case triggers. */
import type { QueueConsumer, QueueProducer, Response, RevisionConfig } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import { planOf } from '../../store/access/plans.ts';
import { runsForCases } from '../../store/cases/case-line.ts';
import { type ListedTrigger, triggersOfAgents } from '../../store/cases/case-triggers.ts';
import type { Queries } from '../../store/database/database.ts';
import type { QueueRow } from '../../store/database/schema.ts';
import type { HasRuntimes, HasStore } from '../engine.ts';
import { procedureOf } from '../revision/procedure.ts';

/** An agent with parts of its live revision. */
interface LiveAgent {
  id: string;
  name: string;
  config: string | null;
  handover_target_ids: string | null;
}

export async function queueAgents(engine: HasStore & HasRuntimes, queue: QueueRow): Promise<Response<'listQueueAgents'>> {
  const { store } = engine;
  const agents = await liveAgents(store, queue.team_id);
  const triggers = await triggersOfAgents(
    store,
    agents.map(({ id }) => id),
  );
  const triggerOf = (agent: LiveAgent): ListedTrigger | undefined => {
    const trigger = triggers.get(agent.id);
    return trigger?.queue_id === queue.id ? trigger : undefined;
  };
  const producerIds = new Set(agents.filter((agent) => queuesOf(engine, agent).includes(queue.name)).map(({ id }) => id));
  // The agents that those working here may hand a case to.
  const handoverIds = new Set(
    agents.filter((agent) => triggerOf(agent) !== undefined || producerIds.has(agent.id)).flatMap(handoverTargets),
  );
  const hasMultipleTriggers = agents.filter((agent) => triggerOf(agent)?.enabled === 1).length > 1;
  const problems = (agent: LiveAgent, trigger: ListedTrigger | undefined): QueueConsumer['problems'] => [
    ...(hasMultipleTriggers && trigger?.enabled === 1 ? (['multiple_triggers'] as const) : []),
    ...(producerIds.has(agent.id) && trigger !== undefined ? (['producer_consumer_mix'] as const) : []),
  ];
  const producers = agents
    .filter(({ id }) => producerIds.has(id))
    .map((agent): QueueProducer => {
      const trigger = triggers.get(agent.id);
      return {
        agent_id: agent.id,
        agent_name: agent.name,
        case_trigger_enabled: trigger?.enabled === 1,
        case_trigger_queue_name: trigger?.queue_name ?? null,
        problems: problems(agent, triggerOf(agent)),
      };
    });
  const { maxConcurrentRuns } = await planOf(store, queue.team_id);
  const consumers: QueueConsumer[] = [];
  for (const agent of agents) {
    const trigger = triggerOf(agent);
    if (trigger === undefined && !handoverIds.has(agent.id)) continue;
    const { executing, waiting } = await runsForCases(store, queue.id, agent.id);
    const limit = trigger?.concurrency ?? maxConcurrentRuns;
    consumers.push({
      agent_id: agent.id,
      agent_name: agent.name,
      case_trigger_enabled: trigger?.enabled === 1,
      is_handover_target: handoverIds.has(agent.id),
      problems: problems(agent, trigger),
      concurrency_limit: limit,
      at_concurrency_limit: executing + (trigger?.concurrency == null ? 0 : waiting) >= limit,
    });
  }
  return { queue_name: queue.name, producers, consumers };
}

async function liveAgents(db: Queries, teamId: string): Promise<LiveAgent[]> {
  return db
    .selectFrom('agents')
    .leftJoin('builds', 'builds.id', 'agents.live_build_id')
    .select(['agents.id', 'agents.name', 'builds.config', 'builds.handover_target_ids'])
    .where('agents.team_id', '=', teamId)
    .where('agents.deleted_at', 'is', null)
    .orderBy('agents.name')
    .execute();
}

const handoverTargets = (agent: LiveAgent): string[] => JSON.parse(agent.handover_target_ids ?? '[]') as string[];

function queuesOf(engine: HasRuntimes, { config }: LiveAgent): string[] {
  if (config === null) return [];
  try {
    const { runtime, text } = procedureOf(engine.runtimes, JSON.parse(config) as RevisionConfig);
    return runtime.queuesOf?.(text) ?? [];
  } catch (error) {
    // A revision that was written for a service with other runtimes adds no cases here.
    if (error instanceof ServiceError) return [];
    throw error;
  }
}
