/** Case triggers as people see them. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { argument, integer, optionalArgument } from '../../../cli/kit/flags.ts';
import { ifReadable } from '../../../cli/kit/offered.ts';
import { shown, time } from '../../../cli/kit/output.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { CaseTrigger } from '../../../interface/types.ts';

export const agentArgument = argument('The agent, by id or name', { complete: 'agents' });
export const triggerArgument = optionalArgument('The id of the trigger; without it the one that the agent has');

/** The interface knows one at a time, or as many as the plan allows. */
export const concurrencyOption = integer('N', 'Cases at a time: 1, or 0 for as many as the plan allows', { minimum: 0, maximum: 1 });
export const concurrencyOf = (given: number | undefined): 1 | null | undefined =>
  given === undefined ? undefined : given === 1 ? 1 : null;

export const conflictNames = (agents: readonly { name: string }[]): string => agents.map(({ name }) => name).join(', ');

const whoWorks = ({ conflicting_agents: agents }: CaseTrigger): string =>
  `${conflictNames(agents)} ${agents.length === 1 ? 'works' : 'work'}`;

export const triggerRecord = (trigger: CaseTrigger) => ({
  ID: trigger.id,
  Agent: trigger.agent_id,
  Queue: trigger.case_queue_name,
  Enabled: trigger.enabled,
  'At a time': trigger.concurrency ?? 'as many as the plan allows',
  Conflict: trigger.has_conflict ? shown(`${whoWorks(trigger)} on this queue, too`, 'warning') : undefined,
  'Created by': trigger.creator_display_name ?? undefined,
  Created: time(trigger.created_at),
  Updated: time(trigger.updated_at),
});

/** Path parameters of a trigger: the one given, or the one that the agent has. @throws AopsError `case_trigger_not_found` (exit 3) */
export async function triggerParams(
  context: Context,
  agent: string,
  trigger: string | undefined,
): Promise<{ agent_id: string; trigger_id: string }> {
  const agent_id = await agentId(context, agent);
  if (trigger !== undefined) return { agent_id, trigger_id: trigger };
  const client = await context.client();
  const { case_triggers: found } = await client.call('listAgentCaseTriggers', { params: { agent_id } });
  if (found[0] !== undefined) return { agent_id, trigger_id: found[0].id };
  throw new AopsError(`The agent ${agent} has no case trigger.`, {
    code: 'case_trigger_not_found',
    exit: exitCodes.notFound,
    hint: 'Make one with `aops agents triggers create AGENT --queue QUEUE`.',
  });
}

/** Warns when the agent cannot take a case yet, where that can be found out: the trigger was created in any case. */
export async function warnOfNoRevision(context: Context, { agent_id, enabled }: CaseTrigger): Promise<void> {
  if (!enabled) return;
  const client = await context.client();
  const revisions = await ifReadable(client.call('listAgentRevisions', { params: { agent_id }, query: { limit: 100 } }));
  if (revisions === undefined || revisions.total > revisions.builds.length || revisions.builds.some(({ status }) => status === 'live'))
    return;
  context.terminal.warn(
    'The agent has no live revision: it takes no cases until one is promoted with `aops revisions promote AGENT@latest`.',
  );
}

/** Says who else works on the queue. */
export function warnOfConflict(context: Context, trigger: CaseTrigger): void {
  if (!trigger.enabled || !trigger.has_conflict) return;
  context.terminal.warn(`${whoWorks(trigger)} on the queue ${trigger.case_queue_name}, too; each case goes to one of them.`);
}
