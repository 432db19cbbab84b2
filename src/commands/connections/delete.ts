import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionArgument, findConnection } from '../../cli/records/connection.ts';

export default defineCommand({
  summary: 'Delete a connection and its secrets',
  description: 'Steps that use the connection will fail.',
  arguments: { connection: connectionArgument },
  operations: ['listConnections', 'getConnection', 'deleteConnection'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops connections delete crm --yes', text: 'Delete a connection without confirmation' }],
  result: returns('deleteConnection', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string }>(({ name }) => `Deleted the connection ${name}.`),
  async run(context, input) {
    const client = await context.client();
    const { id, name } = await findConnection(context, input.connection);
    await confirm(context, `Delete the connection ${name}?`);
    const answer = await client.call('deleteConnection', { params: { connection_id: id } });
    return { id, name, ...answer };
  },
});
