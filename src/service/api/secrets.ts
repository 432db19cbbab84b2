/** Secrets of agents: write-only, so responses contain names and times. */
import { isVariableName, variableNameRule } from '../../base/variable-name.ts';
import { saveAgentSecret } from '../engine/revision/secrets.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { deleteAgentSecret, listAgentSecrets } from '../store/agents/agent-secrets.ts';
import { isoTime } from '../store/database/time.ts';
import { requireAgent } from './shared/lookups.ts';

/** How many secrets an agent can have. */
const maxSecrets = 100;

export const secretRoutes: GroupRoutes<'secrets'> = {
  async listAgentSecrets(context, { params }) {
    const agent = await requireAgent(context, context.engine.store, params.agent_id);
    const rows = await listAgentSecrets(context.engine.store, agent.id);
    return { secrets: rows.map(({ name, updated_at }) => ({ name, updated_at })) };
  },

  async setAgentSecret(context, { params, body }) {
    const { engine } = context;
    const { name, value } = body;
    if (!isVariableName(name)) throw invalid('name', `must be the name of an environment variable: ${variableNameRule}`);
    if (value.includes('\0')) throw invalid('value', 'must not contain a NUL character');
    const now = isoTime(engine.clock.now());
    await engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      const names = (await listAgentSecrets(trx, agent.id)).map((row) => row.name);
      if (names.length >= maxSecrets && !names.includes(name))
        throw new ServiceError(
          409,
          'too_many_secrets',
          `The agent has ${names.length} secrets already, and can have at most ${maxSecrets}.`,
        );
      await saveAgentSecret(trx, engine.connections.box, { agentId: agent.id, name, value, now });
    });
    return { secret: { name, updated_at: now } };
  },

  async deleteAgentSecret(context, { params }) {
    await context.engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      if (!(await deleteAgentSecret(trx, agent.id, params.secret_name))) throw notFound('secret', params.secret_name);
    });
    return { success: true };
  },
};

const invalid = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
