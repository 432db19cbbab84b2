/** The secrets of agents, encrypted. */
import type { Queries } from '../database/database.ts';
import type { AgentSecretRow } from '../database/schema.ts';

/** The secrets of an agent, by name. */
export const listAgentSecrets = (db: Queries, agentId: string): Promise<AgentSecretRow[]> =>
  db.selectFrom('agent_secrets').selectAll().where('agent_id', '=', agentId).orderBy('name').execute();

/** Stores a secret in place of an earlier one with its name. @param value encrypted */
export async function storeAgentSecret(trx: Queries, secret: AgentSecretRow): Promise<void> {
  const { value, updated_at } = secret;
  await trx
    .insertInto('agent_secrets')
    .values(secret)
    .onConflict((conflict) => conflict.columns(['agent_id', 'name']).doUpdateSet({ value, updated_at }))
    .execute();
}

/** Returns whether the secret existed. */
export async function deleteAgentSecret(trx: Queries, agentId: string, name: string): Promise<boolean> {
  const result = await trx.deleteFrom('agent_secrets').where('agent_id', '=', agentId).where('name', '=', name).executeTakeFirst();
  return result.numDeletedRows > 0n;
}

export async function deleteAgentSecrets(trx: Queries, agentId: string): Promise<void> {
  await trx.deleteFrom('agent_secrets').where('agent_id', '=', agentId).execute();
}
