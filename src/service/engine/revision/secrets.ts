/** The secrets of agents: write-only for people, readable only for the processes of the agent. */
import type { SecretBox } from '../../secret-box.ts';
import { listAgentSecrets, storeAgentSecret } from '../../store/agents/agent-secrets.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HasConnections, HasStore } from '../engine.ts';

/** What a sealed value belongs to, so that it cannot be used for another agent or under another name. */
const ownerOf = (agentId: string, name: string): string => `${agentId} secret ${name}`;

/** Encrypts and stores a secret. */
export async function saveAgentSecret(
  trx: Queries,
  box: SecretBox,
  secret: { agentId: string; name: string; value: string; now: string },
): Promise<void> {
  const { agentId, name, value, now } = secret;
  await storeAgentSecret(trx, { agent_id: agentId, name, value: box.seal(value, ownerOf(agentId, name)), updated_at: now });
}

/** The values of the named secrets, as far as the agent has them. @throws UnreadableSecretError */
export async function agentSecrets(
  { store, connections }: HasStore & HasConnections,
  agentId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = (await listAgentSecrets(store, agentId)).filter(({ name }) => names.includes(name));
  return new Map(rows.map(({ name, value }) => [name, connections.box.open(value, ownerOf(agentId, name))]));
}
