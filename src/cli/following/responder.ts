/**
 * Who answers human requests, and the questions of builder runs, while they are watched: the answers file first, then, as
 * --on-request says, the person at the terminal, somebody elsewhere (wait), or nobody (fail).
 */
import type { Clock } from '../../base/clock.ts';
import { type AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Drafts } from '../../terminal/prompting/drafts.ts';
import type { Prompter } from '../../terminal/prompts.ts';
import { type Answer, type AnswersFile, answerFromFile, parseAnswersFile } from '../../watch/answers.ts';
import { readText } from '../input/body.ts';
import type { Context } from '../kit/context.ts';
import { choice, text } from '../kit/flags.ts';
import { askPerson, LeftPending } from './ask-person.ts';
import { deliver, isAway } from './delivery.ts';
import { WrittenTexts } from './written-texts.ts';

export { LeftPending } from './ask-person.ts';

export const followFlags = {
  onRequest: choice(
    ['prompt', 'wait', 'fail'],
    'When a person is asked: ask here, wait for an answer from elsewhere, or end with exit 12 (default: prompt on a terminal, else fail)',
  ),
  answers: text('FILE', 'Answer what is asked from this file first', { complete: 'files' }),
} as const;

export type OnRequest = 'prompt' | 'wait' | 'fail';

export interface FollowOptions {
  onRequest: OnRequest;
  answers: AnswersFile | undefined;
}

/** Reads the flags before anything is started, so that a bad answers file changes nothing. @throws UsageError */
export async function followOptions(
  context: Context,
  input: { onRequest?: OnRequest | undefined; answers?: string | undefined },
): Promise<FollowOptions> {
  if (input.onRequest === 'prompt' && !context.terminal.interactive)
    throw new UsageError('--on-request prompt needs a terminal.', 'Use --answers FILE, or --on-request wait or fail.');
  const onRequest = input.onRequest ?? (context.terminal.interactive ? 'prompt' : 'fail');
  return {
    onRequest,
    answers: input.answers === undefined ? undefined : await parseAnswersFile(await readText(context, input.answers), input.answers),
  };
}

/** Why a request is no longer asked, as a sentence for the person at the prompt that goes away. */
export class Withdrawn extends Error {}

/** Whose request it is: how it is answered, and the error where nobody may be asked. */
export interface Requester {
  /** What sends the answer. Called again, it is the same change with the same idempotency key. */
  sender(request: HumanRequest, answer: Answer): () => Promise<unknown>;
  waiting(request: HumanRequest): AopsError;
}

export interface ResponderOptions extends FollowOptions {
  prompter: Prompter;
  /** Where a text that was not sent is saved. */
  drafts: Drafts;
  clock: Clock;
  note: (text: string) => void;
  /** A line that --quiet does not silence. */
  warn: (text: string) => void;
}

/**
 * Answers one request, or decides not to. Resolves when it is answered, by whomever, or left to somebody else: to
 * whether the person here answered it.
 * @param withdrawn aborted when the request is no longer pending; an open prompt then goes away, and a `Withdrawn` is said
 * @throws AopsError exit 12 when nobody may be asked, UsageError when the answers file does not fit, LeftPending, PromptCancelled
 */
export async function respond(
  options: ResponderOptions,
  requester: Requester,
  request: HumanRequest,
  withdrawn: AbortSignal,
): Promise<boolean> {
  const { onRequest, answers, note } = options;
  const prepared = answers && answerFromFile(answers, request);
  if (prepared) {
    const answered = await unlessAnswered(requester.sender(request, prepared), note);
    if (answered) note('Answered from the answers file.');
    return false;
  }
  if (onRequest === 'wait') return false;
  if (onRequest === 'fail') throw requester.waiting(request);
  return askAndSend(options, requester, request, withdrawn);
}

/** Asks the person and sends what they answer. A text that is not sent in the end is saved. */
async function askAndSend(
  { prompter, drafts, clock, note, warn }: ResponderOptions,
  requester: Requester,
  request: HumanRequest,
  withdrawn: AbortSignal,
): Promise<boolean> {
  const written = new WrittenTexts();
  let answered = false;
  try {
    const answer = await askPerson({ prompter, request, written, signal: withdrawn });
    const send = requester.sender(request, answer);
    answered = await unlessAnswered(() => deliver(send, { clock, note, withdrawn }), note);
    return answered;
  } catch (error) {
    // It was withdrawn while it was on the screen, or while the service was away.
    if (!withdrawn.aborted || error instanceof LeftPending || (error !== withdrawn.reason && !isAway(error))) throw error;
    if (withdrawn.reason instanceof Withdrawn) note(withdrawn.reason.message);
    return false;
  } finally {
    if (!answered) written.save(request.title, drafts, warn);
  }
}

/** Resolves to whether the answer was used: somebody else may have been faster. */
async function unlessAnswered(send: () => Promise<unknown>, note: (text: string) => void): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.exit !== exitCodes.conflict) throw error;
    note('It was answered already, so your answer was not used.');
    return false;
  }
}

/** The responder of a command's own terminal. */
export const responderHere = (context: Context, options: FollowOptions): ResponderOptions => ({
  ...options,
  prompter: context.prompter,
  drafts: context.drafts,
  clock: context.clock,
  note: (line) => context.terminal.note(line),
  warn: (line) => context.terminal.warn(line),
});
