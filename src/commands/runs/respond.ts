import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { askHere } from '../../cli/following/ask-here.ts';
import { sendAnswer } from '../../cli/following/requests.ts';
import { answerFromValues, answerOption, blindAnswers } from '../../cli/input/answer-flags.ts';
import { readContent } from '../../cli/input/body.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { isUuid, length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { column, listOutput, oneOrSeveralOutput, recordOutput, time, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { resolveRuns } from '../../cli/names/resolve-run.ts';
import { anyRunsArgument, type NamedRun, runForHere, runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Answer } from '../../watch/answers.ts';
import { hasFilter, matchingRuns, respondFilters } from './respond-filters.ts';
import { type AnswerRow, notWaiting, respondToSeveral } from './respond-many.ts';

interface AnsweredRun {
  id: string;
  run_id: string;
  title: string;
  response: string | null;
  responded_at: string | null;
}

export default defineCommand({
  summary: 'Answer the pending human requests of runs',
  description:
    'On a terminal, you are prompted for the answer unless a flag provides it. Write each answer as QUESTION=ANSWER. If there is only one question, the answer alone is enough. Reasons are an extension of the interface, so hosted services might ignore them.\n\nSeveral runs get the same answer, after you have seen and confirmed all requests; without a terminal, pass --yes. Nothing is sent if they do not ask the same questions. If one answer cannot be sent, the others are sent nevertheless; the exit code is that of the worst failure. For several runs, the JSON is a list. To be prompted for one request after another, use `aops inbox`.\n\nWith --agent, --queue, --type, or --older-than instead of runs, all matching requests get the answer. --approve and --deny select approvals, --answer selects questions. Only the requests that were shown are answered; a request that has changed or was replaced since then is skipped and reported.',
  arguments: { run: anyRunsArgument({ runs: 'waiting', unless: Object.keys(respondFilters) }) },
  options: {
    request: text(
      'ID',
      'The ID of the human request of a single run (default: the pending one); it can also follow the run as an argument',
      {
        check: uuid,
      },
    ),
    approve: flag('Approve the request'),
    deny: flag('Deny the request'),
    reason: text('TEXT|@FILE|-', 'Reason for the decision, with --approve or --deny'),
    answer: answerOption,
    ...respondFilters,
  },
  operations: ['listRuns', 'listAgents', 'listQueues', 'getRun', 'listRunMessages', 'streamRunEvents', 'respondToHumanRequest'],
  mutates: true,
  examples: [
    { command: 'aops runs respond @latest --approve', text: 'Approve the request of the newest run' },
    { command: 'aops runs respond 17 18 19 --approve', text: 'Approve the requests of several runs after a preview' },
    {
      command: 'aops runs respond --agent invoice-check --older-than 1d --deny',
      text: 'Deny all old approvals of an agent after a preview',
    },
    { command: "aops runs respond RUN --approve --reason 'Within the budget'", text: 'Approve with a reason' },
    { command: "aops runs respond RUN --deny --reason 'The amount is wrong'", text: 'Deny with a reason' },
    { command: "aops runs respond RUN --answer 'Which vendor?=Acme GmbH'", text: 'Answer a question' },
    { command: "aops runs respond RUN --answer 'Cost centres=Alpha' --answer 'Cost centres=Beta'", text: 'Choose several options' },
    { command: "aops runs respond RUN --answer 'A note?=@note.md'", text: 'Read a long answer from a file' },
  ],
  result: returns('respondToHumanRequest.human_request'),
  // For several runs.
  otherResults: [returns({ run_id: 'uuid', error: 'object?' })],
  output: oneOrSeveralOutput(
    recordOutput<AnsweredRun>((request) => ({
      Answered: request.title,
      Response: request.response,
      At: time(request.responded_at),
      Run: request.run_id,
    })),
    listOutput<AnswerRow>({
      columns: [
        column('RUN', (row) => row.run_id),
        column('REQUEST', (row) => row.title, { shrink: true }),
        column('RESPONSE', (row) => row.response, { shrink: true }),
        timeColumn('AT', (row) => row.responded_at),
      ],
      empty: 'There are no requests to answer.',
    }),
  ),
  async run(context, input) {
    const prompts = shouldPrompt(context, input);
    // Prompting is for one request.
    if (!prompts || hasFilter(input)) checkFlags(input);
    const answerFrom = (pending: HumanRequest): Promise<Answer> => answerFor(context, pending, input);
    if (hasFilter(input)) {
      if (input.run.length > 0 || input.request !== undefined)
        throw new UsageError(
          'Filters cannot be combined with runs or --request.',
          'Name runs, or select requests with filters such as --agent.',
        );
      const matches = await matchingRuns(context, input, input.answer.length > 0 ? 'question' : 'approval');
      return respondToSeveral(context, await context.client(), matches, answerFrom);
    }
    if (input.run.length === 0)
      throw new UsageError('No runs were specified.', 'Pass their numbers or IDs, or filters such as --agent and --type.');
    const client = await context.client();
    const { runs, request } = await targetsOf(context, client, input);
    const [run, ...otherRuns] = runs as [NamedRun, ...NamedRun[]];
    if (otherRuns.length === 0) return respondToOne(context, client, { run, request, prompts, flags: input });
    if (request !== undefined) throw new UsageError('--request names the request of one run, so it cannot be used with several runs.');
    if (prompts)
      throw new UsageError(
        'Specify the answer for all of these runs with --approve, --deny, or --answer.',
        'To be prompted for one request after another, use `aops inbox`.',
      );
    return respondToSeveral(context, client, runs, answerFrom);
  },
});

