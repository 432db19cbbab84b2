/** The journal of this user's changes; see `aops retry`. */
import { ChangeJournal } from '../client/journal.ts';
import { credentialName } from '../config/credential.ts';
import type { Context } from './context.ts';

export const journalOf = ({ paths, clock, config }: Pick<Context, 'paths' | 'clock' | 'config'>): ChangeJournal =>
  new ChangeJournal(`${paths.data}/journal`, clock, credentialName(config().credential));
