/** `runs rerun`: starts runs again. The selection is recorded in a ledger, so that an interrupted command is continued. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { bulkFolder } from '../../../cli/bulk/data-folder.ts';
import { readHead } from '../../../cli/bulk/ledger.ts';
import { lockWork } from '../../../cli/bulk/lock.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { RowList, wholeList } from '../../../cli/kit/list.ts';
import { ResultError } from '../../../cli/kit/result-error.ts';
import { runForHere, runTitle } from '../../../cli/names/run-names.ts';
import { inParallel } from '../../../client/transfers/parallel.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import { BulkStart, type PlannedStart, type StartedRow } from './bulk-start.ts';
import { copyFiles, type Original, readOriginal } from './original.ts';
import { digest, openRunLedger, type RunLedger } from './run-ledger.ts';

/** A run that was started again. */
export interface Rerun {
  id: string;
  run_number: number | null;
  agent_id: string | null;
  rerun_of: string;
}

export interface RerunRequest {
  /** What was selected, in a form that is the same whenever the command is repeated. */
  identity: object;
  /** The IDs of the runs, in the order in which they are started again. */
  select: () => Promise<string[]>;
  files: boolean;
  webhookUrl: string | undefined;
  concurrency: number;
  /** Whether the runs were found by filters, so that the user has not seen them. */
  needsConfirmation: boolean;
}

type Reading = { source: string; original: Original } | { source: string; error: AopsError };

/**
 * Starts the runs again that have not been started again yet.
 * @throws AopsError `not_confirmed`; ResultError with the started runs when some could not be started again
 */
