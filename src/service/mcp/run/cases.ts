/** Tools for the case that a run works on, and for new cases. */
import Type from 'typebox';
import { parseDuration } from '../../../base/duration.ts';
import { casePriorities } from '../../../interface/case-status.ts';
import { Closed, Words } from '../../../interface/schemas/common.ts';
import { ServiceError } from '../../errors.ts';
import { readUntil } from '../../runtimes/postponement.ts';
import type { RunCase } from '../../runtimes/run-host.ts';
import { change, defineRunTool, quoted, read } from './tool.ts';

const maxReasonLength = 10_000;
const reason = (description: string) => Type.String({ minLength: 1, maxLength: maxReasonLength, description });

/** The words of a reason at the end of a notice. */
const because = (text: string | undefined): string => (text === undefined ? '.' : `: ${quoted(text)}`);

export const caseTools = [
  defineRunTool({
    name: 'get_case',
    title: 'Get the case',
    description: 'Returns the case that this run works on: its title, data, priority, labels, and queue. Call it before you begin.',
    input: Closed({}),
    readOnly: true,
    needsCase: true,
    async run(call) {
      const row = await read(call, (host) => host.tools.currentCase());
      if (row === undefined) throw new ServiceError(409, 'run_has_no_case', 'The run is not working on a case, or the case was deleted.');
      return { structured: { case: row }, text: describeCase(row) };
    },
  }),
  defineRunTool({
    name: 'complete_case',
    title: 'Complete the case',
    description: 'Marks the case of this run as completed. Call it when the work is done; a case can be completed or failed once.',
    input: Closed({ reason: Type.Optional(reason('What was done, for the people who read the case')) }),
    readOnly: false,
    idempotent: true,
    needsCase: true,
    async run(call, args) {
      const notice = `The agent completed the case${because(args.reason)}`;
      const result = await change(call, { tool: 'complete_case', args, action: { do: 'complete', ...args }, notice });
      return { structured: result, text: 'The case is completed.' };
    },
  }),
  defineRunTool({
    name: 'fail_case',
    title: 'Fail the case',
    description: 'Marks the case of this run as failed, with the reason for people. Call it when the work cannot be done.',
    input: Closed({ reason: reason('Why the work cannot be done, and what a person could do about it') }),
    readOnly: false,
    idempotent: true,
    needsCase: true,
    async run(call, args) {
      const notice = `The agent failed the case${because(args.reason)}`;
      const result = await change(call, { tool: 'fail_case', args, action: { do: 'fail', ...args }, notice });
      return { structured: result, text: 'The case is marked as failed.' };
    },
  }),
  defineRunTool({
    name: 'postpone_case',
    title: 'Postpone the case',
    description:
      'Puts the case of this run back into its queue; another run takes it when it is due. Pass either `for` or `until`. Afterwards, end your turn.',
    input: Closed({
      for: Type.Optional(Type.String({ description: 'For how long, such as 30m, 4h, or 2d' })),
      until: Type.Optional(Type.String({ description: 'A date or a time in the future: 2026-07-18, or 2026-07-18T09:30:00Z' })),
      reason: Type.Optional(reason('Why, for the people who read the case')),
    }),
    readOnly: false,
    needsCase: true,
    async run(call, args) {
      const until = timeOf(args, call.clock.now());
      const why = args.reason === undefined ? {} : { reason: args.reason };
      const notice = `The agent postponed the case until ${new Date(until).toISOString()}${because(args.reason)}`;
      const result = await change(call, { tool: 'postpone_case', args, action: { do: 'postpone', until, ...why }, notice });
      return { structured: result, text: `The case is postponed until ${new Date(until).toISOString()}. End your turn now.` };
    },
  }),
  defineRunTool({
    name: 'create_case',
    title: 'Create a case',
    description:
      'Adds a case to a queue of the team, for example to hand work over. If an agent works on the queue, one of its runs takes the case automatically.',
    input: Closed({
      queue: Type.String({ minLength: 1, description: 'Name of the queue' }),
      title: Type.String({ minLength: 1, maxLength: 500, description: 'Title of the case' }),
      data: Type.Optional(Type.String({ description: 'What whoever works on the case needs to know, often as JSON' })),
      priority: Type.Optional(Words([...casePriorities])),
      labels: Type.Optional(
        Type.Array(Closed({ key: Type.Optional(Type.String()), value: Type.String({ minLength: 1 }) }), {
          description: 'Labels; labels that the queue does not have yet are created',
        }),
      ),
      agent: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'Name of the only agent that may take the case; it must be a handover target of this agent',
        }),
      ),
    }),
    readOnly: false,
    async run(call, args) {
      const { queue, agent, ...draft } = args;
      const notice = `The agent created the case ${quoted(draft.title)} in the queue ${quoted(queue)}.`;
      const action = { do: 'create', queue, draft, ...(agent === undefined ? {} : { agent }) } as const;
      const result = await change(call, { tool: 'create_case', args, action, notice });
      return { structured: result, text: `Created the case ${String(result.id)} in the queue ${queue}.` };
    },
  }),
];

/** Milliseconds since the epoch. Throws ServiceError 400 `invalid_time`. */
function timeOf({ for: duration, until }: { for?: string; until?: string }, now: number): number {
  if ((duration === undefined) === (until === undefined)) throw invalidTime('Pass either `for` or `until`.');
  if (until !== undefined) {
    const time = readUntil(until, now);
    if ('problem' in time) throw invalidTime(time.problem);
    return time.until;
  }
  const milliseconds = parseDuration(duration as string);
  if (milliseconds === undefined || milliseconds === 0) throw invalidTime(`"${duration}" is not a duration; write 30m, 4h, or 2d.`);
  return now + milliseconds;
}

const invalidTime = (message: string): ServiceError => new ServiceError(400, 'invalid_time', message);

function describeCase({ id, title, queue, priority, labels, data }: RunCase): string {
  const words = labels.map(({ key, value }) => (key === '' ? value : `${key}: ${value}`));
  return [
    `Case ${id} in the queue ${queue}: ${title}`,
    ...(priority === 'none' ? [] : [`Priority: ${priority}`]),
    ...(words.length === 0 ? [] : [`Labels: ${words.join(', ')}`]),
    ...(data === '' ? ['The case contains no data.'] : [`Data:\n${data}`]),
  ].join('\n');
}
