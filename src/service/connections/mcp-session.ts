/**
 * A session with a remote MCP server. It supports both eras of the protocol and uses guarded connections. A session lasts for one
 * use, because a run might make its next call weeks later, in another process.
 */
import type { CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Clock } from '../../base/clock.ts';
import { version } from '../../base/version.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import { guardedFetch } from '../outbound/guarded-fetch.ts';
import { withinTime } from '../outbound/within-time.ts';
import { serverProblem, TimeLimitError } from './problems.ts';

/** The maximum size of all responses of a session, in bytes. */
const maxBytes = 4 * 1024 * 1024;

/** The source of access tokens. */
export interface TokenSource {
  token(): Promise<string | undefined>;
  /** Called after the server refused the token; rejects if there is no other. */
  onUnauthorized(): Promise<void>;
}

export interface Server {
  url: string;
  headers: Readonly<Record<string, string>>;
  tokens?: TokenSource | undefined;
}

export interface SessionParts {
  agent: GuardedAgent;
  clock: Clock;
  /** The time limit for the whole session, in milliseconds. */
  limit: number;
  signal: AbortSignal;
}

export interface ServerTool {
  name: string;
  description?: string;
  input_schema?: Record<string, unknown>;
}

/** The tools of a server. Rejects with ServerProblem, or the signal's reason. */
export const serverTools = (server: Server, parts: SessionParts): Promise<ServerTool[]> =>
  inSession(server, parts, async (client) => {
    const { tools } = await client.listTools();
    return tools.map(({ name, description, inputSchema }) => ({
      name,
      ...(description === undefined ? {} : { description }),
      input_schema: inputSchema as Record<string, unknown>,
    }));
  });

/** Calls a tool. Rejects like serverTools; a failure of the tool itself is part of the result. */
export const callServerTool = (
  server: Server,
  call: { name: string; arguments: Record<string, unknown> },
  parts: SessionParts,
): Promise<CallToolResult> => inSession(server, parts, (client, options) => client.callTool(call, options));

async function inSession<T>(
  server: Server,
  { agent, clock, limit, signal }: SessionParts,
  use: (client: Client, options: { timeout: number; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const sdk = await import('@modelcontextprotocol/client');
  const timeoutError = (): Error => new TimeLimitError(limit);
  let isConnected = false;
  try {
    return await withinTime(clock, { limit, timeoutError, signal }, async (either) => {
      const client = new sdk.Client({ name: 'aops', version }, { versionNegotiation: { mode: 'auto' } });
      const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
        fetch: guardedFetch(agent, { bytes: maxBytes, signal: either }),
        requestInit: { headers: server.headers },
        ...(server.tokens === undefined ? {} : { authProvider: server.tokens }),
      });
      // The time limit of this session applies; the library's own must not be shorter.
      const options = { timeout: limit + 1_000, signal: either };
      try {
        await client.connect(transport, options);
        isConnected = true;
        return await use(client, options);
      } finally {
        await leave(client, transport);
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    throw serverProblem(error, sdk, isConnected);
  }
}

/** Ends the session with a server that keeps sessions, on a best-effort basis. */
async function leave(client: Client, transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId !== undefined) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
}
