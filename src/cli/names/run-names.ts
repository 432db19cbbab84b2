/** The names of a run: its number in the team, the beginning of its ID, `@latest`, or a number together with its agent. */
import { UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/shell.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { forPeople } from '../kit/audience.ts';
import { isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { type Argument, anyArguments, argument, optionalArgument, type PickSettings, repeatedArgument } from '../kit/flags.ts';

/** The name of a run on the command line, parsed before any request is sent. */
export type RunName =
  | { kind: 'id'; id: string }
  /** `@latest~back`: this many runs before the newest one. */
  | { kind: 'latest'; back: number }
  | { kind: 'number'; number: number; agent?: string }
  | { kind: 'prefix'; prefix: string };

/** Up to this many digits are a number; more digits are the beginning of an ID. */
const maxNumberDigits = 7;
/** The shortest beginning of an ID that is accepted: the first group of a UUID. */
const minPrefixLength = 8;

const idStart = new RegExp(`^[0-9a-f-]{${minPrefixLength},35}$`);
const numberForm = new RegExp(`^[1-9][0-9]{0,${maxNumberDigits - 1}}$`);

/**
 * Parses the name of a run. One to seven digits are a number, and so are digits after `#`; eight or more characters of a UUID are
 * the beginning of an ID. No text can be both.
 * @throws UsageError for anything else
 */
export function parseRunName(text: string): RunName {
  if (isUuid(text)) return { kind: 'id', id: text.toLowerCase() };
  const latest = /^@latest(?:~(\d{1,9}))?$/.exec(text);
  if (latest) return { kind: 'latest', back: Number(latest[1] ?? 0) };
  const [, agent, digits] = /^(.*)#(\d{1,15})$/s.exec(text) ?? [];
  const number = Number(digits ?? (numberForm.test(text) ? text : Number.NaN));
  if (number >= 1) return { kind: 'number', number, ...(agent ? { agent } : {}) };
  const lower = text.toLowerCase();
  if (idStart.test(lower)) return { kind: 'prefix', prefix: lower };
  const hint = /^latest(~\d+)?$/.test(text) ? `Did you mean @${text}?` : runForms;
  throw new UsageError(`"${text}" does not name a run.`, hint);
}

const runForms = `Use its number (17), its ID or the first ${minPrefixLength} characters of the ID, @latest, or @latest~1.`;

/** A run as far as it can be named without another request. */
export interface NamedRun {
  readonly id: string;
  /** Its number in the team, if the service reports it. */
  readonly run_number?: number | null | undefined;
}

/** The run in a sentence: `#17`, or the ID if it has no number. It is safe to print, whatever the service has sent as its ID. */
export const runTitle = ({ id, run_number }: NamedRun): string => (Number(run_number) >= 1 ? `#${Number(run_number)}` : sanitizeLine(id));

/**
 * The run in a command or a list: `17`, or the ID if it has no valid number. A `#` would start a comment in a shell, and an ID that is
 * not plain is quoted, so that pasting the command is safe.
 */
export const runWord = ({ id, run_number }: NamedRun): string => (numberForm.test(String(run_number)) ? String(run_number) : shellWord(id));

/**
 * The run as named in messages here: by its number for a person at a terminal. Scripts and logs get the ID, which is the same in
 * every team and profile.
 */
export const runForHere = (context: Context, run: NamedRun): NamedRun =>
  forPeople(context) && context.terminal.err.isTTY ? run : { id: run.id };

const runSummary = 'The run: its number, its ID, or @latest';

/** The argument for the run of a command. */
export const runArgument: Argument<string> = argument(runSummary, { complete: 'runs' });

const runsSummary = 'The runs: their numbers, their IDs, or @latest';

/** One or more runs. */
export const runsArgument = (pick?: PickSettings): Argument<string[]> => repeatedArgument(runsSummary, { complete: 'runs', pick });

/** Any number of runs, for commands with other ways to select them. */
export const anyRunsArgument = (pick: PickSettings): Argument<string[]> => anyArguments(runsSummary, { complete: 'runs', pick });

/** An optional run. @param rest text to append to the summary */
export const optionalRunArgument = (rest = '', pick?: PickSettings): Argument<string | undefined> =>
  optionalArgument(`${runSummary}${rest}`, { complete: 'runs', pick });
