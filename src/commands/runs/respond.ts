import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { answerHere } from '../../cli/following/answer-here.ts';
import { sendAnswer } from '../../cli/following/requests.ts';
import { answerGiven, answerOption, blindAnswers } from '../../cli/input/answer-flags.ts';
import { readContent } from '../../cli/input/body.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { pickedRunArgument, runForHere, runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Answer } from '../../watch/answers.ts';

interface Answered {
  id: string;
  run_id: string;
  title: string;
  response: string | null;
  responded_at: string | null;
}

export default defineCommand({
  summary: 'Answer the human request a run waits for',
  description:
    'Without REQUEST, the pending one is answered. On a terminal the question is asked unless a flag answers it. An answer is given as QUESTION=ANSWER; with a single question the answer alone will do. A reason goes beyond the interface: a hosted service may ignore it.',
  arguments: {
    run: pickedRunArgument({ runs: 'waiting' }),
    request: optionalArgument('The human request; by default the pending one', { check: uuid }),
  },
  options: {
    approve: flag('Approve'),
    deny: flag('Deny'),
    reason: text('TEXT|@FILE|-', 'The reason for the decision, with --approve or --deny'),
    answer: answerOption,
  },
  operations: ['getRun', 'streamRunEvents', 'respondToHumanRequest'],
  mutates: true,
  examples: [
    { command: 'aops runs respond @latest --approve', text: 'Approve what the newest run asks' },
    { command: "aops runs respond RUN --approve --reason 'Within the budget'", text: 'Approve, and give the run the reason' },
    { command: "aops runs respond RUN --deny --reason 'The amount is wrong'", text: 'Deny, and give the run the reason' },
    { command: "aops runs respond RUN --answer 'Which vendor?=Acme GmbH'", text: 'Answer a question' },
    { command: "aops runs respond RUN --answer 'Cost centres=Alpha' --answer 'Cost centres=Beta'", text: 'Choose several' },
    { command: "aops runs respond RUN --answer 'A note?=@note.md'", text: 'A long answer from a file' },
  ],
  result: returns('respondToHumanRequest.human_request'),
  output: recordOutput<Answered>((request) => ({
    Answered: request.title,
    Response: request.response,
    At: time(request.responded_at),
    Run: request.run_id,
  })),
  async run(context, input) {
    const asks = wantsToBeAsked(context, input);
    if (!asks) checkFlags(input);
    const client = await context.client();
    const id = await runId(context, input.run);
    const { run, pending_human_request: pending } = await client.call('getRun', { params: { run_id: id } });
    if (pending === null || (input.request !== undefined && input.request !== pending.id)) {
      // The service knows best what became of a request that is not pending: answered already, or not there.
      if (input.request !== undefined && !asks)
        return (await sendAnswer(client, id, input.request, await blindAnswer(context, input))).human_request;
      throw new AopsError(
        asks && pending !== null
          ? 'The run waits for the answer to another request.'
          : `The run is not waiting for an answer: its status is ${run.status}.`,
        {
          code: 'run_not_waiting',
          exit: exitCodes.conflict,
          hint: `Follow it with \`aops runs watch ${runWord(runForHere(context, run))}\`.`,
        },
      );
    }
    if (asks) return void (await askHere(context, client, run, pending));
    return (await sendAnswer(client, id, pending.id, await answerFor(context, pending, input))).human_request;
  },
});

interface Flags {
  approve: boolean;
  deny: boolean;
  reason: string | undefined;
  answer: string[];
}

/** Whether no answer was given and a person is there to be asked. */
const wantsToBeAsked = (context: Context, { approve, deny, reason, answer }: Flags): boolean =>
  !approve &&
  !deny &&
  reason === undefined &&
  answer.length === 0 &&
  context.terminal.interactive &&
  forPeople(context) &&
  !context.flags.dryRun;

/** Asks what the run asks, and says what came of it. @throws AopsError exit 6 when the run stopped asking meanwhile */
async function askHere(context: Context, client: Client, run: Run, request: HumanRequest): Promise<void> {
  const named = runForHere(context, run);
  const outcome = await answerHere(context, client, run.id, request);
  if (outcome === 'gone')
    throw new AopsError('The run no longer asks: somebody else answered, or it was stopped.', {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint: `See what came of it with \`aops runs watch ${runWord(named)}\`.`,
    });
  const done = outcome === 'answered' ? `Answered: ${request.title}` : `Left pending: ${request.title}`;
  const next = outcome === 'answered' ? 'Follow the run' : 'Answer it later';
  const command = outcome === 'answered' ? 'watch' : 'respond';
  context.terminal.note(`${sanitizeLine(done)}\n${next} with: aops runs ${command} ${runWord(named)}`);
}

function checkFlags({ approve, deny, reason, answer }: Flags): void {
  const given = [...(approve ? ['--approve'] : []), ...(deny ? ['--deny'] : []), ...(answer.length > 0 ? ['--answer'] : [])];
  if (given.length <= 1 && reason !== undefined && !approve && !deny)
    throw new UsageError('--reason needs --approve or --deny.', 'It is the reason for that decision.');
  if (given.length === 1) return;
  if (given.length === 0)
    throw new UsageError('Say how to answer: --approve, --deny, or --answer.', 'Use one of them; --answer may be repeated.');
  throw new UsageError(`${given.join(' and ')} cannot be used together. Nothing was sent.`, 'Decide on one of them.');
}

async function answerFor(context: Context, request: HumanRequest, flags: Flags): Promise<Answer> {
  const { answer } = flags;
  if (request.type === 'approval') {
    if (answer.length > 0) throw new UsageError(`"${request.title}" is an approval.`, 'Answer it with --approve or --deny.');
    return decision(context, flags);
  }
  if (answer.length === 0)
    throw new UsageError(
      `"${request.title}" asks questions.`,
      `Answer with --answer: ${(request.questions ?? []).map(({ question }) => `"${question}"`).join(', ')}.`,
    );
  return answerGiven(context, request, answer);
}

/** The answer to a request whose questions are not known. */
const blindAnswer = (context: Context, flags: Flags): Promise<Answer> =>
  flags.answer.length === 0 ? decision(context, flags) : blindAnswers(context, flags.answer);

async function decision(context: Context, { approve, reason }: Flags): Promise<Answer> {
  if (reason === undefined) return { approved: approve };
  return { approved: approve, reason: length(1, 2_000)((await readContent(context, reason)).trim(), '--reason') };
}
