/** The journal of this user's changes; see `aops retry`. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { ChangeJournal, type JournalEntry } from '../../client/journal.ts';
import { credentialName } from '../../config/credential.ts';
import type { Context } from '../kit/context.ts';

const journalFor = ({ paths, clock }: Pick<Context, 'paths' | 'clock'>, credential: string): ChangeJournal =>
  new ChangeJournal(`${paths.data}/journal`, clock, credential);

/** Where the changes of this command are noted. */
export const journalOf = (context: Pick<Context, 'paths' | 'clock' | 'config'>): ChangeJournal =>
  journalFor(context, credentialName(context.config().credential));

/** The changes whose outcome is unknown, of all services and credentials. Asks nothing of the configuration, which may be broken. */
export const openChanges = (context: Pick<Context, 'paths' | 'clock'>): Promise<JournalEntry[]> => journalFor(context, '').list();

/** Whether a change was sent to this service with this credential: elsewhere, its key is another one. */
export const isOwn = (entry: JournalEntry, baseUrl: string | undefined, credential: string): boolean =>
  entry.base_url === baseUrl && (entry.credential ?? credential) === credential;

/**
 * The failure of a command that was repeated with its key. It may have found things as its own change left them, such as an agent
 * that it deleted: while that change is open, its outcome is unknown, and not that the command was refused.
 */
export async function unlessOwnChangeIsOpen(context: Context, error: unknown): Promise<unknown> {
  const key = context.flags.idempotencyKey;
  if (key === undefined || !(error instanceof AopsError) || !isRefusal(error)) return error;
  const { base_url, credential } = context.config();
  const entries = (await openChanges(context)).filter((entry) => isOwn(entry, base_url.value, credentialName(credential)));
  if (!entries.some(({ command_key }) => command_key === key)) return error;
  return new AopsError(`The outcome is unknown: an earlier change with this key may have been carried out. Now: ${error.message}`, {
    code: 'outcome_unknown',
    exit: exitCodes.outcomeUnknown,
    hint: `Settle it with \`aops retry ${key}\`.`,
    details: { ...error.details, idempotency_key: key },
    cause: error,
  });
}

/** What a command finds that looks before it sends. */
const isRefusal = ({ exit }: AopsError): boolean => exit === exitCodes.notFound || exit === exitCodes.conflict;
