/** Prints results and errors: results in the requested format on stdout, everything else on stderr. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { limitYoungGeneration } from '../../base/young-generation.ts';
import type { View } from '../../terminal/cell.ts';
import { renderError } from '../../terminal/errors.ts';
import { renderData } from '../../terminal/formats.ts';
import { renderRecord } from '../../terminal/record.ts';
import type { Terminal } from '../../terminal/streams.ts';
import { renderTable } from '../../terminal/table.ts';
import { isGitHubActions, withoutCommandsInJson } from '../../terminal/workflow-commands.ts';
import { withSelection } from '../connect/selection.ts';
import { forPeople, viewOf } from '../kit/audience.ts';
import type { Context } from '../kit/context.ts';
import { Count, RowList } from '../kit/list.ts';
import { type AnyOutput, recordFields } from '../kit/output.ts';

/** @param knownFields fields that --fields may name, even if no row contains them */
export async function presentResult(
  context: Context,
  output: AnyOutput | undefined,
  result: unknown,
  knownFields?: readonly string[],
): Promise<void> {
  if (result === undefined) return;
  const { terminal, format, flags } = context;
  const isForPeople = forPeople(context);
  const view: View = { ...(await viewOf(context)), completeCommand: (command) => withSelection(command, flags) };
  const render = async (data: unknown): Promise<void> => {
    const isRaw = output === undefined || (output.kind === 'raw' && !(result instanceof RowList));
    const isJson =
      (format === 'json' || format === 'ndjson' || (isRaw && format === 'table')) && flags.jq === undefined && flags.template === undefined;
    const safe = isJson && isGitHubActions(terminal.env) ? withoutCommandsInJson : (text: string): string => text;
    const options = {
      format: isRaw && format === 'table' ? 'json' : format,
      fields: flags.fields,
      jq: flags.jq,
      template: flags.template,
      knownFields,
      view,
    } as const;
    await terminal.data(safe(await terminal.interruptibly(() => renderData(data, options))));
  };
  if (result instanceof RowList) {
    if (isForPeople && output) return presentRows(context, output, result, view);
    const printsEachRow = flags.template !== undefined || format === 'ndjson' || format === 'id';
    if (printsEachRow && flags.jq === undefined) return streamRows(result, render);
    return render(await result.collect());
  }
  if (isForPeople && result instanceof Count) return terminal.line(String(result.count));
  if (!isForPeople || !output || output.kind === 'raw' || output.kind === 'list') return render(result);
  if (output.kind === 'text') return terminal.line(output.text(result));
  if (output.kind === 'document') return writeLong(context, await output.document(result, view));
  await writeLong(context, await renderRecord(recordFields(output.fields(result, view)), view));
}

/** Prints text for people, through their pager when it does not fit the terminal. */
async function writeLong(context: Context, text: string): Promise<void> {
  const { terminal } = context;
  const pagedText =
    terminal.out.isTTY && (await import('../../terminal/pager.ts').then(({ page }) => page(terminal, text, context.config().pager.value)));
  if (!pagedText) await terminal.write(text);
}

async function presentRows(context: Context, output: AnyOutput, list: RowList, view: View): Promise<void> {
  const { terminal } = context;
  const shape = output.kind === 'list' ? output : 'list' in output ? output.list : undefined;
  if (shape === undefined) throw new Error('a list needs columns');
  const { data, total, offset } = await list.collect();
  const totalText = list.isCounted ? ` of ${total}` : '';
  if (data.length === 0) {
    terminal.advise(
      offset > 0 && total > 0 && list.isCounted
        ? `The list has only ${pluralize(total, 'row')}; --offset ${offset} is past its end.`
        : list.isFiltered
          ? 'Nothing matches the filters.'
          : shape.empty,
    );
    return;
  }
  const form = shape.forms?.[list.form ?? ''] ?? shape.columns;
  await writeLong(context, await (typeof form === 'function' ? form(data, view) : renderTable(data, form, view)));
  if (view.tty && list.newest && offset > 0) terminal.note(`Showing the last ${data.length} of ${total}. See all with --all.`);
  else if (view.tty && offset + data.length < total)
    terminal.note(`Showing ${data.length}${totalText}. See more with --all, --limit, and --offset.`);
}

/** How many pages are printed between two looks at the memory. */
const batchesBetweenLimits = 10;

/** Prints rows as they are read, so that memory does not grow with the list. */
async function streamRows(list: RowList, render: (rows: readonly unknown[]) => Promise<void>): Promise<void> {
  let batches = 0;
  for await (const rows of list.batches) {
    batches += 1;
    await render(rows);
    if (batches % batchesBetweenLimits === 0) await limitYoungGeneration();
  }
  // Reports fields that do not exist.
  if (batches === 0) await render([]);
}

/** Prints an error to stderr and returns the exit code. Ctrl-C prints nothing, unless the outcome of a change is unknown. */
export async function presentError(terminal: Terminal, error: unknown, options: { json: boolean; debug: boolean }): Promise<number> {
  const exit = error instanceof AopsError ? error.exit : exitCodes.failure;
  const wasInterrupted = exit === exitCodes.interrupted || exit === exitCodes.terminated;
  const isSilent = wasInterrupted && !options.json && !(error instanceof AopsError && error.details.idempotency_key);
  const suggested = (hint: string): string => terminal.suggested(hint);
  if (!isSilent) terminal.warn(renderError(error, { ...options, styles: await terminal.err.styles(), suggested }).trimEnd());
  return exit;
}
