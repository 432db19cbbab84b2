/**
 * A remote MCP server, really connected: both eras of the protocol, over guarded connections. A session lasts for one use, since a
 * run may ask weeks later, in another process.
 */
import type { CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Clock } from '../../base/clock.ts';
import { version } from '../../base/version.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import { guardedFetch } from '../outbound/guarded-fetch.ts';
import { withinTime } from '../outbound/within-time.ts';
import { serverProblem, TimeLimitError } from './problems.ts';

/** Bytes of all answers of a session. */
const mostBytes = 4 * 1024 * 1024;

/** Where access tokens come from. */
export interface TokenSource {
  token(): Promise<string | undefined>;
  /** After the server refused the token: the next one may be better. Rejects when there is no other. */
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
  /** Milliseconds for everything together. */
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

/** Calls a tool. Rejects as serverTools; that the tool itself failed is part of the result. */
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
  const late = (): Error => new TimeLimitError(limit);
  let connected = false;
  try {
    return await withinTime(clock, { limit, late, signal }, async (either) => {
      const client = new sdk.Client({ name: 'aops', version }, { versionNegotiation: { mode: 'auto' } });
      const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
        fetch: guardedFetch(agent, { bytes: mostBytes, signal: either }),
        requestInit: { headers: server.headers },
        ...(server.tokens === undefined ? {} : { authProvider: server.tokens }),
      });
      // The limit of this session is what counts; the library's own must not come before it.
      const options = { timeout: limit + 1_000, signal: either };
      try {
        await client.connect(transport, options);
        connected = true;
        return await use(client, options);
      } finally {
        await leave(client, transport);
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    throw serverProblem(error, sdk, connected);
  }
}

/** Ends a session with a server that keeps them, as well as that can be done. */
async function leave(client: Client, transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId !== undefined) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
}
