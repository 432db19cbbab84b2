import { defineCommand } from '../../../cli/kit/command.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { Label } from '../../../interface/types.ts';
import { caseArgument } from '../record.ts';
import { labelColumns, ownLabels } from './own.ts';

export default defineCommand({
  summary: 'List the labels of a case',
  arguments: { case: caseArgument },
  operations: ['getCase', 'listCaseLabels'],
  examples: [{ command: 'aops cases labels list CASE', text: 'List the labels of a case' }],
  result: returns('listCaseLabels.labels[]'),
  output: listOutput<Label>({ columns: labelColumns, empty: 'The case has no labels.' }),
  async run(context, input) {
    return wholeList((await ownLabels(context, input.case)).labels);
  },
});
