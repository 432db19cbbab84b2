/** `runs start --from`: a run for every row of a file. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { writeFailure } from '../../../base/write-failure.ts';
import { bulkFolder } from '../../../cli/bulk/data-folder.ts';
import { lockWork } from '../../../cli/bulk/lock.ts';
import { type FailedRow, type RowFormat, type Rows, readRows, writeRows } from '../../../cli/bulk/rows.ts';
import { contractNames } from '../../../cli/connect/service-contract.ts';
import { readBytes, readContent } from '../../../cli/input/body.ts';
import { length } from '../../../cli/kit/checks.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { RowList } from '../../../cli/kit/list.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import { collectFiles, uploadFiles } from '../../../cli/transfers/upload-paths.ts';
import { repositoriesNotOffered, repositorySource } from '../repository-source.ts';
import { BulkStart, type PlannedStart, type StartedRow } from './bulk-start.ts';
import { type PlannedRow, planRows } from './plan.ts';
import { digest, openRunLedger, type RunLedger } from './run-ledger.ts';

export interface FromFileInput {
  from: string;
  fromFormat: RowFormat | undefined;
  agent: string | undefined;
  message: string | undefined;
  upload: string[];
  repo: string | undefined;
  webhookUrl: string | undefined;
  concurrency: number | undefined;
  failed: string | undefined;
  ledger: string | undefined;
}

export interface StartSummary {
  file: string;
  rows: number;
  /** By this command; `started_before` counts the runs that earlier commands started. */
  started: number;
  started_before: number;
  failed: number;
  failed_file: string | null;
  /** Null when it was removed, because the input was standard input and every row has an outcome. */
  ledger: string | null;
  runs: StartedRow[];
}

const defaultConcurrency = 4;

/**
 * Starts the runs that have not been started yet. With `-o ndjson` and `-o id`, the runs are printed as they start.
 * @throws AopsError `rows_failed` (exit 2) when rows were rejected; the file of failed rows contains the reasons
 */
export async function startFromFile(context: Context, input: FromFileInput): Promise<RowList<StartedRow> | StartSummary> {
  const work = await openWork(context, input);
  if (context.flags.dryRun) return work.showPlan();
  if ((context.format === 'ndjson' || context.format === 'id') && context.flags.jq === undefined)
    return new RowList(() => work.stream(), Number.MAX_SAFE_INTEGER, 0);
  return work.finish();
}

