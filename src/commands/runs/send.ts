import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { resolveRun } from '../../cli/names/resolve-run.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { HumanRequest, RunMessage } from '../../interface/types.ts';
import { postGuarded, recipient } from './sending.ts';

/** The message, and the human request that it answered. */
type Sent = RunMessage & { human_request: AnsweredRequest | null };
interface AnsweredRequest {
  id: string;
  /** Null if the request was not read before. */
  type: HumanRequest['type'] | null;
  title: string;
  response: string | null;
}

export default defineCommand({
  summary: 'Send a message to a run',
  description:
    'A completed or interrupted run continues with the message; a running one can read it in a later step, and if none does, it starts another turn at its end. A message to a waiting run would answer its human request, so nothing is sent: on a terminal you are asked what to do, otherwise the command ends with exit 6. Answer with `aops runs respond`, or send the message as the answer with --as-answer.',
  arguments: {
    run: runArgument,
    message: argument('The message; @FILE reads it from a file, - from standard input'),
  },
  options: {
    asAnswer: flag('Answer the pending human request with the message. An approval is denied, with the message as the reason'),
  },
  operations: ['getRun', 'postRunMessage'],
  mutates: true,
  examples: [
    { command: "aops runs send RUN 'Use the March figures'", text: 'Send a message' },
    { command: 'aops runs send @latest - < notes.txt', text: 'Send a message from a file' },
    { command: "aops runs send RUN 'The second one' --as-answer", text: 'Answer the pending question' },
  ],
  // Null where the message answered nothing.
  result: returns('postRunMessage.message', {
    human_request: { id: 'uuid', type: 'approval|question', title: 'string', response: 'string|null' },
  }),
  output: recordOutput<Sent>(({ human_request: request, ...message }) => ({
    ...(request === null ? { Sent: message.text_content } : { [decisionOf(request)]: request.title, Response: message.text_content }),
    At: time(message.timestamp),
    ID: message.id,
  })),
  async run(context, input): Promise<Sent> {
    const message = await readContent(context, input.message, length(1), 'MESSAGE');
    const run = await resolveRun(context, input.run);
    const target = await recipient(context, run, input.asAnswer);
    const response = await postGuarded(context, run, message, target);
    return { ...response.message, human_request: answeredBy(target.request, response.human_request) };
  },
});

/** The request that was answered, as reported by the service or else as it was read before. */
function answeredBy(
  pending: HumanRequest | undefined,
  reportedRequest: Omit<AnsweredRequest, 'type'> | null | undefined,
): AnsweredRequest | null {
  const answeredRequest = reportedRequest ?? (pending && { ...pending, response: null });
  if (!answeredRequest) return null;
  const { id, title, response } = answeredRequest;
  return { id, type: pending?.type ?? null, title, response };
}

/** The decision as reported by the service: not every service might treat a message as a denial. */
const decisionOf = ({ type, response }: AnsweredRequest): string =>
  type === 'approval' && response?.startsWith('denied') ? 'Denied' : 'Answered';
