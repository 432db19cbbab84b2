/** The journal of this user's changes; see `aops retry`. */
import { ChangeJournal, type JournalEntry } from '../client/journal.ts';
import { credentialName } from '../config/credential.ts';
import type { Context } from './context.ts';

const journalFor = ({ paths, clock }: Pick<Context, 'paths' | 'clock'>, credential: string): ChangeJournal =>
  new ChangeJournal(`${paths.data}/journal`, clock, credential);

/** Where the changes of this command are noted. */
export const journalOf = (context: Pick<Context, 'paths' | 'clock' | 'config'>): ChangeJournal =>
  journalFor(context, credentialName(context.config().credential));

/** The changes whose outcome is unknown, of all services and credentials. Asks nothing of the configuration, which may be broken. */
export const openChanges = (context: Pick<Context, 'paths' | 'clock'>): Promise<JournalEntry[]> => journalFor(context, '').list();
