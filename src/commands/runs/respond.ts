import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { type Answer, answerFromFlags } from '../../watch/answers.ts';
import { uuid } from '../checks.ts';
import { argument, defineCommand, flag, optionalArgument, texts } from '../define.ts';
import { recordOutput, time } from '../output.ts';
import { runId } from '../resolve.ts';
import { returns } from '../result.ts';
import { sendAnswer } from './requests.ts';

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
    'Without REQUEST, the pending one is answered. An answer is given as QUESTION=ANSWER; with a single question the answer alone will do.',
  arguments: {
    run: argument('The run, or @latest', { complete: 'runs' }),
    request: optionalArgument('The human request; by default the pending one', { check: uuid }),
  },
  options: {
    approve: flag('Approve'),
    deny: flag('Deny'),
    answer: texts('QUESTION=ANSWER', 'Answer a question; repeat it for further questions, and for further choices'),
  },
  operations: ['getRun', 'respondToHumanRequest'],
  mutates: true,
  examples: [
    { command: 'aops runs respond @latest --approve', text: 'Approve what the newest run asks' },
    { command: "aops runs respond RUN --answer 'Which vendor?=Acme GmbH'", text: 'Answer a question' },
    { command: "aops runs respond RUN --answer 'Cost centres=Alpha' --answer 'Cost centres=Beta'", text: 'Choose several' },
  ],
  result: returns('respondToHumanRequest.human_request'),
  output: recordOutput<Answered>((request) => ({
    Answered: request.title,
    Response: request.response,
    At: time(request.responded_at),
    Run: request.run_id,
  })),
  async run(context, input) {
    checkFlags(input);
    const client = await context.client();
    const id = await runId(context, input.run);
    const { run, pending_human_request: pending } = await client.call('getRun', { params: { run_id: id } });
    if (pending === null || (input.request !== undefined && input.request !== pending.id)) {
      // The service knows best what became of a request that is not pending: answered already, or not there.
      if (input.request !== undefined) return (await sendAnswer(client, id, input.request, blindAnswer(input))).human_request;
      throw new AopsError(`The run waits for nobody: its status is ${run.status}.`, {
        code: 'run_not_waiting',
        exit: exitCodes.conflict,
        hint: `Follow it with \`aops runs watch ${id}\`.`,
      });
    }
    return (await sendAnswer(client, id, pending.id, answerFor(pending, input))).human_request;
  },
});

interface Flags {
  approve: boolean;
  deny: boolean;
  answer: string[];
}

function checkFlags({ approve, deny, answer }: Flags): void {
  if (Number(approve) + Number(deny) + Number(answer.length > 0) === 1) return;
  throw new UsageError('Say how to answer: --approve, --deny, or --answer.', 'Exactly one of them; --answer may be repeated.');
}

function answerFor(request: HumanRequest, { approve, answer }: Flags): Answer {
  if (request.type === 'approval') {
    if (answer.length > 0) throw new UsageError(`"${request.title}" is an approval.`, 'Answer it with --approve or --deny.');
    return { approved: approve };
  }
  if (answer.length === 0)
    throw new UsageError(
      `"${request.title}" asks questions.`,
      `Answer with --answer: ${(request.questions ?? []).map(({ question }) => `"${question}"`).join(', ')}.`,
    );
  return answerFromFlags(request, answer);
}

/** The answer to a request whose questions are not known. */
function blindAnswer({ approve, answer }: Flags): Answer {
  if (answer.length === 0) return { approved: approve };
  return {
    answers: Object.fromEntries(answer.map((pair) => [pair.slice(0, Math.max(0, pair.indexOf('='))), pair.slice(pair.indexOf('=') + 1)])),
  };
}