async function openWork(context: Context, input: FromFileInput): Promise<Work> {
  if (input.from === '-' && (input.message === '-' || input.message === '@-'))
    throw new UsageError('--from and --message cannot both read standard input.', 'Write the message to a file: --message @FILE.');
  const bytes = await readBytes(context, input.from);
  const name = input.from === '-' ? 'standard input' : input.from;
  const rows = readRows(bytes, name, input.fromFormat);
  const message = input.message === undefined ? undefined : await readContent(context, input.message, length(1), '--message');
  const { planned, failedRows } = planRows(rows, { agent: input.agent, message, upload: input.upload }, name);
  const client = await context.client();
  const starts = await startsOf(context, input, planned, client.baseUrl);
  const content = digest(bytes);
  const { agent, upload, repo, webhookUrl } = input;
  const reading = digest(JSON.stringify({ agent, message, upload, repo, webhookUrl, format: rows.format }));
  const identity = { team_id: context.teamId(), base_url: client.baseUrl, content, reading };
  const place = ledgerPlace(context, input, identity);
  const unlock = context.flags.dryRun
    ? () => undefined
    : await lockWork(context, `${place.file}.lock`, { activity: `starting runs from ${name}`, code: 'start_running' });
  try {
    const { randomUUID } = await import('node:crypto');
    const ledger = await openRunLedger(place.file, { aops: 'runs', version: 1, id: randomUUID(), ...identity });
    const bulk = new BulkStart(context, ledger, starts, input.concurrency ?? defaultConcurrency);
    return new Work({ context, input, rows, bulk, ledger, place, planFailures: failedRows, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

interface LedgerPlace {
  file: string;
  /** As shown to the user. */
  name: string;
  /** Whether it is removed when every row has an outcome. */
  isTemporary: boolean;
}

/** Next to the file; for standard input in the data directory, under a name that depends on the input, unless --ledger names it. */
function ledgerPlace(context: Context, { from, ledger }: FromFileInput, identity: object): LedgerPlace {
  if (ledger !== undefined || from !== '-') {
    const name = ledger ?? `${from}.aops-ledger`;
    return { file: path.resolve(context.cwd, name), name, isTemporary: false };
  }
  const file = path.join(bulkFolder(context), `${digest(JSON.stringify(identity)).slice(0, 32)}.aops-ledger`);
  return { file, name: file, isTemporary: true };
}

async function startsOf(context: Context, input: FromFileInput, planned: readonly PlannedRow[], baseUrl: string): Promise<PlannedStart[]> {
  const client = await context.client();
  const repository = input.repo === undefined ? undefined : await repositorySource(context, input.repo, baseUrl);
  if (repository !== undefined && !(await contractNames(client, 'RunRepository'))) throw repositoriesNotOffered();
  const agentIds = new Map<string, string>();
  for (const { agent } of planned) if (!agentIds.has(agent)) agentIds.set(agent, await agentId(context, agent));
  return planned.map(({ row, agent, message, upload }) => {
    const body = { agent_id: agentIds.get(agent) as string, ...omitUndefined({ message, repository, webhook_url: input.webhookUrl }) };
    return upload.length === 0 ? { row, body } : { row, body, files: upload, prepare: (own) => uploadedSandbox(own, upload) };
  });
}

/** Uploads the files of a row into a sandbox of its own, because a run changes the files of its sandbox. */
async function uploadedSandbox(context: Context, paths: readonly string[]): Promise<string> {
  const files = await collectFiles(context, paths);
  const client = await context.client();
  const { sandbox_id } = await client.call('createSandbox', {});
  await uploadFiles(context, sandbox_id, files);
  return sandbox_id;
}

interface WorkParts {
  context: Context;
  input: FromFileInput;
  rows: Rows;
  bulk: BulkStart;
  ledger: RunLedger;
  place: LedgerPlace;
  /** Rows that do not describe a run. */
  planFailures: readonly FailedRow[];
  unlock: () => void;
}

class Work {
  readonly #parts: WorkParts;

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** The runs as they start. @throws AopsError at the end if rows failed */
  async *stream(): AsyncGenerator<readonly StartedRow[], void, undefined> {
    const { bulk, unlock } = this.#parts;
    try {
      yield* bulk.run();
      // The summary is not part of a stream of runs.
      const { error } = await this.#end([]);
      if (error !== undefined) throw error;
    } finally {
      unlock();
    }
  }

  async finish(): Promise<StartSummary> {
    const { bulk, unlock } = this.#parts;
    const runs: StartedRow[] = [];
    try {
      for await (const started of bulk.run()) runs.push(...started);
      const { summary, error } = await this.#end(runs);
      if (error !== undefined) throw new ResultError(error, summary);
      return summary;
    } finally {
      unlock();
    }
  }

  /** The first requests and the number of all, in the form of other dry runs. */
  async showPlan(): Promise<never> {
    const { bulk, planFailures, rows } = this.#parts;
    const [{ DryRunStop }, plan] = await Promise.all([import('../../../client/index.ts'), bulk.plan()]);
    throw new DryRunStop({ rows: rows.rows.length, failed: bulk.failedRows.length + planFailures.length, ...plan });
  }

  /** Writes the failed rows, and removes a ledger that is no longer needed. Returns an error if rows failed. */
  async #end(runs: StartedRow[]): Promise<{ summary: StartSummary; error?: AopsError }> {
    const { context, input, rows, bulk, place, planFailures } = this.#parts;
    if (place.isTemporary) await rm(place.file, { force: true });
    const failedRows = [...planFailures, ...bulk.failedRows].toSorted((a, b) => a.row - b.row);
    const failedFile = failedRows.length === 0 ? null : (input.failed ?? failedName(input.from, rows));
    if (failedFile !== null) await writeFailed(path.resolve(context.cwd, failedFile), writeRows(rows, failedRows));
    const summary: StartSummary = {
      file: input.from,
      rows: rows.rows.length,
      started: bulk.startedCount,
      started_before: bulk.startedBefore.length,
      failed: failedRows.length,
      failed_file: failedFile,
      ledger: place.isTemporary ? null : place.name,
      runs,
    };
    return failedFile === null ? { summary } : { summary, error: rowsFailed(failedRows, failedFile) };
  }
}

function rowsFailed(failedRows: readonly FailedRow[], file: string): AopsError {
  const [first] = failedRows as [FailedRow];
  const more = failedRows.length > 1 ? `; ${failedRows.length - 1} more` : '';
  return new AopsError(`${pluralize(failedRows.length, 'row')} failed (row ${first.row}: ${first.reason.replace(/\.$/, '')}${more}).`, {
    code: 'rows_failed',
    exit: exitCodes.usage,
    hint: `Correct the rows in ${file}, then start them with --from.`,
  });
}

function failedName(from: string, { format }: Rows): string {
  if (from === '-') return `stdin.failed.${format}`;
  const { dir, name, ext } = path.parse(from);
  return path.join(dir, `${name}.failed${ext}`);
}

async function writeFailed(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 }).catch((error: unknown) => {
    throw writeFailure(error, file);
  });
}
