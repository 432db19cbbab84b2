/** The messages of a run, one per line. */
import type { RunMessage } from '../../interface/types.ts';
import { column, listOutput, timeColumn } from '../kit/output.ts';
import { messageSummary } from './transcript.ts';

export const messageList = listOutput<RunMessage>({
  columns: [
    timeColumn('TIME', (message) => message.timestamp),
    column('ROLE', (message) => message.role),
    column('MESSAGE', messageSummary, { shrink: true }),
  ],
  empty: 'There are no messages.',
});
