/** The tools of a server as people see them. */
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

/** The operations of every command that asks the server of a connection for its tools. */
export const askingOperations = ['listConnectionTools', 'probeMcpServer', 'listConnections', 'getConnection'] as const;

/**
 * What the server of a connection answers. Where the service does not offer that, it probes the address of the connection instead: without its credentials,
 * which no service reveals.
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
        `This service can only probe addresses: it asked ${server_url} without the credentials of ${name}. Give headers with \`aops connections probe --url\`.`,
      );
    return answer;
  }
}

/** The tools that a server answered with. @throws AopsError `mcp_server_failed` with what was wrong */
export const toolList = (answer: ProbedServer): RowList<ConnectionTool> => wholeList(requireTools(answer));

/** The same as they came. */
export function requireTools({ success, tools, error }: ProbedServer): ConnectionTool[] {
  if (success) return tools ?? [];
  throw new AopsError(error ?? 'The server could not be used, and the service does not say why.', {
    code: 'mcp_server_failed',
    exit: exitCodes.failure,
    hint: 'Check the address and the headers; `aops connections check-oauth URL` says whether it wants a person to authorize.',
  });
}
