/** Sends secrets of an agent to the service. */
import type { AgentSecret } from '../../interface/types.ts';
import type { Context } from '../kit/context.ts';
import type { NamedSecret } from './secret.ts';

/** Stores secrets one by one. They are not noted in the journal of changes, and a dry run prints `***` in their place. */
export async function storeSecrets(context: Context, agent: string, secrets: readonly NamedSecret[]): Promise<AgentSecret[]> {
  const client = await context.client();
  const storedSecrets: AgentSecret[] = [];
  for (const { name, value } of secrets) {
    const body = { name, value: context.flags.dryRun ? '***' : value };
    const call = client.call('setAgentSecret', { params: { agent_id: agent }, body }, { confidential: true });
    storedSecrets.push((await call).secret);
  }
  return storedSecrets;
}
