/** The tools of a server as people see them. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { ConnectionTool, ProbedServer } from '../../interface/types.ts';
import { type RowList, wholeList } from '../list.ts';
import { column, listOutput } from '../output.ts';

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
