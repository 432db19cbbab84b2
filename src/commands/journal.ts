/** The journal of this user's changes; see `aops retry`. */
import { ChangeJournal } from '../client/journal.ts';
import type { Context } from './context.ts';

export const journalOf = (context: Pick<Context, 'paths' | 'clock'>): ChangeJournal =>
  new ChangeJournal(`${context.paths.data}/journal`, context.clock);
