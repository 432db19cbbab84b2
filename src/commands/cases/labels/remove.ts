import { defineCommand } from '../../../cli/kit/command.ts';
import { repeatedArgument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { labelText } from '../../../cli/names/label.ts';
import { caseArgument } from '../record.ts';
import { chosenLabels, ownLabels } from './own.ts';

export default defineCommand({
  summary: 'Remove labels from a case',
  arguments: { case: caseArgument, labels: repeatedArgument('The labels, by ID or as KEY=VALUE') },
  operations: ['getCase', 'listCaseLabels', 'unlinkCaseLabels'],
  mutates: true,
  examples: [{ command: 'aops cases labels remove CASE urgent', text: 'Remove the label "urgent"' }],
  result: returns('unlinkCaseLabels', { removed: 'string[]' }),
  output: textOutput<{ removed: string[] }>(({ removed }) => `Removed ${removed.join(', ')}.`),
  async run(context, input) {
    const client = await context.client();
    const { params, labels } = await ownLabels(context, input.case);
    const selectedLabels = chosenLabels(labels, input.labels);
    const answer = await client.call('unlinkCaseLabels', { params, body: { label_ids: selectedLabels.map(({ id }) => id) } });
    return { removed: selectedLabels.map(labelText), ...answer };
  },
});
