/**
 * Who answers human requests, and the questions of builder runs, while they are watched: first the answers file, then,
 * depending on --on-request, the person at the terminal, somebody elsewhere (wait), or nobody (fail).
 */
import type { Clock } from '../../base/clock.ts';
import { type AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Drafts } from '../../terminal/prompting/drafts.ts';
import type { Prompter } from '../../terminal/prompts.ts';
import { type Answer, type AnswersFile, answerFromFile, parseAnswersFile } from '../../watch/answers.ts';
import type { subjectMembers } from '../../watch/envelope.ts';
import { readText } from '../input/body.ts';
import type { Context } from '../kit/context.ts';
import { choice, text } from '../kit/flags.ts';
import { askPerson, LeftPendingError } from './ask-person.ts';
import { deliver, isAway } from './delivery.ts';
import { checkEventForm } from './event-writer.ts';
import { WrittenTexts } from './written-texts.ts';

export { LeftPendingError } from './ask-person.ts';

export const followFlags = {
  onRequest: choice(
    ['prompt', 'wait', 'fail'],
    'What to do about a human request: prompt for it here, wait for an answer from elsewhere, or fail with exit code 12 (default: prompt on a terminal, otherwise fail)',
  ),
  answers: text('FILE', 'Answer requests from this file first', { complete: 'files' }),
} as const;

export type OnRequest = 'prompt' | 'wait' | 'fail';

export interface FollowOptions {
  onRequest: OnRequest;
  answers: AnswersFile | undefined;
}

/** The flags of a command that follows something, and --resume if it has that. */
export interface FollowInput {
  onRequest?: OnRequest | undefined;
  answers?: string | undefined;
  resume?: string | undefined;
}

/**
 * Reads the flags before anything is started, so that an invalid answers file changes nothing.
 * @param subject the member of events that names what they are about
 * @throws UsageError
 */
export async function followOptions(
  context: Context,
  input: FollowInput,
  subject: (typeof subjectMembers)[number],
): Promise<FollowOptions> {
  if (context.format === 'ndjson') await checkEventForm(context, { fields: [subject], resume: input.resume });
  if (input.onRequest === 'prompt' && !context.terminal.interactive)
    throw new UsageError('--on-request prompt needs an interactive terminal.', 'Use --answers FILE, or --on-request wait or fail.');
  const onRequest = input.onRequest ?? (context.terminal.interactive ? 'prompt' : 'fail');
  return {
    onRequest,
    answers: input.answers === undefined ? undefined : await parseAnswersFile(await readText(context, input.answers), input.answers),
  };
}

/** Why a request is no longer pending, as a sentence for the person whose prompt disappears. */
export class RequestWithdrawn extends Error {}

/** The source of a request: how to answer it, and the error if prompting is not possible. */
export interface Requester {
  /** Returns a function that sends the answer. Called again, it sends the same change with the same idempotency key. */
  sender(request: HumanRequest, answer: Answer): () => Promise<unknown>;
  waitingError(request: HumanRequest): AopsError;
}

export interface ResponderOptions extends FollowOptions {
  prompter: Prompter;
  /** Where to save a text that was not sent. */
  drafts: Drafts;
  clock: Clock;
  note: (text: string) => void;
  /** A line that --quiet does not silence. */
  warn: (text: string) => void;
}

/**
 * Answers one request, or leaves it to somebody else. Resolves to whether the person here answered it.
 * @param withdrawal aborted when the request is no longer pending; an open prompt then disappears, and a `RequestWithdrawn` reason is shown
 * @throws AopsError exit 12 when prompting is not possible, UsageError when the answers file does not match the request, LeftPendingError,
 *   PromptCancelled
 */
export async function respond(
  options: ResponderOptions,
  requester: Requester,
  request: HumanRequest,
  withdrawal: AbortSignal,
): Promise<boolean> {
  const { onRequest, answers, note } = options;
  const preparedAnswer = answers && answerFromFile(answers, request);
  if (preparedAnswer) {
    const isAccepted = await unlessAnswered(requester.sender(request, preparedAnswer), note);
    if (isAccepted) note('Answered from the answers file.');
    return false;
  }
  if (onRequest === 'wait') return false;
  if (onRequest === 'fail') throw requester.waitingError(request);
  return askAndSend(options, requester, request, withdrawal);
}

/** Prompts the person and sends the answer. A text that could not be sent is saved. */
async function askAndSend(
  { prompter, drafts, clock, note, warn }: ResponderOptions,
  requester: Requester,
  request: HumanRequest,
  withdrawal: AbortSignal,
): Promise<boolean> {
  const texts = new WrittenTexts();
  let isAccepted = false;
  try {
    const answer = await askPerson({ prompter, request, texts, signal: withdrawal });
    const send = requester.sender(request, answer);
    isAccepted = await unlessAnswered(() => deliver(send, { clock, note, withdrawal }), note);
    return isAccepted;
  } catch (error) {
    // The request was withdrawn while the prompt was open, or while the service was unreachable.
    if (!withdrawal.aborted || error instanceof LeftPendingError || (error !== withdrawal.reason && !isAway(error))) throw error;
    if (withdrawal.reason instanceof RequestWithdrawn) note(withdrawal.reason.message);
    return false;
  } finally {
    if (!isAccepted) texts.save(request.title, drafts, warn);
  }
}

/** Resolves to whether the answer was accepted: somebody else may have been faster. */
async function unlessAnswered(send: () => Promise<unknown>, note: (text: string) => void): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.exit !== exitCodes.conflict) throw error;
    note('The request had already been answered, so your answer was not used.');
    return false;
  }
}

/** The responder for the command's own terminal. */
export const responderHere = (context: Context, options: FollowOptions): ResponderOptions => ({
  ...options,
  prompter: context.prompter,
  drafts: context.drafts,
  clock: context.clock,
  note: (line) => context.terminal.note(line),
  warn: (line) => context.terminal.warn(line),
});
