/** Sends one answer to the pending requests of several runs, after a preview. */
import { isDeepStrictEqual } from 'node:util';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { answerInput, requestLine, sendAnswer } from '../../cli/following/requests.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { RowList } from '../../cli/kit/list.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { type Answer, optionLabels } from '../../watch/answers.ts';
import { type Attempt, forEachRun, rowsOf } from './each-run.ts';

/** A human request after it was answered, or not. */
export interface AnswerRow {
  id: string | null;
  run_id: string;
  title: string;
  description: string | null;
  response: string | null;
  responded_at: string | null;
  created_at: string | null;
}

interface Pending {
  run: Run;
  request: HumanRequest;
}

/**
 * Answers the pending request of each run.
 * @param answerFor the answer to a request; all requests have the same shape
 * @throws UsageError if the requests differ, AopsError `not_confirmed`, ResultError with the rows if an answer could not be sent
 */
export async function respondToSeveral(
  context: Context,
  client: Client,
  runs: readonly NamedRun[],
  answerFor: (request: HumanRequest) => Promise<Answer>,
): Promise<RowList<AnswerRow>> {
  const readings = await forEachRun(context, runs, ({ id }) => readPending(context, client, id));
  const pending = readings.flatMap((reading) => ('result' in reading ? [reading.result] : []));
  const answer = pending.length === 0 ? undefined : await answerForAll(pending, answerFor);
  if (answer !== undefined) {
    preview(context, readings, answer);
    if (!context.flags.dryRun) await confirm(context, question(answer, pending.length));
  }
  const byRun = new Map(readings.map((reading) => [reading.run, reading]));
  const readingOf = (run: NamedRun) => byRun.get(run) as Attempt<NamedRun, Pending>;
  const requestOf = (run: NamedRun): HumanRequest | undefined => {
    const reading = readingOf(run);
    return 'result' in reading ? reading.result.request : undefined;
  };
  const keysOf = ({ id }: NamedRun, request: HumanRequest) =>
    client.keysFor('respondToHumanRequest', answerInput(id, request.id, answer as Answer));
  // Reserved in order, so that the same command with the same key sends the same keys.
  const keys = new Map(
    runs.flatMap((run) => {
      const request = requestOf(run);
      return request === undefined ? [] : [[run, keysOf(run, request)] as const];
    }),
  );
  const attempts = await forEachRun(context, runs, async (run) => {
    const reading = readingOf(run);
    if ('error' in reading) throw reading.error;
    await checkUnchanged(context, client, reading.result);
    return (await sendAnswer(client, run.id, reading.result.request.id, answer as Answer, { keys: keys.get(run) })).human_request;
  });
  return rowsOf(context, attempts, (run, result) => result ?? unanswered(run, requestOf(run)), 'could not be answered');
}

const unanswered = ({ id }: NamedRun, request: HumanRequest | undefined): AnswerRow => ({
  id: request?.id ?? null,
  run_id: id,
  title: request?.title ?? '',
  description: request?.description ?? null,
  response: null,
  responded_at: null,
  created_at: request?.created_at ?? null,
});

async function readPending(context: Context, client: Pick<Client, 'call'>, runId: string): Promise<Pending> {
  const { run, pending_human_request: request } = await client.call('getRun', { params: { run_id: runId } });
  if (request === null) throw notWaiting(context, run);
  return { run, request };
}

/** Checks that the request is still the one that was shown. @throws AopsError `request_changed` (exit 6) */
export async function checkUnchanged(context: Context, client: Pick<Client, 'call'>, { run, request }: Pending): Promise<void> {
  const { request: current } = await readPending(context, client, run.id);
  if (isDeepStrictEqual(current, request)) return;
  throw new AopsError('The request has changed since it was shown, so it was not answered.', {
    code: 'request_changed',
    exit: exitCodes.conflict,
    hint: 'Run the command again to see the current request.',
  });
}

/** The error for a run without a pending request. */
export const notWaiting = (context: Context, run: Run): AopsError =>
  new AopsError(`The run is not waiting for an answer: its status is ${run.status}.`, {
    code: 'run_not_waiting',
    exit: exitCodes.conflict,
    hint: `Watch it with \`aops runs watch ${runWord(runForHere(context, run))}\`.`,
  });

/** The answer that is sent to all requests. @throws UsageError if they do not have the same shape */
async function answerForAll(pending: readonly Pending[], answerFor: (request: HumanRequest) => Promise<Answer>): Promise<Answer> {
  const [first, ...otherRequests] = pending as [Pending, ...Pending[]];
  const differingRequest = otherRequests.find(({ request }) => shapeOf(request) !== shapeOf(first.request));
  if (differingRequest !== undefined)
    throw new UsageError(
      `The runs ask different questions: ${runTitle(first.run)} asks "${requestLine(first.request)}", but ${runTitle(differingRequest.run)} asks "${requestLine(differingRequest.request)}". Nothing was sent.`,
      'Answer them separately, or with `aops inbox`, which prompts for one request after another.',
    );
  return answerFor(first.request);
}

/** What an answer depends on: all approvals have the same shape, and questions if they have the same texts and options. */
export const shapeOf = ({ type, questions = [] }: HumanRequest): string =>
  type === 'approval'
    ? 'approval'
    : JSON.stringify(questions.map((each) => [each.question, optionLabels(each), each.multi_select ?? false]));

/** Shows every request that is going to be answered, and the answer. */
function preview(context: Context, readings: readonly Attempt<NamedRun, Pending>[], answer: Answer): void {
  const lines = readings.flatMap((reading) =>
    'result' in reading
      ? [`  ${runTitle(runForHere(context, reading.result.run))}  ${sanitizeLine(requestLine(reading.result.request))}`]
      : [],
  );
  // Without --yes, the question that follows refers to these lines.
  const show = (text: string): void => (context.flags.yes ? context.terminal.note(text) : context.terminal.warn(text));
  show([`${pluralize(lines.length, 'request')}:`, ...lines, ...answerLines(answer)].join('\n'));
}

function answerLines(answer: Answer): string[] {
  if ('approved' in answer) return answer.reason === undefined ? [] : [`Reason: ${sanitizeLine(answer.reason)}`];
  return Object.entries(answer.answers).map(([asked, text]) => `Answer to "${sanitizeLine(asked)}": ${sanitizeLine(text)}`);
}

const question = (answer: Answer, count: number): string => {
  const verb = 'approved' in answer ? (answer.approved ? 'Approve' : 'Deny') : 'Send this answer to';
  return `${verb} ${count === 1 ? 'this request' : `all ${count} requests`}?`;
};
