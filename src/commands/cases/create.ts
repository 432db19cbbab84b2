import { UsageError } from '../../base/errors.ts';
import { given } from '../../base/given.ts';
import { casePriorities } from '../../interface/case-status.ts';
import type { Case } from '../../interface/types.ts';
import { readContent } from '../body.ts';
import { length } from '../checks.ts';
import { choice, defineCommand, text, texts } from '../define.ts';
import { recordOutput } from '../output.ts';
import { labelForm, readLabel } from '../queues/labels/label.ts';
import { queueArgument } from '../queues/record.ts';
import { queueId } from '../resolve.ts';
import { returns } from '../result.ts';
import { caseRecord } from './record.ts';

export default defineCommand({
  summary: 'Add a case to a queue',
  arguments: { queue: queueArgument },
  options: {
    title: text('TEXT', 'What the case is called', { check: length(1, 500) }),
    data: text('TEXT', 'What the agent is to know, often JSON; @FILE reads a file, - standard input'),
    label: texts('KEY=VALUE', 'A label; may be repeated. Those that the queue does not have are created', { check: labelForm }),
    priority: choice(casePriorities, 'Which cases are taken first (default none)'),
  },
  operations: ['listQueues', 'createCases'],
  mutates: true,
  examples: [
    { command: "aops cases create invoices --title 'Invoice 2026-0411' --data @invoice.json --label vendor=acme", text: 'One case' },
  ],
  result: returns('createCases.added_cases[]'),
  output: recordOutput<Case>(caseRecord),
  async run(context, input) {
    const client = await context.client();
    if (input.title === undefined) throw new UsageError('The case needs a title.', 'Give it with --title.');
    const data = input.data === undefined ? undefined : await readContent(context, input.data);
    const labels = input.label.length === 0 ? undefined : input.label.map(readLabel);
    const draft = { title: input.title, ...given({ data, labels, priority: input.priority }) };
    const params = { queue_id: await queueId(context, input.queue) };
    const { added_cases } = await client.call('createCases', { params, body: { case: draft } });
    return added_cases[0] as Case;
  },
});
