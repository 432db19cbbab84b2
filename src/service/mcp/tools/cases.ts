/** Tools for queues and cases. */
import Type from 'typebox';
import { casePriorities, caseStatusFilters } from '../../../interface/case-status.ts';
import { Closed, Uuid, Words } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';
import { describeList } from '../words.ts';
import { page } from './arguments.ts';

const queueId = Type.String({ ...Uuid, description: 'ID of the queue, from list_queues' });

export const caseTools = [
  defineTool({
    name: 'list_queues',
    title: 'List queues',
    description: 'Lists the queues of the team with their IDs. Use it to find the queue_id for create_case.',
    operation: 'listQueues',
    input: Closed(page(250)),
    readOnly: true,
    async run({ call }, query) {
      const answer = await call('listQueues', { query });
      const rows = answer.queues.map(({ id, name, description }) => `${name} (${id})${description === null ? '' : `: ${description}`}`);
      return { structured: answer, text: describeList('queues', rows, answer.total) };
    },
  }),
  defineTool({
    name: 'create_case',
    title: 'Create a case',
    description:
      'Adds a case to a queue. If an agent works on the queue, one of its runs takes the case automatically; follow it with get_case. Each call adds another case.',
    operation: 'createCases',
    input: Closed({
      queue_id: queueId,
      title: Type.String({ minLength: 1, maxLength: 500, description: 'Title of the case' }),
      data: Type.Optional(Type.String({ description: 'What the agent needs to know, often as JSON' })),
      priority: Type.Optional(Words([...casePriorities])),
      labels: Type.Optional(
        Type.Array(Closed({ key: Type.Optional(Type.String()), value: Type.String({ minLength: 1 }) }), {
          description: 'Labels; labels that the queue does not have yet are created',
        }),
      ),
    }),
    readOnly: false,
    async run({ call }, { queue_id, ...draft }) {
      const answer = await call('createCases', { params: { queue_id }, body: { case: draft } });
      return { structured: answer, text: `Created case ${answer.added_cases[0]?.id}. Follow it with get_case.` };
    },
  }),
  defineTool({
    name: 'list_cases',
    title: 'List cases',
    description: 'Lists the cases of a queue, newest first.',
    operation: 'searchCases',
    input: Closed({
      queue_id: queueId,
      status: Type.Optional(Words([...caseStatusFilters])),
      search: Type.Optional(Type.String({ description: 'Only cases whose title or data contains this text' })),
      ...page(100),
    }),
    readOnly: true,
    async run({ call }, { queue_id, status, ...query }) {
      const filters = status === undefined ? {} : { filters: { status: [status] } };
      const answer = await call('searchCases', { params: { queue_id }, body: { ...query, ...filters } });
      const rows = answer.cases.map((row) => `${row.id} ${row.display_status}: ${row.title}`);
      return { structured: answer, text: describeList('cases', rows, answer.total) };
    },
  }),
  defineTool({
    name: 'get_case',
    title: 'Get a case',
    description: 'Returns a case with its data, its status, the run that works on it, and what happened to it.',
    operation: 'getCase',
    input: Closed({ case_id: Type.String({ ...Uuid, description: 'ID of the case' }) }),
    readOnly: true,
    async run({ call }, params) {
      const answer = await call('getCase', { params });
      const { title, display_status: status, claimed_by_run_id: run } = answer.case;
      const requestNote = answer.case.pending_human_request_id === null ? '' : ' It is waiting for a person: see get_run.';
      const reason = answer.events.findLast((event) => event.reason !== null)?.reason;
      return {
        structured: answer,
        text: `"${title}" is ${status}${run === null ? '' : ` (run ${run})`}.${requestNote}${reason == null ? '' : ` Latest reason: ${reason}`}`,
      };
    },
  }),
];
