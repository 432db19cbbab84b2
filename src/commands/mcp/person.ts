/** `respond_to_human_request` from the command line: only the person at the terminal decides, never the arguments of a command. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/values.ts';
import { askHere } from '../../cli/following/ask-here.ts';
import { isConversation } from '../../cli/kit/audience.ts';
import { isUuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { answerTool } from '../../client/mcp/tool-policy.ts';

/**
 * Shows the person at the terminal the request, and prompts for the answer.
 * @throws AopsError `person_required` without a terminal, UsageError for an answer among the arguments
 */
export async function answerAsPerson(context: Context, args: Record<string, unknown>): Promise<undefined> {
  const { flags } = context;
  const { run_id: run, request_id: request, ...answer } = args;
  if (!isConversation(context) || flags.dryRun || flags.yes) throw personRequired();
  const [extra] = Object.keys(answer);
  if (extra !== undefined)
    throw new UsageError(`${answerTool} accepts no answer, so leave out ${extra}.`, 'You are prompted for the answer.');
  if (typeof run !== 'string' || !isUuid(run)) throw new UsageError('run_id must be the ID of a run.');
  const client = await context.client();
  const { run: found, pending_human_request: pending } = await client.call('getRun', { params: { run_id: run } });
  if (pending === null || (request !== undefined && request !== pending.id))
    throw new AopsError('The run does not wait for this human request.', {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint: `See its state with \`aops runs get ${run}\`.`,
    });
  return void (await askHere(context, client, found, pending));
}

/** Refuses a message that calls the tool. @throws AopsError `person_required` */
export function refuseAnswer(method: unknown, params: unknown): void {
  if (method === 'tools/call' && isObject(params) && params.name === answerTool) throw personRequired();
}

const personRequired = (): AopsError =>
  new AopsError('Only a person at a terminal can answer a human request with this command.', {
    code: 'person_required',
    exit: exitCodes.usage,
    hint: 'Use `aops inbox` or `aops runs respond RUN` at a terminal, or the team page. `aops runs respond RUN --approve` sends the decision of a person from elsewhere.',
  });
