/** Tools for human requests. Answering is destructive: what a run does after an approval cannot be undone. */
import Type from 'typebox';
import { Closed, Uuid } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';
import { describeList, describeRequest } from '../words.ts';
import { page, runId } from './arguments.ts';

export const humanRequestTools = [
  defineTool({
    name: 'list_human_requests',
    title: 'List human requests',
    description: 'Lists the runs that wait for a person, each with its pending human request.',
    operation: 'listRuns',
    input: Closed(page(100)),
    readOnly: true,
    async run({ call }, query) {
      const answer = await call('listRuns', { query: { ...query, status: 'waiting' } });
      const rows = answer.data.flatMap((run) =>
        run.pending_human_request === null ? [] : [`${run.agent_name}: ${describeRequest(run.id, run.pending_human_request)}`],
      );
      return { structured: answer, text: describeList('human requests', rows, answer.total) };
    },
  }),
  defineTool({
    name: 'respond_to_human_request',
    title: 'Answer a human request',
    description:
      'Answers the human request that a run waits for, on behalf of a person who has decided. Pass approved for an approval, and answers for questions. A request can be answered once: a second answer is refused.',
    operation: 'respondToHumanRequest',
    input: Closed({
      run_id: runId,
      request_id: Type.String({ ...Uuid, description: 'ID of the human request, from get_run' }),
      approved: Type.Optional(Type.Boolean({ description: 'For an approval: whether the person approves' })),
      reason: Type.Optional(Type.String({ minLength: 1, maxLength: 2_000, description: 'With approved: false, why it is denied' })),
      answers: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: 'For questions: the text of each question and its answer; several chosen options are joined with commas',
        }),
      ),
    }),
    readOnly: false,
    destructive: true,
    async run({ call }, { run_id, request_id, ...body }) {
      const answer = await call('respondToHumanRequest', { params: { run_id, request_id }, body });
      const { title, response } = answer.human_request;
      return { structured: answer, text: `Answered "${title}": ${response ?? ''}. Follow the run with wait_for_run.` };
    },
  }),
];