interface Targets {
  runs: NamedRun[];
  request: string | undefined;
}

/** The named runs, and the named request. A second ID can be that of a request of the first run, or of another run. */
async function targetsOf(
  context: Context,
  client: Client,
  { run: words, request }: { run: string[]; request?: string | undefined },
): Promise<Targets> {
  const [word, second = '', ...otherWords] = words as [string, ...string[]];
  if (!isUuid(second) || otherWords.length > 0 || request !== undefined) return { runs: await resolveRuns(context, words), request };
  const runs = await resolveRuns(context, [word]);
  const id = second.toLowerCase();
  const { pending_human_request: pending } = await client.call('getRun', { params: { run_id: (runs[0] as NamedRun).id } });
  if (pending?.id === id || !(await isRun(client, id))) return { runs, request: id };
  return { runs: await resolveRuns(context, words), request };
}

async function isRun(client: Client, id: string): Promise<boolean> {
  try {
    await client.call('getRun', { params: { run_id: id } });
    return true;
  } catch (error) {
    if (error instanceof ServiceAnswerError && error.status === 404) return false;
    throw error;
  }
}

interface SingleTarget {
  run: NamedRun;
  request: string | undefined;
  prompts: boolean;
  flags: Flags;
}

/** Answers the request of one run, with the flags or at a prompt. */
async function respondToOne(
  context: Context,
  client: Client,
  { run: { id }, request, prompts, flags }: SingleTarget,
): Promise<AnsweredRun | undefined> {
  const { run, pending_human_request: pending } = await client.call('getRun', { params: { run_id: id } });
  if (pending === null || (request !== undefined && request !== pending.id)) {
    // The service reports why the request is not pending: it was answered already or does not exist.
    if (request !== undefined && !prompts) return (await sendAnswer(client, id, request, await blindAnswer(context, flags))).human_request;
    if (pending === null) throw notWaiting(context, run);
    throw new AopsError('The run is waiting for the answer to another request.', {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint: `Watch it with \`aops runs watch ${runWord(runForHere(context, run))}\`.`,
    });
  }
  if (prompts) return void (await askHere(context, client, run, pending));
  return (await sendAnswer(client, id, pending.id, await answerFor(context, pending, flags))).human_request;
}

interface Flags {
  approve: boolean;
  deny: boolean;
  reason: string | undefined;
  answer: string[];
}

/** Whether to prompt for the answer, because no flag provides it and there is a terminal. */
const shouldPrompt = (context: Context, { approve, deny, reason, answer }: Flags): boolean =>
  !approve &&
  !deny &&
  reason === undefined &&
  answer.length === 0 &&
  context.terminal.interactive &&
  forPeople(context) &&
  !context.flags.dryRun;

function checkFlags({ approve, deny, reason, answer }: Flags): void {
  const decisions = [...(approve ? ['--approve'] : []), ...(deny ? ['--deny'] : []), ...(answer.length > 0 ? ['--answer'] : [])];
  if (reason !== undefined && !approve && !deny)
    throw new UsageError('--reason requires --approve or --deny.', 'It is the reason for that decision.');
  if (decisions.length === 1) return;
  if (decisions.length === 0)
    throw new UsageError('No answer was specified.', 'Use --approve, --deny, or --answer; --answer can be repeated.');
  throw new UsageError(`${decisions.join(' and ')} cannot be combined. Nothing was sent.`, 'Use only one of them.');
}

async function answerFor(context: Context, request: HumanRequest, flags: Flags): Promise<Answer> {
  const { answer } = flags;
  if (request.type === 'approval') {
    if (answer.length > 0) throw new UsageError(`"${request.title}" is an approval.`, 'Answer it with --approve or --deny.');
    return decision(context, flags);
  }
  if (answer.length === 0)
    throw new UsageError(
      `"${request.title}" is a question, not an approval.`,
      `Answer with --answer: ${(request.questions ?? []).map(({ question }) => `"${question}"`).join(', ')}.`,
    );
  return answerFromValues(context, request, answer);
}

/** The answer to a request whose questions are unknown. */
const blindAnswer = (context: Context, flags: Flags): Promise<Answer> =>
  flags.answer.length === 0 ? decision(context, flags) : blindAnswers(context, flags.answer);

async function decision(context: Context, { approve, reason }: Flags): Promise<Answer> {
  if (reason === undefined) return { approved: approve };
  return { approved: approve, reason: length(1, 2_000)((await readContent(context, reason)).trim(), '--reason') };
}
