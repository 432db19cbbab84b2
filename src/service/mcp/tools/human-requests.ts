/** Tools for human requests. No caller of the endpoint can answer one: a model is not the person whose decision a run waits for. */
import Type from 'typebox';
import { Closed, Uuid } from '../../../interface/schemas/common.ts';
import { ServiceError } from '../../errors.ts';
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
    title: 'Let the user answer a human request',
    description:
      'Lets the user answer the human request that a run waits for. Only a person can decide, so this works only if the client can show the user a form; otherwise it is refused and says where the user can answer. Nothing that you pass is the answer.',
    operation: 'respondToHumanRequest',
    input: Closed({
      run_id: runId,
      request_id: Type.String({ ...Uuid, description: 'ID of the human request, from get_run' }),
    }),
    readOnly: false,
    destructive: true,
    // The endpoint cannot show a person the request. `aops mcp serve` does, and sends their answer to the operation of the interface.
    run: async () => {
      throw new ServiceError(403, 'person_required', 'Only a person can answer a human request, and this endpoint cannot ask one.');
    },
  }),
];
