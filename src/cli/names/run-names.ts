/** What people call a run: its number in the team, the beginning of its id, `@latest`, or a number together with its agent. */
import { UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/shell.ts';
import { forPeople } from '../kit/audience.ts';
import { isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { type Argument, argument, optionalArgument, type PickExtras } from '../kit/flags.ts';

/** A run that was named on the command line, as text is understood before any service is asked. */
export type RunName =
  | { kind: 'id'; id: string }
  /** `@latest~back`: so many runs before the newest one. */
  | { kind: 'latest'; back: number }
  | { kind: 'number'; number: number; agent?: string }
  | { kind: 'prefix'; prefix: string };

/** Digits up to this length are a number; longer ones are the beginning of an id. */
const longestNumber = 7;
/** The shortest beginning of an id that is accepted: the first group of a UUID. */
const shortestPrefix = 8;

const idStart = new RegExp(`^[0-9a-f-]{${shortestPrefix},35}$`);
const numberForm = new RegExp(`^[1-9][0-9]{0,${longestNumber - 1}}$`);

/**
 * Understands the name of a run. One to seven digits are a number, and so is anything behind `#`; eight or more characters of a UUID
 * are the beginning of an id. No text can be both.
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

const runForms = `Give its number (17), its id or the first ${shortestPrefix} characters of it, or @latest or @latest~1.`;

/** What is known of a run without asking again. */
export interface NamedRun {
  readonly id: string;
  /** Its number in the team, where the service tells it. */
  readonly run_number?: number | null | undefined;
}

/** In a sentence: `#17`, or the id where there is no number. */
export const runTitle = ({ id, run_number }: NamedRun): string => (run_number ? `#${run_number}` : id);

/**
 * In a command or a list: `17`, or the id where there is no number that would be understood. A `#` would begin a comment in a shell, and
 * an id that a service made up is quoted, so that a command that is pasted does nothing else.
 */
export const runWord = ({ id, run_number }: NamedRun): string => (numberForm.test(String(run_number)) ? String(run_number) : shellWord(id));

/**
 * The run as messages may call it here: by its number for a person at a terminal. Scripts and logs get the id, which is the same in
 * every team and profile.
 */
export const runForHere = (context: Context, run: NamedRun): NamedRun =>
  forPeople(context) && context.terminal.err.isTTY ? run : { id: run.id };

const runSummary = 'The run: its number, its id, or @latest';

/** The run that a command is for. */
export const runArgument: Argument<string> = argument(runSummary, { complete: 'runs' });

/** The same for commands that only some runs are of use to. */
export const pickedRunArgument = (pick: PickExtras): Argument<string> => argument(runSummary, { complete: 'runs', pick });

/** A run that may be left out. @param rest what its summary says beside */
export const optionalRunArgument = (rest = '', pick?: PickExtras): Argument<string | undefined> =>
  optionalArgument(`${runSummary}${rest}`, { complete: 'runs', ...(pick && { pick }) });
