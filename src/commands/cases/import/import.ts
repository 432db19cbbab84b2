/** Creates a case for every row of a file, in batches with their own idempotency keys, so that an import can be interrupted and continued. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crypto } from '../../../base/crypto.ts';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { writeFailure } from '../../../base/write-failure.ts';
import { lockWork } from '../../../cli/bulk/lock.ts';
import { type FailedRow, type Rows, readRows, writeRows } from '../../../cli/bulk/rows.ts';
import { readBytes } from '../../../cli/input/body.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { OpenChangeError, ServiceAnswerError } from '../../../client/errors.ts';
import { credentialName } from '../../../config/credential.ts';
import { startSpinner } from '../../../terminal/progress.ts';
import { type BatchResult, batchKeys, type CaseLedger, openCaseLedger } from './case-ledger.ts';
import { type Draft, type DraftOptions, makeDrafts } from './drafts.ts';

export interface ImportSummary {
  file: string;
  queue_id: string;
  rows: number;
  /** By this command; `created_before` counts the cases of earlier attempts. */
  created: number;
  created_before: number;
  failed: number;
  failed_file: string | null;
  ledger: string;
}

/** Limits of a batch in cases and bytes: the service accepts 100 cases and 1 MiB. */
const batchLength = 100;
const batchBytes = 512 * 1024;
const maxCaseBytes = 1_000_000;

/**
 * Creates the cases that have not been created yet.
 * @throws ResultError `rows_failed` (exit 2) when rows were skipped; the file of failed rows contains the reasons
 */
