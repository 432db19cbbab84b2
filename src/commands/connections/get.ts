import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionArgument, connectionRecord, findConnection } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Show a connection and its status',
  arguments: { connection: connectionArgument },
  operations: ['getConnection', 'listConnections'],
  examples: [{ command: 'aops connections get tickets', text: 'Show a connection' }],
  result: returns('getConnection'),
  output: recordOutput<Connection>(connectionRecord),
  run: (context, input) => findConnection(context, input.connection),
});
