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
import type { Imported } from './import/import.ts';
import { caseRecord } from './record.ts';

export default defineCommand({
  summary: 'Add a case to a queue, or one for every row of a file',
  description:
    '--from reads CSV (the first line names the columns), JSON (a list) or NDJSON, and sends 100 cases at a time. Columns called title, data, priority and labels are taken for that; --map says otherwise. Without a column for the data it is a JSON object of the other columns. What was done is remembered in FILE.aops-ledger: run the same command again to go on after an interruption. Rows that become no case are written to FILE with .failed in its name, with the reason, and the command ends with exit 2. It prints file, queue_id, rows, created, created_before, failed, failed_file and ledger.',
  arguments: { queue: queueArgument, title: optionalArgument('What the case is called, unless --from', { check: length(1, 500) }) },
  options: {
    data: text('TEXT', 'What the agent is to know, often JSON; @FILE reads a file, - standard input'),
    label: texts('KEY=VALUE', 'A label; may be repeated. Those that the queue does not have are created', {
      check: labelForm,
      complete: 'labels',
    }),
    priority: choice(casePriorities, 'Which cases are taken first (default none)'),
    from: text('FILE', 'A .csv, .json, .ndjson or .jsonl file with a case in every row', { complete: 'files' }),
    map: texts('COLUMN=FIELD', 'What a column of --from is: title, data, priority, labels, label:KEY or ignore; may be repeated'),
  },
  operations: ['listQueues', 'createCases'],
  mutates: true,
  examples: [
    { command: "aops cases create invoices 'Invoice 2026-0411' --data @invoice.json --label vendor=acme", text: 'One case' },
    {
      command: 'aops cases create invoices --from invoices.csv --map Subject=title --map Vendor=label:vendor',
      text: 'A case for every row',
    },
  ],
  result: returns('createCases.added_cases[]'),
  output: recordOutput<Case | Imported>((result) => ('rows' in result ? importedRecord(result) : caseRecord(result))),
  async run(context, input) {
    const client = await context.client();
    const labels = input.label.map(readLabel);
    if (input.from !== undefined) {
      if (input.title !== undefined || input.data !== undefined)
        throw new UsageError('A title and --data do not go with --from: the rows have them.');
      const { importCases } = await import('./import/import.ts');
      const drafting = { map: input.map, labels, priority: input.priority };
      return importCases(context, { file: input.from, queueId: await queueId(context, input.queue), drafting });
    }
    if (input.map.length > 0) throw new UsageError('--map goes with --from.');
    if (input.title === undefined)
      throw new UsageError('The case needs a title.', 'Write `aops cases create QUEUE TITLE`, or make many cases with --from FILE.');
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

const importedRecord = (imported: Imported) => ({
  File: imported.file,
  Rows: imported.rows,
  Created: imported.created,
  'Created before': imported.created_before === 0 ? undefined : imported.created_before,
  Failed: imported.failed === 0 ? undefined : imported.failed,
  'Failed rows': imported.failed_file ?? undefined,
  Ledger: imported.ledger,
});
