/** Uses connections, and records whether they work or why not. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { callServerTool, type Server, type ServerTool, serverTools } from '../../connections/mcp-session.ts';
import { ServerProblem } from '../../connections/problems.ts';
import { openHeaders, openOAuth } from '../../connections/secrets.ts';
import { UnreadableSecretError } from '../../secret-box.ts';
import { updateConnectionRow } from '../../store/connections/connections.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { ConnectionRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import type { HasClock, HasConnections, HasLog, HasStore, HasWorker } from '../engine.ts';
import { recordEvents } from '../webhooks/events.ts';
import { actionRequiredEvent, updatedEvent } from './events.ts';
import { tokenSource } from './tokens.ts';

/** The parts of the engine that are needed to use a connection: its health is recorded, and a change of it is an event. */
export type ConnectionUser = HasStore & HasClock & HasLog & HasWorker & HasConnections;

export interface UseOptions {
  /** Time limit in milliseconds. */
  limit: number;
  signal: AbortSignal;
}

/** The tools of a connection. Rejects with ServerProblem. */
export const connectionTools = (engine: ConnectionUser, row: ConnectionRow, options: UseOptions): Promise<ServerTool[]> =>
  useServer(engine, row, (server) => serverTools(server, { ...options, ...session(engine) }));

/** Calls a tool of a connection. Rejects with ServerProblem. */
export const callConnectionTool = (
  engine: ConnectionUser,
  row: ConnectionRow,
  call: { name: string; arguments: Record<string, unknown> },
  options: UseOptions,
): Promise<CallToolResult> => useServer(engine, row, (server) => callServerTool(server, call, { ...options, ...session(engine) }));

/** The tools of a server that is not a connection. Rejects with ServerProblem. */
export const probedTools = (engine: HasClock & HasConnections, server: Server, options: UseOptions): Promise<ServerTool[]> =>
  serverTools(server, { ...options, ...session(engine) });

const session = ({ connections, clock }: HasClock & HasConnections) => ({ agent: connections.agent, clock });

async function useServer<T>(engine: ConnectionUser, row: ConnectionRow, use: (server: Server) => Promise<T>): Promise<T> {
  try {
    const result = await use(serverOf(engine, row));
    await noteHealth(engine, row, null);
    return result;
  } catch (error) {
    if (error instanceof ServerProblem && (error.kind === 'server' || error.kind === 'call'))
      await noteHealth(engine, row, error.kind === 'server' ? error.message : null);
    throw error;
  }
}

function serverOf(engine: HasStore & HasClock & HasConnections, row: ConnectionRow): Server {
  const { box } = engine.connections;
  try {
    const { plain, secret } = openHeaders(box, row);
    const server = { url: row.server_url, headers: { ...plain, ...secret } };
    if (row.auth_method !== 'oauth') return server;
    if (openOAuth(box, row) === undefined) throw new ServerProblem('server', 'it has not been authorized yet');
    return { ...server, tokens: tokenSource(engine, row) };
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    throw new ServerProblem('server', 'its secrets cannot be read, because they were encrypted with another key. Enter them again');
  }
}

/** Records the health of a connection, unless it was changed meanwhile, and an event if it starts or stops working. */
async function noteHealth(engine: ConnectionUser, { id, revision, team_id }: ConnectionRow, problem: string | null): Promise<void> {
  const now = isoTime(engine.clock.now());
  const outcome = await engine.store.transaction().execute(async (trx) => {
    await lockRows(trx, 'connections', [id]);
    const before = await trx.selectFrom('connections').selectAll().where('id', '=', id).executeTakeFirst();
    if (before === undefined || before.broken_reason === problem) return undefined;
    const broken_at = problem === null ? null : (before.broken_at ?? now);
    const row = await updateConnectionRow(trx, id, { broken_at, broken_reason: problem, updated_at: now }, revision);
    if (row === undefined) return undefined;
    if (problem !== null && before.broken_at !== null) return { shouldWake: false };
    const event = (problem === null ? updatedEvent : actionRequiredEvent)(engine, row);
    return { shouldWake: await recordEvents(engine.clock, trx, { teamId: team_id }, [event]) };
  });
  if (outcome === undefined) return;
  engine.log(problem === null ? 'info' : 'warn', problem === null ? 'a connection works again' : 'a connection does not work', {
    connection: id,
    ...(problem === null ? {} : { reason: problem }),
  });
  if (outcome.shouldWake) engine.worker.wake();
}
