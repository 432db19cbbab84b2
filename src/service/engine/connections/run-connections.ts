/** The connections of a team, as its runs use them. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { jsonValue } from '../../../base/values.ts';
import { ServerProblem } from '../../connections/problems.ts';
import { notFound, ServiceError } from '../../errors.ts';
import type { ConnectionAnswer, RunConnections } from '../../runtimes/run-host.ts';
import { findConnection, findConnectionsNamed, noteRunConnection } from '../../store/connections/connections.ts';
import type { ConnectionRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import type { HasStore } from '../engine.ts';
import { type ConnectionUser, callConnectionTool } from './use.ts';

export const runConnections = (engine: ConnectionUser, run: Pick<RunRow, 'id' | 'team_id'>): RunConnections => ({
  async open(idOrName) {
    const row = await connectionOf(engine, run.team_id, idOrName);
    return {
      name: row.name,
      async call(tool, args, { timeoutMs, signal }) {
        const first_used_at = isoTime(engine.clock.now());
        await noteRunConnection(engine.store, { run_id: run.id, connection_id: row.id, name: row.name, first_used_at });
        try {
          return answerOf(await callConnectionTool(engine, row, { name: tool, arguments: args }, { limit: timeoutMs, signal }));
        } catch (error) {
          if (!(error instanceof ServerProblem)) throw error;
          return { content: [], structured: null, text: '', error: problemOf(row, error) };
        }
      },
    };
  },
});

async function connectionOf({ store }: HasStore, teamId: string, idOrName: string): Promise<ConnectionRow> {
  const matches = await findConnectionsNamed(store, teamId, idOrName);
  const [first] = matches;
  if (matches.length > 1)
    throw new ServiceError(409, 'connection_ambiguous', `${matches.length} connections are called ${idOrName}; use an ID instead.`);
  const connection = first ?? (await findConnection(store, teamId, idOrName));
  if (connection === undefined) throw notFound('connection', idOrName);
  return connection;
}

function problemOf({ name }: ConnectionRow, { kind, message }: ServerProblem): string {
  if (kind === 'call') return `the server of the connection ${name} returned an error: ${message}`;
  const unknown = kind === 'unclear' ? '; it is unknown whether the tool did its work' : '';
  return `the connection ${name} could not be used: ${message}${unknown}`;
}

function answerOf({ content, structuredContent, isError }: CallToolResult): ConnectionAnswer {
  const blocks = content.map((block) => displayBlock(block as Record<string, unknown>));
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [String(block.text)] : []));
  const text = texts.join('\n');
  return {
    content: blocks,
    structured: structuredContent ?? (texts.length === 1 ? objectIn(text) : null),
    text,
    error: isError ? text.trim() || 'the tool failed without giving a reason' : null,
  };
}

/** Many servers return their results as JSON in a text. */
function objectIn(text: string): unknown {
  const value = jsonValue(text);
  return typeof value === 'object' ? value : null;
}

/** A part of a result, with binary data replaced by its size: messages and templates are for texts. */
function displayBlock(block: Record<string, unknown>): Record<string, unknown> {
  const { data, resource, ...rest } = block;
  if (typeof data === 'string') return { ...rest, size: Buffer.byteLength(data, 'base64') };
  if (resource === undefined) return block;
  const { blob, ...fields } = resource as Record<string, unknown>;
  return typeof blob === 'string' ? { ...rest, resource: { ...fields, size: Buffer.byteLength(blob, 'base64') } } : block;
}
