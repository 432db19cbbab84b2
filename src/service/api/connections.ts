/** Connections of the team to remote MCP servers. */
import type { ProbedServer } from '../../interface/types.ts';
import { checkedHeaders } from '../connections/headers.ts';
import type { ServerTool } from '../connections/mcp-session.ts';
import { ServerProblem } from '../connections/problems.ts';
import { startAuthorization } from '../engine/connections/authorize.ts';
import {
  checkServerUrl,
  createConnection,
  deleteConnection,
  requireConnection,
  updateConnection,
} from '../engine/connections/connections.ts';
import { discoverOAuth } from '../engine/connections/discovery.ts';
import { probeLimit } from '../engine/connections/limits.ts';
import { connectionTools, probedTools } from '../engine/connections/use.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { listConnectionRows } from '../store/connections/connections.ts';
import { connectionView } from '../views/connections.ts';
import { callbackPath } from './oauth-callback.ts';
import { requireTeam } from './shared/lookups.ts';

export const connectionRoutes: GroupRoutes<'connections'> = {
  async listConnections({ engine, ...context }, { params, query }) {
    requireTeam(context, params.teamId);
    const { limit = 100, offset = 0, type } = query;
    const { rows, total } = await listConnectionRows(engine.store, { teamId: params.teamId, type }, { limit, offset });
    return { integrations: rows.map((row) => connectionView(engine.connections.box, row)), total, limit, offset };
  },

  async createConnection({ engine, ...context }, { params, body }) {
    requireTeam(context, params.teamId);
    return connectionView(engine.connections.box, await createConnection(engine, params.teamId, body));
  },

  async getConnection({ engine, teamId }, { params }) {
    return connectionView(engine.connections.box, await requireConnection(engine.store, teamId, params.connection_id));
  },

  async updateConnection({ engine, teamId }, { params, body }) {
    return connectionView(engine.connections.box, await updateConnection(engine, teamId, params.connection_id, body));
  },

  async deleteConnection({ engine, teamId }, { params }) {
    const { name } = await deleteConnection(engine, teamId, params.connection_id);
    return { success: true, message: `The connection ${name} was deleted.` };
  },

  async listConnectionTools({ engine, teamId }, { params }) {
    const row = await requireConnection(engine.store, teamId, params.connection_id);
    return probeResult(connectionTools(engine, row, unlimited()));
  },

  async probeMcpServer({ engine, ...context }, { params, body }) {
    requireTeam(context, params.teamId);
    if (body.integration_slug !== undefined) throw notFound('integration', body.integration_slug);
    if (body.server_url === undefined) {
      throw new ServiceError(400, 'invalid_request', 'server_url is required.', {
        details: [{ path: 'server_url', message: 'is required' }],
      });
    }
    const url = await checkServerUrl(engine, body.server_url);
    return probeResult(probedTools(engine, { url, headers: checkedHeaders(body.headers ?? {}) }, unlimited()));
  },

  async checkMcpOAuth({ engine }, { body }) {
    const discovery = await discoverOAuth(engine, await checkServerUrl(engine, body.mcp_server_url, 'mcp_server_url'));
    if (discovery === undefined) return { supports_dcr: false };
    const { metadata, resource, scope } = discovery;
    const scopes = scope?.split(' ') ?? resource?.scopes_supported ?? metadata.scopes_supported;
    return {
      supports_dcr: metadata.registration_endpoint !== undefined,
      authorization_endpoint: metadata.authorization_endpoint,
      ...(scopes === undefined ? {} : { scopes }),
    };
  },

  async authorizeMcpOAuth({ engine, baseUrl, ...context }, { params, body }) {
    requireTeam(context, params.teamId);
    return { authorization_url: await startAuthorization(engine, params.teamId, body, `${baseUrl}/${callbackPath}`) };
  },

  async startNativeOAuth(context, { params }) {
    requireTeam(context, params.teamId);
    const words = `There is no provider ${params.provider}: a local service has no providers. Connect to the MCP server of the provider instead.`;
    throw new ServiceError(404, 'oauth_provider_not_found', words);
  },
};

/** A probe ends at its time limit, and nothing ends it earlier. */
const unlimited = () => ({ limit: probeLimit, signal: new AbortController().signal });

/** Reports a server that cannot be used as a result, not as an error. */
async function probeResult(tools: Promise<ServerTool[]>): Promise<ProbedServer> {
  try {
    return { success: true, tools: await tools };
  } catch (error) {
    if (!(error instanceof ServerProblem)) throw error;
    return { success: false, error: `The server could not be used: ${sentence(error.message)}` };
  }
}

const sentence = (words: string): string => (/[.?!]$/.test(words) ? words : `${words}.`);
