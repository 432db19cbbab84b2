/** The journal of this user's changes; see `aops retry`. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { ChangeJournal, type JournalEntry } from '../../client/journal.ts';
import { credentialName } from '../../config/credential.ts';
import type { Context } from '../kit/context.ts';

const journalFor = ({ paths, clock }: Pick<Context, 'paths' | 'clock'>, credential: string): ChangeJournal =>
  new ChangeJournal(`${paths.data}/journal`, clock, credential);

/** The journal in which the changes of this command are noted. */
export const journalOf = (context: Pick<Context, 'paths' | 'clock' | 'config'>): ChangeJournal =>
  journalFor(context, credentialName(context.config().credential));

/** The changes whose outcome is unknown, for all services and credentials. Does not read the configuration, which may be broken. */
export const openChanges = (context: Pick<Context, 'paths' | 'clock'>): Promise<JournalEntry[]> => journalFor(context, '').list();

/** Whether a change was sent to this service with this credential: for others, the same key means another change. */
export const isOwn = (entry: JournalEntry, baseUrl: string | undefined, credential: string): boolean =>
  entry.base_url === baseUrl && (entry.credential ?? credential) === credential;

/**
 * The error of a command that was repeated with its key. It may have encountered the effects of its own earlier change, such as an
 * agent that it deleted: while that change is open, the outcome is unknown, rather than that the command was refused.
 */
export async function unlessOwnChangeIsOpen(context: Context, error: unknown): Promise<unknown> {
  const key = context.flags.idempotencyKey;
  if (key === undefined || !(error instanceof AopsError) || !isRefusal(error)) return error;
  const { base_url, credential } = context.config();
  const entries = (await openChanges(context)).filter((entry) => isOwn(entry, base_url.value, credentialName(credential)));
  if (!entries.some(({ command_key }) => command_key === key)) return error;
  return new AopsError(
    `The outcome is unknown: an earlier change with this key may have been carried out. The error now: ${error.message}`,
    {
      code: 'outcome_unknown',
      exit: exitCodes.outcomeUnknown,
      hint: `Settle it with \`aops retry ${key}\`.`,
      details: { ...error.details, idempotency_key: key },
      cause: error,
    },
  );
}

/** Errors of commands that check before they send a change. */
const isRefusal = ({ exit }: AopsError): boolean => exit === exitCodes.notFound || exit === exitCodes.conflict;
