import type { Connection } from '../../interface/types.ts';
import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { connectionArgument, connectionRecord, findConnection } from './record.ts';

export default defineCommand({
  summary: 'Show a connection, and why it does not work if it does not',
  arguments: { connection: connectionArgument },
  operations: ['getConnection', 'listConnections'],
  examples: [{ command: 'aops connections get tickets', text: 'How it does' }],
  result: returns('getConnection'),
  output: recordOutput<Connection>(connectionRecord),
  run: (context, input) => findConnection(context, input.connection),
});
