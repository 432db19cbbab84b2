/**
 * The outcome of each part of bulk work, such as a batch or a row, recorded in a file: one line before it is sent and one when its
 * outcome is known. A second command continues from there; a part without a response is sent again with the same key.
 */
import { readFile } from 'node:fs/promises';
import { capitalize } from '../../base/capitalize.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/values.ts';
import { journalLifeMilliseconds } from '../../client/journal.ts';
import { AppendFile } from './append-file.ts';

/** Identifies the work: if any field except `id` differs, it is other work. */
export interface LedgerHead {
  /** The kind of work, such as `cases`. */
  aops: string;
  version: 1;
  /** Part of all keys. */
  id: string;
  base_url: string;
  /** SHA-256 of the input, and of the options for reading it. */
  content: string;
  reading: string;
}

/** How one kind of work uses the ledger. */
export interface LedgerRules<Head extends LedgerHead> {
  /** The member of a line with the number of its part: `batch` or `row`. */
  unit: string;
  /** What the command is called in messages: `import`. */
  work: string;
  /** What each part creates, as part of a sentence: `its cases`. */
  effects: string;
  /** Fields of the head that must be equal, and how to report a difference. */
  differences: readonly (readonly [field: keyof Head & string, text: string])[];
  /** What happens when a user removes the ledger to start over. */
  startOver: string;
  /** The code of the error about a part whose outcome can no longer be found out, and what to do about it. */
  unknown: { code: string; hint: (part: number, file: string) => string };
  /** Members of a result that its line may lack. */
  defaults?: object;
}

type Line = Record<string, unknown>;

/** The line that was written before a part was sent. */
interface Start {
  at: string;
  by: string | undefined;
  line: Line;
}

/** @typeParam Result the members of the line with the outcome of a part */
export class Ledger<Head extends LedgerHead, Result extends object> {
  readonly file: string;
  readonly head: Head;
  readonly #rules: LedgerRules<Head>;
  readonly #lines: AppendFile;
  readonly #results = new Map<number, Result>();
  readonly #starts = new Map<number, Start>();
  readonly #refusals = new Map<number, number>();

  private constructor(file: string, head: Head, rules: LedgerRules<Head>, lines: readonly Line[], prefix: string) {
    this.file = file;
    this.head = head;
    this.#rules = rules;
    this.#lines = new AppendFile(file, prefix);
    for (const line of lines) this.#read(line);
  }

  #read(line: Line): void {
    const { [this.#rules.unit]: part, ...members } = line;
    if (typeof part !== 'number') return;
    if (typeof members.begun === 'string')
      this.#starts.set(part, { at: members.begun, by: members.by === undefined ? undefined : String(members.by), line: members });
    else if (members.refused !== undefined) this.#noteRefusal(part);
    else this.#results.set(part, { ...this.#rules.defaults, ...members } as Result);
  }

  /**
   * Opens the ledger, or prepares a new one that is written with its first part.
   * @throws UsageError when the file belongs to something else
   */
  static async open<Head extends LedgerHead, Result extends object>(
    file: string,
    head: Head,
    rules: LedgerRules<Head>,
  ): Promise<Ledger<Head, Result>> {
    const text = await readLedger(file);
    // A process that was killed before it wrote the first line had sent nothing.
    if (text === undefined || text === '') return new Ledger(file, head, rules, [], `${JSON.stringify(head)}\n`);
    const [first, ...lines] = objectsOf(text);
    const storedHead = first as Partial<Head> | undefined;
    if (storedHead?.aops !== head.aops || storedHead.version !== 1)
      throw new UsageError(`${file} is not a ledger of aops.`, `Move this file elsewhere: the ${rules.work} needs its name.`);
    for (const [field, difference] of rules.differences) {
      if (storedHead[field] === head[field]) continue;
      const place = field === 'base_url' ? `was sent to ${storedHead.base_url}, but this profile uses ${head.base_url}` : difference;
      throw new UsageError(`The ${rules.work} recorded in ${file} ${place}.`, rules.startOver);
    }
    return new Ledger(file, storedHead as Head, rules, lines, text.endsWith('\n') ? '' : '\n');
  }

  resultOf(part: number): Result | undefined {
    return this.#results.get(part);
  }

  /** The line that was written before the part was sent, if its outcome is unknown. */
  startOf(part: number): Line | undefined {
    return this.#results.has(part) ? undefined : this.#starts.get(part)?.line;
  }

  /** The number of times that the service refused the part: each time, nothing was carried out and the next attempt needs another key. */
  refusalsOf(part: number): number {
    return this.#refusals.get(part) ?? 0;
  }

  /**
   * Records that a part is about to be sent, unless it was sent before.
   * @param credential the masked credential that it is sent with
   * @param members what else a later command must know to send the same request again
   * @throws AopsError when the part was sent before and its key may have expired or belongs to another credential
   */
  async begin(part: number, now: number, credential: string, members: object = {}): Promise<void> {
    const start = this.#starts.get(part);
    if (start === undefined) {
      const line = { begun: new Date(now).toISOString(), by: credential, ...members };
      this.#starts.set(part, { at: line.begun, by: credential, line });
      return this.#append({ [this.#rules.unit]: part, ...line });
    }
    if (now - Date.parse(start.at) > journalLifeMilliseconds) throw this.unknownOutcome(part, `at ${start.at}`);
    if (start.by !== undefined && start.by !== credential) {
      throw this.unknownOutcome(
        part,
        `with the credential ${start.by}`,
        'Run this again with that credential, because keys belong to a credential. If you no longer have it: ',
      );
    }
  }

  /** @param sent when or how it was sent, as part of a sentence */
  unknownOutcome(part: number, sent: string, first = ''): AopsError {
    const { unit, effects, unknown } = this.#rules;
    const name = `${capitalize(unit)} ${part}`;
    return new AopsError(`${name} was sent ${sent} without a response: ${effects} may or may not exist.`, {
      code: unknown.code,
      exit: exitCodes.outcomeUnknown,
      hint: `${first}${unknown.hint(part, this.file)}`,
    });
  }

  async finish(part: number, result: Result): Promise<void> {
    this.#results.set(part, result);
    await this.#append({ [this.#rules.unit]: part, ...result });
  }

  /** Records that the service refused the part for a reason outside of it, so that it can be sent again under a new key. */
  async refuse(part: number, reason: string): Promise<void> {
    this.#noteRefusal(part);
    await this.#append({ [this.#rules.unit]: part, refused: reason });
  }

  #noteRefusal(part: number): void {
    this.#starts.delete(part);
    this.#refusals.set(part, this.refusalsOf(part) + 1);
  }

  async #append(line: Line): Promise<void> {
    await this.#lines.append(line).catch((error: Error) => {
      throw new UsageError(`${this.file} cannot be written: ${error.message}`, 'Progress is recorded there; nothing is sent without it.');
    });
  }
}

/** The head of a ledger, to continue work whose parts are recorded there; undefined if nothing has been recorded. */
export async function readHead(file: string): Promise<Record<string, unknown> | undefined> {
  return objectsOf((await readLedger(file)) ?? '')[0];
}

async function readLedger(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
}

/** The objects on the lines of a ledger, without the line that a process was writing when it was killed. */
const objectsOf = (text: string): Line[] =>
  text.split('\n').flatMap((line): Line[] => {
    try {
      const value = JSON.parse(line) as unknown;
      return isObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
