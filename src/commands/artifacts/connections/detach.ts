import { isUuid } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { connectionArgument, findConnection } from '../../../cli/records/connection.ts';
import { artifactArgument, artifactId } from '../record.ts';

export default defineCommand({
  summary: 'Detach a connection from an artifact',
  description: 'The connection itself is not deleted.',
  arguments: { artifact: artifactArgument, connection: connectionArgument },
  operations: ['listArtifacts', 'listConnections', 'detachArtifactConnection'],
  mutates: true,
  examples: [{ command: 'aops artifacts connections detach @latest crm', text: 'Detach a connection by name' }],
  result: returns('detachArtifactConnection', { connection_id: 'string' }),
  output: textOutput<{ connection_id: string }>(({ connection_id }) => `Detached ${connection_id}.`),
  async run(context, input) {
    const client = await context.client();
    // A connection that has been deleted can no longer be found by name.
    const connectionId = isUuid(input.connection) ? input.connection.toLowerCase() : (await findConnection(context, input.connection)).id;
    const params = { artifactId: await artifactId(context, input.artifact), connectionId };
    return { connection_id: connectionId, ...(await client.call('detachArtifactConnection', { params })) };
  },
});
