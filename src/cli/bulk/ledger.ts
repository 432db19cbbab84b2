/**
 * The outcome of each batch of a file, recorded in a file next to it: one line before a batch is sent and one when it is done.
 * A second import continues from there; a batch without a response is sent again with the same key.
 */
import { appendFile, readFile } from 'node:fs/promises';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { journalLifeMilliseconds } from '../../client/journal.ts';
import type { FailedRow } from './rows.ts';

/** Identifies the batches: if any of these fields differs, the batches differ. */
export interface LedgerHead {
  aops: 'cases';
  version: 1;
  /** The prefix of the keys of all batches. */
  id: string;
  queue_id: string;
  base_url: string;
  /** SHA-256 of the file, and of the options for reading it. */
  content: string;
  reading: string;
}

interface Line {
  batch: number;
  begun?: string;
  /** The masked credential that it was sent with: a service has separate keys for each credential. */
  by?: string;
  created?: number;
  failed?: FailedRow[];
}

export interface BatchResult {
  created: number;
  failed: FailedRow[];
}

export class Ledger {
  readonly file: string;
  readonly head: LedgerHead;
  readonly #results: Map<number, BatchResult>;
  readonly #starts: Map<number, { at: string; by: string | undefined }>;
  /** Precedes the next line: the head of a new ledger, or the end of a line that was cut off. */
  #prefix: string;

  private constructor(file: string, head: LedgerHead, lines: readonly Line[], prefix: string) {
    this.file = file;
    this.head = head;
    this.#results = new Map(
      lines.flatMap(({ batch, created, failed }) => (created === undefined ? [] : [[batch, { created, failed: failed ?? [] }]])),
    );
    this.#starts = new Map(lines.flatMap(({ batch, begun, by }) => (begun === undefined ? [] : [[batch, { at: begun, by }]])));
    this.#prefix = prefix;
  }

  /**
   * Opens the ledger, or prepares a new one that is written with its first batch.
   * @throws UsageError when the file belongs to something else
   */
  static async open(file: string, head: LedgerHead): Promise<Ledger> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new UsageError(`${file} cannot be read: ${error.message}`);
    });
    // A process that was killed before it wrote the first line had sent nothing.
    if (text === undefined || text === '') return new Ledger(file, head, [], `${JSON.stringify(head)}\n`);
    const [first, ...lines] = text.split('\n').flatMap((line): unknown[] => {
      try {
        return [JSON.parse(line) as unknown];
      } catch {
        // An empty line, or the last one of a process that was killed while writing.
        return [];
      }
    });
    const storedHead = first as Partial<LedgerHead> | undefined;
    if (storedHead?.aops !== 'cases' || storedHead.version !== 1)
      throw new UsageError(`${file} is not a ledger of aops.`, 'Move this file elsewhere: the import needs its name.');
    const difference =
      storedHead.queue_id !== head.queue_id
        ? 'was for another queue'
        : storedHead.base_url !== head.base_url
          ? `was sent to ${storedHead.base_url}, but this profile uses ${head.base_url}`
          : storedHead.content !== head.content
            ? 'was made before the file changed'
            : storedHead.reading !== head.reading
              ? 'used a different --map, --label or --priority'
              : undefined;
    if (difference !== undefined)
      throw new UsageError(
        `The import recorded in ${file} ${difference}.`,
        'Remove that file to start over: every row becomes a case again.',
      );
    return new Ledger(file, storedHead as LedgerHead, lines as Line[], text.endsWith('\n') ? '' : '\n');
  }

  key(batch: number, row?: number): { key: string; commandKey: string } {
    const key = `aops-cases-${this.head.id}-${batch}${row === undefined ? '' : `-${row}`}`;
    return { key, commandKey: key };
  }

  resultOf(batch: number): BatchResult | undefined {
    return this.#results.get(batch);
  }

  /**
   * @param credential the masked credential that it is sent with
   * @throws AopsError when the batch was sent before and its key may have expired or belongs to another credential
   */
  async begin(batch: number, now: number, credential: string): Promise<void> {
    const start = this.#starts.get(batch);
    if (start === undefined) {
      const begun = new Date(now).toISOString();
      this.#starts.set(batch, { at: begun, by: credential });
      return this.#append({ batch, begun, by: credential });
    }
    if (now - Date.parse(start.at) > journalLifeMilliseconds) throw this.#unknownOutcome(batch, `at ${start.at}`);
    if (start.by !== undefined && start.by !== credential) {
      throw this.#unknownOutcome(
        batch,
        `with the credential ${start.by}`,
        'Run this again with that credential, because keys belong to a credential. If you no longer have it: ',
      );
    }
  }

  #unknownOutcome(batch: number, sent: string, first = ''): AopsError {
    return new AopsError(`Batch ${batch} was sent ${sent} without a response: its cases may or may not exist.`, {
      code: 'import_outcome_unknown',
      exit: exitCodes.outcomeUnknown,
      hint: `${first}Search for them with \`aops cases search\`. To send the batch again, remove the line {"batch":${batch},"begun":...} from ${this.file}; to skip it, replace the line with {"batch":${batch},"created":0}.`,
    });
  }

  async finish(batch: number, result: BatchResult): Promise<void> {
    this.#results.set(batch, result);
    await this.#append({ batch, ...result });
  }

  async #append(line: Line): Promise<void> {
    await appendFile(this.file, `${this.#prefix}${JSON.stringify(line)}\n`, { mode: 0o600 }).catch((error: Error) => {
      throw new UsageError(`${this.file} cannot be written: ${error.message}`, 'Progress is recorded there; nothing is sent without it.');
    });
    this.#prefix = '';
  }
}
