/** Case triggers of agents. An agent has at most one. Several agents on one queue are allowed, but reported as a conflict. */

import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { findAgent } from '../../store/agents/agents.ts';
import {
  type CaseTriggerSummary,
  type Conflicts,
  deleteTriggerRow,
  insertTrigger,
  type ListedTrigger,
  type Trigger,
  triggerOfAgent,
  triggersOfAgents,
  triggersOnQueues,
  updateTriggerRow,
} from '../../store/cases/case-triggers.ts';
import { findQueue } from '../../store/cases/queues.ts';
import type { Queries } from '../../store/database/database.ts';
import type { AgentRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeDispatch } from '../cases/nudge.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';

interface TriggerSettings {
  case_queue_id?: string;
  enabled?: boolean;
  concurrency?: 1 | null;
}

/** The other agents that currently work on the queue. */
export async function conflictsOn(db: Queries, queueId: string, agentId: string): Promise<Conflicts> {
  const rows = await triggersOnQueues(db, [queueId]);
  return conflictsAmong(rows, agentId);
}

const conflictsAmong = (rows: readonly ListedTrigger[], agentId: string): Conflicts =>
  rows.filter((row) => row.enabled === 1 && row.agent_id !== agentId).map((row) => ({ id: row.agent_id, name: row.agent_name }));

/** The triggers of several agents, by agent. */
export async function caseTriggerSummaries(db: Queries, agentIds: readonly string[]): Promise<Map<string, CaseTriggerSummary>> {
  const ownTriggers = await triggersOfAgents(db, agentIds);
  const queueTriggers = await triggersOnQueues(db, [...new Set([...ownTriggers.values()].map(({ queue_id }) => queue_id))]);
  return new Map(
    [...ownTriggers].map(([agentId, row]) => {
      const conflicts = conflictsAmong(
        queueTriggers.filter(({ queue_id }) => queue_id === row.queue_id),
        agentId,
      );
      return [agentId, { enabled: row.enabled === 1, queueName: row.queue_name, conflicts }];
    }),
  );
}

/** A trigger of an agent. Throws 404 if it does not exist or belongs to another agent. */
export async function requireTrigger(db: Queries, agentId: string, id: string): Promise<Trigger> {
  const row = await triggerOfAgent(db, agentId);
  if (row === undefined || row.id !== id) throw notFound('case trigger', id);
  return withConflicts(db, row);
}

/** The trigger of an agent, if it has one. */
export async function findTrigger(db: Queries, agentId: string): Promise<Trigger | undefined> {
  const row = await triggerOfAgent(db, agentId);
  return row === undefined ? undefined : withConflicts(db, row);
}

const withConflicts = async (db: Queries, row: ListedTrigger): Promise<Trigger> => ({
  row,
  conflicts: await conflictsOn(db, row.queue_id, row.agent_id),
});

/** Makes an agent work on a queue. Throws 404, 409 `agent_has_case_trigger`. */
export async function createTrigger(
  engine: HasStore & HasClock & HasWorker,
  caller: { teamId: string; credentialId: string; agentId: string },
  settings: TriggerSettings & { case_queue_id: string; enabled: boolean },
): Promise<Trigger> {
  return changeTrigger(engine, async (trx, now) => {
    const agent = await requiredAgent(trx, caller.teamId, caller.agentId);
    const queueId = await requiredQueue(trx, caller.teamId, settings.case_queue_id);
    const existingTrigger = await triggerOfAgent(trx, agent.id);
    if (existingTrigger !== undefined) {
      const queueText = existingTrigger.queue_id === queueId ? 'this queue' : `the queue "${existingTrigger.queue_name}"`;
      throw new ServiceError(
        409,
        'agent_has_case_trigger',
        `The agent ${agent.name} already has a case trigger, on ${queueText} (${existingTrigger.id}).`,
      );
    }
    await insertTrigger(trx, {
      id: newId(),
      agent_id: agent.id,
      queue_id: queueId,
      credential_id: caller.credentialId,
      enabled: settings.enabled ? 1 : 0,
      concurrency: settings.concurrency ?? null,
      created_at: now,
      updated_at: now,
    });
    await nudgeDispatch(trx, queueId, engine.clock.now());
    return withConflicts(trx, (await triggerOfAgent(trx, agent.id)) as ListedTrigger);
  });
}

/** Changes a trigger. Active runs continue. Throws 404. */
export async function updateTrigger(
  engine: HasStore & HasClock & HasWorker,
  ids: { teamId: string; agentId: string; triggerId: string },
  settings: TriggerSettings,
): Promise<Trigger> {
  return changeTrigger(engine, async (trx, now) => {
    const agent = await requiredAgent(trx, ids.teamId, ids.agentId);
    const { row } = await requireTrigger(trx, agent.id, ids.triggerId);
    const queueId = settings.case_queue_id === undefined ? row.queue_id : await requiredQueue(trx, ids.teamId, settings.case_queue_id);
    await updateTriggerRow(trx, row.id, {
      queue_id: queueId,
      enabled: settings.enabled === undefined ? row.enabled : settings.enabled ? 1 : 0,
      concurrency: settings.concurrency,
      updated_at: now,
    });
    await nudgeDispatch(trx, queueId, engine.clock.now());
    return withConflicts(trx, (await triggerOfAgent(trx, agent.id)) as ListedTrigger);
  });
}

/** Takes an agent off its queue. Active runs continue. Throws 404. */
export async function deleteTrigger(
  engine: HasStore & HasClock & HasWorker,
  ids: { teamId: string; agentId: string; triggerId: string },
): Promise<void> {
  await changeTrigger(engine, async (trx) => {
    const agent = await requiredAgent(trx, ids.teamId, ids.agentId);
    await deleteTriggerRow(trx, (await requireTrigger(trx, agent.id, ids.triggerId)).row.id);
  });
}

/** Takes an agent that is being deleted off its queue, and returns the cases that were delegated to it. */
export async function leaveQueues(engine: HasClock, trx: Queries, agentId: string): Promise<void> {
  const row = await triggerOfAgent(trx, agentId);
  if (row !== undefined) await deleteTriggerRow(trx, row.id);
  const now = isoTime(engine.clock.now());
  const delegatedRows = await trx
    .updateTable('cases')
    .set({ delegated_agent_id: null, updated_at: now })
    .where('delegated_agent_id', '=', agentId)
    .returning('queue_id')
    .execute();
  for (const queueId of new Set(delegatedRows.map(({ queue_id }) => queue_id))) await nudgeDispatch(trx, queueId, engine.clock.now());
}

/** Dispatches the queue of an agent, because one of its revisions went live and it might be able to do more than before. */
export async function agentIsReady(engine: HasClock, trx: Queries, agentId: string): Promise<void> {
  const row = await triggerOfAgent(trx, agentId);
  if (row !== undefined) await nudgeDispatch(trx, row.queue_id, engine.clock.now());
}

async function changeTrigger<T>(engine: HasStore & HasClock & HasWorker, change: (trx: Queries, now: string) => Promise<T>): Promise<T> {
  const result = await engine.store.transaction().execute((trx) => change(trx, isoTime(engine.clock.now())));
  engine.worker.wake();
  return result;
}

async function requiredAgent(db: Queries, teamId: string, id: string): Promise<AgentRow> {
  const agent = await findAgent(db, teamId, id);
  if (agent === undefined) throw notFound('agent', id);
  return agent;
}

async function requiredQueue(db: Queries, teamId: string, id: string): Promise<string> {
  const queue = await findQueue(db, teamId, id);
  if (queue === undefined) throw notFound('queue', id);
  return queue.id;
}
