/** Makes a case of every row of a file: in batches, each with a key of its own, so that it can be interrupted and run again. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crypto } from '../../../base/crypto.ts';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { takeLock } from '../../../base/lock-file.ts';
import { writeFailure } from '../../../base/write-failure.ts';
import { readBytes } from '../../../cli/input/body.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { repeatHint, ServiceAnswerError } from '../../../client/errors.ts';
import { credentialName } from '../../../config/credential.ts';
import { startSpinner } from '../../../terminal/progress.ts';
import { type Draft, type Drafting, makeDrafts } from './drafts.ts';
import { type Done, Ledger } from './ledger.ts';
import { type FailedRow, type Rows, readRows, writeRows } from './rows.ts';

export interface Imported {
  file: string;
  queue_id: string;
  rows: number;
  /** Now, and by earlier runs of the same import. */
  created: number;
  created_before: number;
  failed: number;
  failed_file: string | null;
  ledger: string;
}

/** Cases of a batch, and bytes: the service takes 100 cases and 1 MiB. */
const batchLength = 100;
const batchBytes = 512 * 1024;
const largestCase = 1_000_000;

/**
 * Creates the cases that are not there yet.
 * @throws ResultError `rows_failed` (exit 2) when rows were left out; their file says why
 */
export async function importCases(context: Context, given: { file: string; queueId: string; drafting: Drafting }): Promise<Imported> {
  if (given.file === '-') throw new UsageError('--from takes a file, not standard input: what was done is remembered next to it.');
  if (context.flags.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not go with --from: every batch has a key of its own.');
  const bytes = await readBytes(context, given.file);
  const rows = readRows(bytes, given.file);
  const { drafts, failed } = makeDrafts(rows, given.drafting, given.file);
  const batches = batchesOf(drafts, failed);
  const file = path.resolve(context.cwd, given.file);
  const unlock = context.flags.dryRun ? () => undefined : await locked(context, file, given.file);
  try {
    const client = await context.client();
    const ledger = await Ledger.open(`${file}.aops-ledger`, {
      aops: 'cases',
      version: 1,
      id: crypto().randomUUID(),
      queue_id: given.queueId,
      base_url: client.baseUrl,
      content: digest(bytes),
      reading: digest(JSON.stringify(given.drafting)),
    });
    const outcome = await sendAll(context, ledger, batches, drafts.length);
    return await concluded(given, rows, [...failed, ...outcome.failed], { ...outcome, file, ledger: `${given.file}.aops-ledger` });
  } finally {
    unlock();
  }
}

async function locked(context: Context, file: string, name: string): Promise<() => void> {
  const lock = `${file}.aops-lock`;
  const unlock = await takeLock(lock, { waitMilliseconds: 0, signal: context.signal }).catch((error: unknown) => {
    throw writeFailure(error, lock);
  });
  if (unlock !== undefined) return unlock;
  throw new AopsError(`Another process is importing ${name}.`, {
    code: 'import_running',
    exit: exitCodes.conflict,
    hint: 'Let it end, then run this again.',
  });
}

/** The same file always makes the same batches: their numbers are part of their keys. */
function batchesOf(drafts: readonly Draft[], failed: FailedRow[]): Draft[][] {
  const batches: Draft[][] = [];
  let room = 0;
  for (const draft of drafts) {
    const size = Buffer.byteLength(JSON.stringify(draft.draft));
    if (size > largestCase) {
      failed.push({ row: draft.row, reason: `the case has ${size} bytes, and ${largestCase} are the most` });
      continue;
    }
    const last = batches.at(-1);
    if (last === undefined || last.length >= batchLength || size > room) {
      batches.push([draft]);
      room = batchBytes - size;
    } else {
      last.push(draft);
      room -= size;
    }
  }
  return batches;
}

async function sendAll(context: Context, ledger: Ledger, batches: readonly Draft[][], total: number): Promise<Done & { before: number }> {
  const all = { created: 0, before: 0, failed: [] as FailedRow[] };
  const spinner = startSpinner(context.terminal, 'Creating cases', context.clock);
  try {
    for (const [index, batch] of batches.entries()) {
      const number = index + 1;
      const earlier = ledger.done(number);
      if (earlier !== undefined) {
        all.before += earlier.created;
        all.failed.push(...earlier.failed);
        continue;
      }
      spinner.update(`Creating cases: ${all.before + all.created} of ${total}`);
      if (!context.flags.dryRun) await ledger.begin(number, context.clock.now(), credentialName(context.config().credential));
      const done = await sendBatch(context, ledger, number, batch);
      await ledger.finish(number, done);
      all.created += done.created;
      all.failed.push(...done.failed);
    }
    return all;
  } catch (error) {
    if (!context.flags.dryRun && all.created > 0)
      context.terminal.note(`Created ${all.created} cases; run the same command again to go on.`);
    throw toldToGoOn(error);
  } finally {
    spinner.stop();
  }
}

/** A batch whose outcome is unknown is not settled like one change: the import does it by itself, with the key that the batch had. */
function toldToGoOn(error: unknown): unknown {
  if (!(error instanceof AopsError) || error.hint !== repeatHint(error.details.idempotency_key)) return error;
  const { message, code, exit, details } = error;
  const hint = 'Run the same command again: it sends that batch again with the key that it had, and goes on.';
  return new AopsError(message, { code, exit, hint, details, cause: error });
}

/** A batch is taken as a whole or not at all: one that is refused is sent row by row, to learn which rows are at fault. */
async function sendBatch(context: Context, ledger: Ledger, number: number, batch: readonly Draft[]): Promise<Done> {
  const client = await context.client();
  const params = { queue_id: ledger.head.queue_id };
  try {
    const cases = batch.map(({ draft }) => draft);
    const { added_cases } = await client.call('createCases', { params, body: { cases } }, { keys: ledger.key(number) });
    return { created: added_cases.length, failed: [] };
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const done: Done = { created: 0, failed: [] };
  for (const { row, draft } of batch) {
    try {
      await client.call('createCases', { params, body: { case: draft } }, { keys: ledger.key(number, row) });
      done.created += 1;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      done.failed.push({ row, reason: (error as Error).message });
    }
  }
  return done;
}

/** Whether the service found fault with the cases, not with the caller or the moment. */
const isRefusal = (error: unknown): boolean => error instanceof ServiceAnswerError && [400, 413, 422].includes(error.status);

async function concluded(
  given: { file: string; queueId: string },
  rows: Rows,
  failed: FailedRow[],
  outcome: { created: number; before: number; file: string; ledger: string },
): Promise<Imported> {
  const { dir, name, ext } = path.parse(given.file);
  const failedFile = path.join(dir, `${name}.failed${ext}`);
  const imported: Imported = {
    file: given.file,
    queue_id: given.queueId,
    rows: rows.rows.length,
    created: outcome.created,
    created_before: outcome.before,
    failed: failed.length,
    failed_file: failed.length === 0 ? null : failedFile,
    ledger: outcome.ledger,
  };
  if (failed.length === 0) return imported;
  const sorted = failed.toSorted((a, b) => a.row - b.row);
  const place = path.join(path.dirname(outcome.file), `${name}.failed${ext}`);
  await writeFile(place, writeRows(rows, sorted), { mode: 0o600 }).catch((error: unknown) => {
    throw writeFailure(error, place);
  });
  const [first] = sorted as [FailedRow];
  const others = failed.length > 1 ? `; ${failed.length - 1} more` : '';
  const skipped = failed.length === 1 ? '1 row was skipped' : `${failed.length} rows were skipped`;
  const message = `${skipped} (row ${first.row}: ${first.reason.replace(/\.$/, '')}${others}).`;
  throw new ResultError(
    new AopsError(message, {
      code: 'rows_failed',
      exit: exitCodes.usage,
      hint: `Correct the rows in ${failedFile}, then give it with --from.`,
    }),
    imported,
  );
}

const digest = (content: string | Uint8Array): string => crypto().createHash('sha256').update(content).digest('hex');