export async function importCases(
  context: Context,
  request: { file: string; queueId: string; drafting: DraftOptions },
): Promise<ImportSummary> {
  if (request.file === '-')
    throw new UsageError('--from needs a file and cannot read standard input, because progress is recorded next to the file.');
  if (context.flags.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key cannot be combined with --from: every batch has its own key.');
  const bytes = await readBytes(context, request.file);
  const rows = readRows(bytes, request.file);
  const { drafts, failedRows } = makeDrafts(rows, request.drafting, request.file);
  const batches = batchesOf(drafts, failedRows);
  const file = path.resolve(context.cwd, request.file);
  const unlock = context.flags.dryRun
    ? () => undefined
    : await lockWork(context, `${file}.aops-lock`, { activity: `importing ${request.file}`, code: 'import_running' });
  try {
    const client = await context.client();
    const ledger = await openCaseLedger(`${file}.aops-ledger`, {
      aops: 'cases',
      version: 1,
      id: crypto().randomUUID(),
      queue_id: request.queueId,
      base_url: client.baseUrl,
      content: digest(bytes),
      reading: digest(JSON.stringify(request.drafting)),
    });
    const outcome = await sendAll(context, ledger, batches, drafts.length);
    return await summarize(request, rows, [...failedRows, ...outcome.failed], { ...outcome, file, ledger: `${request.file}.aops-ledger` });
  } finally {
    unlock();
  }
}

/** The same file always results in the same batches, because their numbers are part of their keys. */
function batchesOf(drafts: readonly Draft[], failedRows: FailedRow[]): Draft[][] {
  const batches: Draft[][] = [];
  let bytesLeft = 0;
  for (const draft of drafts) {
    const size = Buffer.byteLength(JSON.stringify(draft.draft));
    if (size > maxCaseBytes) {
      failedRows.push({ row: draft.row, reason: `the case has ${size} bytes; at most ${maxCaseBytes} are allowed` });
      continue;
    }
    const lastBatch = batches.at(-1);
    if (lastBatch === undefined || lastBatch.length >= batchLength || size > bytesLeft) {
      batches.push([draft]);
      bytesLeft = batchBytes - size;
    } else {
      lastBatch.push(draft);
      bytesLeft -= size;
    }
  }
  return batches;
}

async function sendAll(
  context: Context,
  ledger: CaseLedger,
  batches: readonly Draft[][],
  total: number,
): Promise<BatchResult & { createdBefore: number }> {
  const totals = { created: 0, createdBefore: 0, failed: [] as FailedRow[] };
  const spinner = startSpinner(context.terminal, 'Creating cases', context.clock);
  try {
    for (const [index, batch] of batches.entries()) {
      const number = index + 1;
      const previousResult = ledger.resultOf(number);
      if (previousResult !== undefined) {
        totals.createdBefore += previousResult.created;
        totals.failed.push(...previousResult.failed);
        continue;
      }
      spinner.update(`Creating cases: ${totals.createdBefore + totals.created} of ${total}`);
      if (!context.flags.dryRun) await ledger.begin(number, context.clock.now(), credentialName(context.config().credential));
      const result = await sendBatch(context, ledger, number, batch);
      await ledger.finish(number, result);
      totals.created += result.created;
      totals.failed.push(...result.failed);
    }
    return totals;
  } catch (error) {
    if (!context.flags.dryRun && totals.created > 0)
      context.terminal.note(`Created ${pluralize(totals.created, 'case')}. Run the same command again to continue.`);
    throw withRepeatHint(error);
  } finally {
    spinner.stop();
  }
}

/** A batch whose outcome is unknown is not settled with `aops retry`: the import sends it again itself, with the same key. */
function withRepeatHint(error: unknown): unknown {
  if (!(error instanceof OpenChangeError)) return error;
  const { message, code, exit, details } = error;
  const hint = 'Run the same command again: it repeats that batch with the same key and continues.';
  return new AopsError(message, { code, exit, hint, details, cause: error });
}

/** The service accepts a batch as a whole or not at all. A rejected batch is sent row by row to find the invalid rows. */
async function sendBatch(context: Context, ledger: CaseLedger, number: number, batch: readonly Draft[]): Promise<BatchResult> {
  const client = await context.client();
  const params = { queue_id: ledger.head.queue_id };
  try {
    const cases = batch.map(({ draft }) => draft);
    const { added_cases } = await client.call('createCases', { params, body: { cases } }, { keys: batchKeys(ledger, number) });
    return { created: added_cases.length, failed: [] };
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const result: BatchResult = { created: 0, failed: [] };
  for (const { row, draft } of batch) {
    try {
      await client.call('createCases', { params, body: { case: draft } }, { keys: batchKeys(ledger, number, row) });
      result.created += 1;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      result.failed.push({ row, reason: (error as Error).message });
    }
  }
  return result;
}

/** Whether the service rejected the cases themselves, rather than the caller or the time. */
const isRefusal = (error: unknown): boolean => error instanceof ServiceAnswerError && [400, 413, 422].includes(error.status);

async function summarize(
  request: { file: string; queueId: string },
  rows: Rows,
  failedRows: FailedRow[],
  outcome: { created: number; createdBefore: number; file: string; ledger: string },
): Promise<ImportSummary> {
  const { dir, name, ext } = path.parse(request.file);
  const failedFile = path.join(dir, `${name}.failed${ext}`);
  const summary: ImportSummary = {
    file: request.file,
    queue_id: request.queueId,
    rows: rows.rows.length,
    created: outcome.created,
    created_before: outcome.createdBefore,
    failed: failedRows.length,
    failed_file: failedRows.length === 0 ? null : failedFile,
    ledger: outcome.ledger,
  };
  if (failedRows.length === 0) return summary;
  const sortedFailures = failedRows.toSorted((a, b) => a.row - b.row);
  const place = path.join(path.dirname(outcome.file), `${name}.failed${ext}`);
  await writeFile(place, writeRows(rows, sortedFailures), { mode: 0o600 }).catch((error: unknown) => {
    throw writeFailure(error, place);
  });
  const [first] = sortedFailures as [FailedRow];
  const more = failedRows.length > 1 ? `; ${failedRows.length - 1} more` : '';
  const skippedText = pluralize(failedRows.length, 'row was skipped', 'rows were skipped');
  const message = `${skippedText} (row ${first.row}: ${first.reason.replace(/\.$/, '')}${more}).`;
  throw new ResultError(
    new AopsError(message, {
      code: 'rows_failed',
      exit: exitCodes.usage,
      hint: `Correct the rows in ${failedFile}, then import it with --from.`,
    }),
    summary,
  );
}

const digest = (content: string | Uint8Array): string => crypto().createHash('sha256').update(content).digest('hex');
