/** Runs a function with a session of the Model Context Protocol, and closes the session afterwards. */
import { version } from '../../base/version.ts';
import type { Context } from '../../cli/kit/context.ts';
import { McpSession } from '../../client/mcp/session.ts';

export async function withSession<Value>(context: Context, task: (session: McpSession) => Promise<Value>): Promise<Value> {
  const session = new McpSession(await context.client(), { name: 'aops', version });
  try {
    return await task(session);
  } finally {
    await session.close();
  }
}
