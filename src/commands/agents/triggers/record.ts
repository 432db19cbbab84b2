/** How case triggers are displayed, and how an argument identifies one. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { argument, integer, optionalArgument } from '../../../cli/kit/flags.ts';
import { time, withStyle } from '../../../cli/kit/output.ts';
import { ifReadable } from '../../../cli/kit/secondary-requests.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { CaseTrigger } from '../../../interface/types.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';

export const agentArgument = argument('The agent, by ID or name', { complete: 'agents' });
export const triggerArgument = optionalArgument('The ID of the trigger (default: the trigger of the agent)');

/** The interface allows one case at a time, or as many as the plan permits. */
export const concurrencyOption = integer('N', 'Number of cases at a time: 1, or 0 for as many as the plan allows', {
  minimum: 0,
  maximum: 1,
});
export const concurrencyOf = (flag: number | undefined): 1 | null | undefined => (flag === undefined ? undefined : flag === 1 ? 1 : null);

export const conflictNames = (agents: readonly { name: string }[]): string => agents.map(({ name }) => name).join(', ');

const otherAgents = ({ conflicting_agents: agents }: CaseTrigger): string =>
  `${conflictNames(agents)} also ${agents.length === 1 ? 'processes' : 'process'}`;

export const triggerRecord = (trigger: CaseTrigger) => ({
  ID: trigger.id,
  Agent: trigger.agent_id,
  Queue: trigger.case_queue_name,
  Enabled: trigger.enabled,
  'At a time': trigger.concurrency ?? 'as many as the plan allows',
  Conflict: trigger.has_conflict ? withStyle(`${otherAgents(trigger)} this queue`, 'warning') : undefined,
  'Created by': trigger.creator_display_name ?? undefined,
  Created: time(trigger.created_at),
  Updated: time(trigger.updated_at),
});

/** The path parameters of a trigger: the specified one, or the only one of the agent. @throws AopsError `case_trigger_not_found` (exit 3) */
export async function triggerParams(
  context: Context,
  agent: string,
  trigger: string | undefined,
): Promise<{ agent_id: string; trigger_id: string }> {
  const agent_id = await agentId(context, agent);
  if (trigger !== undefined) return { agent_id, trigger_id: trigger };
  const client = await context.client();
  const { case_triggers: triggers } = await client.call('listAgentCaseTriggers', { params: { agent_id } });
  if (triggers[0] !== undefined) return { agent_id, trigger_id: triggers[0].id };
  throw new AopsError(`The agent ${agent} has no case trigger.`, {
    code: 'case_trigger_not_found',
    exit: exitCodes.notFound,
    hint: 'Create one with `aops agents triggers create AGENT --queue QUEUE`.',
  });
}

/** Warns if the agent cannot take cases yet, as far as this can be determined. The trigger exists either way. */
export async function warnOfNoRevision(context: Context, { agent_id, enabled }: CaseTrigger): Promise<void> {
  if (!enabled) return;
  const client = await context.client();
  const revisions = await ifReadable(client.call('listAgentRevisions', { params: { agent_id }, query: { limit: 100 } }));
  if (revisions === undefined || revisions.total > revisions.builds.length || revisions.builds.some(({ status }) => status === 'live'))
    return;
  const remedy = context.terminal.suggested('until you promote one with `aops revisions promote AGENT@latest`.');
  context.terminal.warn(`The agent has no live revision, so it takes no cases ${remedy}`);
}

/** Warns about other agents that process the queue. */
export function warnOfConflict(context: Context, trigger: CaseTrigger): void {
  if (!trigger.enabled || !trigger.has_conflict) return;
  context.terminal.warn(
    `${sanitizeLine(`${otherAgents(trigger)} the queue ${trigger.case_queue_name}`)}; each case goes to one of these agents.`,
  );
}
