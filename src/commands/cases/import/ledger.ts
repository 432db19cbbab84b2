/**
 * What became of each batch of a file, in a file next to it, one line each: written before a batch is sent and when it is
 * done. A second run goes on from it; a batch whose answer never came is sent again with the key it had.
 */
import { appendFile, readFile } from 'node:fs/promises';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { journalLifeMilliseconds } from '../../../client/journal.ts';
import type { FailedRow } from './rows.ts';

/** What the batches are made of: where one of these differs, they are not the same. */
export interface LedgerHead {
  aops: 'cases';
  version: 1;
  /** Begins the keys of all batches. */
  id: string;
  queue_id: string;
  base_url: string;
  /** SHA-256 of the file, and of how it is read. */
  content: string;
  reading: string;
}

interface Line {
  batch: number;
  begun?: string;
  /** The credential it was sent with, as it may be shown: a service keeps keys apart by it. */
  by?: string;
  created?: number;
  failed?: FailedRow[];
}

export interface Done {
  created: number;
  failed: FailedRow[];
}

export class Ledger {
  readonly file: string;
  readonly head: LedgerHead;
  readonly #done: Map<number, Done>;
  readonly #begun: Map<number, { at: string; by: string | undefined }>;
  readonly #isNew: boolean;

  private constructor(file: string, head: LedgerHead, lines: readonly Line[], isNew: boolean) {
    this.file = file;
    this.head = head;
    this.#done = new Map(
      lines.flatMap(({ batch, created, failed }) => (created === undefined ? [] : [[batch, { created, failed: failed ?? [] }]])),
    );
    this.#begun = new Map(lines.flatMap(({ batch, begun, by }) => (begun === undefined ? [] : [[batch, { at: begun, by }]])));
    this.#isNew = isNew;
  }

  /**
   * Opens the ledger, or makes up a new one, which is written with its first batch.
   * @throws UsageError when there is one of something else
   */
  static async open(file: string, head: LedgerHead): Promise<Ledger> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new UsageError(`${file} cannot be read: ${error.message}`);
    });
    if (text === undefined) return new Ledger(file, head, [], true);
    const [first, ...lines] = text.split('\n').flatMap((line): unknown[] => {
      try {
        return line === '' ? [] : [JSON.parse(line) as unknown];
      } catch {
        // The last line of a process that was killed while it wrote.
        return [];
      }
    });
    const known = first as Partial<LedgerHead> | undefined;
    if (known?.aops !== 'cases' || known.version !== 1) throw new UsageError(`${file} is no ledger of aops.`, 'It is in the way; move it.');
    const changed =
      known.queue_id !== head.queue_id
        ? 'was for another queue'
        : known.base_url !== head.base_url
          ? `was sent to ${known.base_url}, and this profile is for ${head.base_url}`
          : known.content !== head.content
            ? 'was of the file as it was before it changed'
            : known.reading !== head.reading
              ? 'was with other --map, --label or --priority'
              : undefined;
    if (changed !== undefined)
      throw new UsageError(
        `The import that ${file} tells of ${changed}.`,
        'Remove that file to begin anew: every row becomes a case again.',
      );
    return new Ledger(file, known as LedgerHead, lines as Line[], false);
  }

  key(batch: number, row?: number): { key: string; commandKey: string } {
    const key = `aops-cases-${this.head.id}-${batch}${row === undefined ? '' : `-${row}`}`;
    return { key, commandKey: key };
  }

  done(batch: number): Done | undefined {
    return this.#done.get(batch);
  }

  /**
   * @param by the credential it is sent with, as it may be shown
   * @throws AopsError when the batch was sent before, and the service may not know its key any more, or not from this credential
   */
  async begin(batch: number, now: number, by: string): Promise<void> {
    const before = this.#begun.get(batch);
    if (before === undefined) return this.#append({ batch, begun: new Date(now).toISOString(), by });
    if (now - Date.parse(before.at) > journalLifeMilliseconds) throw this.#unknown(batch, `at ${before.at}`);
    if (before.by !== undefined && before.by !== by) {
      throw this.#unknown(batch, `with the credential ${before.by}`, 'Run this again with that credential: keys are its own. Without it: ');
    }
  }

  #unknown(batch: number, sent: string, first = ''): AopsError {
    return new AopsError(`Batch ${batch} was sent ${sent}, and its answer never came: its cases may be there, or not.`, {
      code: 'import_outcome_unknown',
      exit: exitCodes.outcomeUnknown,
      hint: `${first}Look for them with \`aops cases search\`. To send the batch again, remove the line {"batch":${batch},"begun":...} from ${this.file}; to leave it out, replace it by {"batch":${batch},"created":0}.`,
    });
  }

  async finish(batch: number, done: Done): Promise<void> {
    this.#done.set(batch, done);
    await this.#append({ batch, ...done });
  }

  async #append(line: Line): Promise<void> {
    const head = this.#isNew && this.#begun.size === 0 && line.begun !== undefined ? `${JSON.stringify(this.head)}\n` : '';
    if (line.begun !== undefined) this.#begun.set(line.batch, { at: line.begun, by: line.by });
    await appendFile(this.file, `${head}${JSON.stringify(line)}\n`, { mode: 0o600 }).catch((error: Error) => {
      throw new UsageError(
        `${this.file} cannot be written: ${error.message}`,
        'What was done is remembered there; without it nothing is sent.',
      );
    });
  }
}
