import { defineCommand } from '../../../cli/kit/command.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { connectionArgument, findConnection } from '../../../cli/records/connection.ts';
import { artifactArgument, artifactId } from '../record.ts';

export default defineCommand({
  summary: 'Attach a connection to an artifact',
  description: 'The generator of the local service stores attached connections but does not use them.',
  arguments: { artifact: artifactArgument, connection: connectionArgument },
  operations: ['listArtifacts', 'listConnections', 'attachArtifactConnection'],
  mutates: true,
  examples: [{ command: 'aops artifacts connections attach @latest crm', text: 'Attach a connection by name' }],
  result: returns('attachArtifactConnection', { connection_id: 'string', name: 'string' }),
  output: textOutput<{ name: string }>(({ name }) => `Attached "${name}".`),
  async run(context, input) {
    const client = await context.client();
    const { id: connection_id, name } = await findConnection(context, input.connection);
    const params = { artifactId: await artifactId(context, input.artifact) };
    return { connection_id, name, ...(await client.call('attachArtifactConnection', { params, body: { connection_id } })) };
  },
});
