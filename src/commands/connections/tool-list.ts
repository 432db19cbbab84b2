/** Reads the tools of a server and displays them. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type RowList, wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { NotOfferedError } from '../../client/errors.ts';
import type { Connection, ConnectionTool, ProbedServer } from '../../interface/types.ts';

interface InputSchema {
  properties?: Record<string, unknown>;
  required?: string[];
}

/** `title, priority?` */
function argumentsOf({ input_schema }: ConnectionTool): string {
  const { properties = {}, required = [] } = (input_schema ?? {}) as InputSchema;
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(', ');
}

const name = column('NAME', (tool: ConnectionTool) => tool.name);
const input = column('ARGUMENTS', argumentsOf, { shrink: true });
const description = column('DESCRIPTION', (tool: ConnectionTool) => firstLine(tool.description), { shrink: true, min: 12 });

const firstLine = (text = ''): string => text.trim().split('\n', 1)[0] as string;

export const toolOutput = listOutput<ConnectionTool>({ columns: [name, input, description], empty: 'The server has no tools.' });

/** The operations of every command that reads the tools of a connection. */
export const askingOperations = ['listConnectionTools', 'probeMcpServer', 'listConnections', 'getConnection'] as const;

/**
 * The response of the server of a connection. If the service does not support this, it probes the address of the connection instead,
 * without credentials, which no service reveals.
 */
export async function askServer(context: Context, { id, name, server_url, has_headers, auth_method }: Connection): Promise<ProbedServer> {
  const client = await context.client();
  try {
    return await client.call('listConnectionTools', { params: { connection_id: id } });
  } catch (error) {
    if (!(error instanceof NotOfferedError) || !server_url) throw error;
    const answer = await client.call('probeMcpServer', { params: { teamId: context.teamId() }, body: { server_url } });
    if (has_headers || (auth_method && auth_method !== 'url'))
      context.terminal.warn(
        `This service can only probe addresses: it contacted ${server_url} without the credentials of ${name}. Pass headers with \`aops connections probe --url\`.`,
      );
    return answer;
  }
}

/** The tools from the response of a server, as a list. @throws AopsError `mcp_server_failed` with the reason */
export const toolList = (answer: ProbedServer): RowList<ConnectionTool> => wholeList(requireTools(answer));

/** The tools from the response of a server. @throws AopsError `mcp_server_failed` with the reason */
export function requireTools({ success, tools, error }: ProbedServer): ConnectionTool[] {
  if (success) return tools ?? [];
  throw new AopsError(error ?? 'The server could not be used; the service gave no reason.', {
    code: 'mcp_server_failed',
    exit: exitCodes.failure,
    hint: 'Check the address and the headers. `aops connections check-oauth URL` shows whether the server requires OAuth.',
  });
}