export async function rerunRuns(context: Context, request: RerunRequest): Promise<RowList<Rerun>> {
  const client = await context.client();
  const identity = { team_id: context.teamId(), base_url: client.baseUrl, reading: digest(JSON.stringify(request.identity)) };
  const file = path.join(bulkFolder(context), `rerun-${digest(JSON.stringify(identity)).slice(0, 32)}.aops-ledger`);
  const unlock = context.flags.dryRun
    ? () => undefined
    : await lockWork(context, `${file}.lock`, { activity: 'starting these runs again', code: 'rerun_running' });
  try {
    const stored = await readHead(file);
    const sources = Array.isArray(stored?.sources) ? stored.sources.map(String) : await request.select();
    const { randomUUID } = await import('node:crypto');
    const content = digest(JSON.stringify(sources));
    const ledger = await openRunLedger(file, { aops: 'runs', version: 1, id: randomUUID(), content, ...identity, sources });
    const readings = await readAll(context, request, ledger, sources);
    await preview(context, request, readings, { sources, isContinued: stored !== undefined, file });
    const work = new Rerunning(context, request, ledger, sources, readings);
    if (context.flags.dryRun) return await work.showPlan();
    if ((context.format !== 'ndjson' && context.format !== 'id') || context.flags.jq !== undefined)
      return await work.finish().finally(unlock);
    return new RowList<Rerun>(
      async function* () {
        try {
          yield* work.stream();
        } finally {
          unlock();
        }
      },
      Number.MAX_SAFE_INTEGER,
      0,
    );
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Reads the originals of the runs that have not been started again yet, in their order. */
async function readAll(context: Context, request: RerunRequest, ledger: RunLedger, sources: readonly string[]): Promise<Reading[]> {
  const client = await context.client();
  const pending = sources.filter((_, index) => ledger.resultOf(index + 1) === undefined);
  return inParallel(pending, request.concurrency, context.signal, async (source, signal): Promise<Reading> => {
    try {
      return { source, original: await readOriginal(client, source, request.files, signal) };
    } catch (error) {
      const isAboutRun = error instanceof AopsError && ([exitCodes.conflict, exitCodes.notFound] as number[]).includes(error.exit);
      if (!isAboutRun) throw error;
      return { source, error };
    }
  });
}

interface PreviewFacts {
  sources: readonly string[];
  isContinued: boolean;
  file: string;
}

/** Shows every run that is going to be started again, with what is left out. Runs that were named need no confirmation. */
async function preview(context: Context, request: RerunRequest, readings: readonly Reading[], facts: PreviewFacts): Promise<void> {
  const originals = readings.flatMap((reading) => ('original' in reading ? [reading.original] : []));
  const startedCount = facts.sources.length - readings.length;
  const lines: string[] = [];
  if (facts.isContinued)
    lines.push(
      `Continuing after an interruption: ${startedCount} of ${pluralize(facts.sources.length, 'run')} were started again. To make a new selection instead, remove ${facts.file}`,
    );
  if (request.needsConfirmation && originals.length > 0) lines.push(`${pluralize(originals.length, 'run')}:`);
  const statusWidth = Math.max(0, ...originals.map(({ run }) => run.status.length));
  for (const { run, body, files, newerFiles } of originals) {
    const title = runTitle(runForHere(context, run));
    const copied = files.length === 0 ? '' : `  ${pluralize(files.length, 'file')}`;
    if (request.needsConfirmation)
      lines.push(`  ${title}  ${run.status.padEnd(statusWidth)}  ${sanitizeLine(firstLineOf(body.message))}${copied}`);
    if (newerFiles.length > 0) lines.push(`${request.needsConfirmation ? '    ' : `${title}: `}${notCopiedText(newerFiles)}`);
  }
  const show = (text: string): void =>
    context.flags.yes || !request.needsConfirmation ? context.terminal.note(text) : context.terminal.warn(text);
  if (lines.length > 0) show(lines.join('\n'));
  if (request.needsConfirmation && originals.length > 0 && !context.flags.dryRun)
    await confirm(context, originals.length === 1 ? 'Start this run again?' : `Start these ${originals.length} runs again?`);
}

const firstLineOf = (message: string | undefined): string => message?.trim().split('\n')[0]?.slice(0, 60) ?? '(no message)';

function notCopiedText(files: readonly string[]): string {
  const names = files.slice(0, 3).map(sanitizeLine).join(', ');
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return `Not copied, because the run wrote or changed ${files.length === 1 ? 'it' : 'them'}: ${names}${more}`;
}

class Rerunning {
  readonly #context: Context;
  readonly #sources: readonly string[];
  readonly #errors: { source: string; error: AopsError }[];
  readonly #bulk: BulkStart;
  readonly #ledger: RunLedger;

  constructor(context: Context, request: RerunRequest, ledger: RunLedger, sources: readonly string[], readings: readonly Reading[]) {
    this.#context = context;
    this.#sources = sources;
    this.#ledger = ledger;
    this.#errors = readings.flatMap((reading) => ('error' in reading ? [reading] : []));
    const bySource = new Map(readings.map((reading) => [reading.source, reading]));
    const starts = sources.flatMap((source, index): PlannedStart[] => {
      const reading = bySource.get(source);
      // Those that were started again before are only counted.
      if (reading === undefined) return [{ row: index + 1, body: { agent_id: '' } }];
      return 'error' in reading ? [] : [plannedStart(index + 1, reading.original, request.webhookUrl)];
    });
    this.#bulk = new BulkStart(context, ledger, starts, request.concurrency);
  }

  /** The runs as they start. @throws AopsError at the end if some could not be started again */
  async *stream(): AsyncGenerator<readonly Rerun[], void, undefined> {
    for await (const rows of this.#bulk.run()) yield rows.map((row) => this.#rerunOf(row));
    await this.#end([]);
  }

  async finish(): Promise<RowList<Rerun>> {
    const reruns: Rerun[] = [];
    for await (const rows of this.#bulk.run()) reruns.push(...rows.map((row) => this.#rerunOf(row)));
    return this.#end(reruns);
  }

  async showPlan(): Promise<never> {
    const [{ DryRunStop }, plan] = await Promise.all([import('../../../client/index.ts'), this.#bulk.plan()]);
    const [onlyRequest] = plan.first_requests;
    if (this.#sources.length === 1 && onlyRequest) throw new DryRunStop(onlyRequest);
    if (this.#sources.length === 1) await this.#end([]);
    throw new DryRunStop({ runs: this.#sources.length, failed: this.#errors.length + this.#bulk.failedRows.length, ...plan });
  }

  #rerunOf({ row, ...run }: StartedRow): Rerun {
    return { ...run, rerun_of: this.#sources[row - 1] as string };
  }

  async #end(reruns: Rerun[]): Promise<RowList<Rerun>> {
    await rm(this.#ledger.file, { force: true });
    const rejections = this.#bulk.failedRows.map(({ row, reason }) => ({
      source: this.#sources[row - 1] as string,
      error: new AopsError(reason, { code: 'cannot_rerun', exit: exitCodes.conflict }),
    }));
    const failures = [...this.#errors, ...rejections];
    const list = wholeList(reruns);
    const [first] = failures;
    if (first === undefined) return list;
    if (this.#sources.length === 1) throw first.error;
    for (const { source, error } of failures) this.#context.terminal.warn(`Run ${source}: ${sanitizeLine(error.message)}`);
    const message = `${failures.length} of ${pluralize(this.#sources.length, 'run')} could not be started again.`;
    throw new ResultError(new AopsError(message, { code: 'runs_failed_partly', exit: first.error.exit, hint: first.error.hint }), list);
  }
}

function plannedStart(row: number, original: Original, webhookUrl: string | undefined): PlannedStart {
  const body = { ...original.body, ...omitUndefined({ webhook_url: webhookUrl }) };
  if (original.files.length === 0) return { row, body };
  return { row, body, files: original.files.map((file) => file.path), prepare: (context) => copyFiles(context, original) };
}
