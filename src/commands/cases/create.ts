import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, optionalArgument, text, texts } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { labelForm, readLabel } from '../../cli/names/label.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import { casePriorities } from '../../interface/case-status.ts';
import type { Case } from '../../interface/types.ts';
import type { ImportSummary } from './import/import.ts';
import { caseRecord } from './record.ts';

export default defineCommand({
  summary: 'Add a case to a queue, or import cases from a file',
  description:
    '--from reads CSV (the first line names the columns), JSON (an array) or NDJSON, and creates a case for every row, 100 at a time. Columns named title, data, priority, and labels fill these fields; change this with --map. If no column is mapped to data, the data is a JSON object of the remaining columns. Progress is recorded in FILE.aops-ledger: after an interruption, run the same command again to continue. Rows that could not be imported are written with the reason to a file with .failed in its name, and the command ends with exit 2. It prints file, queue_id, rows, created, created_before, failed, failed_file, and ledger.',
  arguments: { queue: queueArgument, title: optionalArgument('The title of the case, unless --from is used', { check: length(1, 500) }) },
  options: {
    data: text('TEXT', 'Data for the agent, often JSON; @FILE reads it from a file, - from standard input'),
    label: texts('KEY=VALUE', 'Label of the case; can be repeated. Missing labels are created in the queue', {
      check: labelForm,
      complete: 'labels',
    }),
    priority: choice(casePriorities, 'Priority of the case (default: none)'),
    from: text('FILE', 'Import cases from a .csv, .json, .ndjson or .jsonl file', { complete: 'files' }),
    map: texts('COLUMN=FIELD', 'Use a column of --from as title, data, priority, labels or label:KEY, or ignore it; can be repeated'),
  },
  operations: ['listQueues', 'createCases'],
  mutates: true,
  examples: [
    { command: "aops cases create invoices 'Invoice 2026-0411' --data @invoice.json --label vendor=acme", text: 'Add a case' },
    {
      command: 'aops cases create invoices --from invoices.csv --map Subject=title --map Vendor=label:vendor',
      text: 'Import a case from every row of a file',
    },
  ],
  result: returns('createCases.added_cases[]'),
  // With --from.
  otherResults: [
    returns({
      file: 'string',
      queue_id: 'uuid',
      rows: 'integer',
      created: 'integer',
      created_before: 'integer',
      failed: 'integer',
      failed_file: 'string|null',
      ledger: 'string',
    }),
  ],
  output: recordOutput<Case | ImportSummary>((result) => ('rows' in result ? importedRecord(result) : caseRecord(result))),
  async run(context, input) {
    const client = await context.client();
    const labels = input.label.map(readLabel);
    if (input.from !== undefined) {
      if (input.title !== undefined || input.data !== undefined)
        throw new UsageError('TITLE and --data cannot be combined with --from: they come from the rows.');
      const { importCases } = await import('./import/import.ts');
      const drafting = { map: input.map, labels, priority: input.priority };
      return importCases(context, { file: input.from, queueId: await queueId(context, input.queue), drafting });
    }
    if (input.map.length > 0) throw new UsageError('--map requires --from.');
    if (input.title === undefined)
      throw new UsageError('The case needs a title.', 'Use `aops cases create QUEUE TITLE`, or import cases with --from FILE.');
    const data = input.data === undefined ? undefined : await readContent(context, input.data);
    const draft = {
      title: input.title,
      ...omitUndefined({ data, labels: labels.length === 0 ? undefined : labels, priority: input.priority }),
    };
    const params = { queue_id: await queueId(context, input.queue) };
    const { added_cases } = await client.call('createCases', { params, body: { case: draft } });
    return added_cases[0] as Case;
  },
});

const importedRecord = (summary: ImportSummary) => ({
  File: summary.file,
  Rows: summary.rows,
  Created: summary.created,
  'Created before': summary.created_before === 0 ? undefined : summary.created_before,
  Failed: summary.failed === 0 ? undefined : summary.failed,
  'Failed rows': summary.failed_file ?? undefined,
  Ledger: summary.ledger,
});
