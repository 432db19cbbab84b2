/**
 * Who answers human requests, and the questions of builder runs, while they are watched: the answers file first, then, as
 * --on-request says, the person at the terminal, somebody elsewhere (wait), or nobody (fail).
 */
import { type AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanQuestion, HumanRequest } from '../../interface/types.ts';
import type { Prompter, Question } from '../../terminal/prompts.ts';
import { type Answer, type AnswersFile, answerFromFile, joinChoices, optionLabels, parseAnswersFile } from '../../watch/answers.ts';
import { readText } from '../body.ts';
import type { Context } from '../context.ts';
import { choice, text } from '../define.ts';

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
    throw new UsageError('Nobody can be asked here: this is no terminal.', 'Use --answers FILE, or --on-request wait or fail.');
  const onRequest = input.onRequest ?? (context.terminal.interactive ? 'prompt' : 'fail');
  return {
    onRequest,
    answers: input.answers === undefined ? undefined : await parseAnswersFile(await readText(context, input.answers), input.answers),
  };
}

/** The person chose to leave the request pending. */
export class LeftPending extends Error {}

/** Whose request it is: how it is answered, and the error where nobody may be asked. */
export interface Requester {
  send(request: HumanRequest, answer: Answer): Promise<unknown>;
  waiting(request: HumanRequest): AopsError;
}

export interface ResponderOptions extends FollowOptions {
  prompter: Prompter;
  /** Whether the person has an editor for long answers ($VISUAL or $EDITOR). */
  editor: boolean;
  note: (text: string) => void;
}

/**
 * Answers one request, or decides not to. Resolves when it is answered, by whomever, or left to somebody else: to
 * whether the person here answered it.
 * @param withdrawn aborted when the request is no longer pending; an open prompt then goes away
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
  if (!prepared && onRequest === 'wait') return false;
  if (!prepared && onRequest === 'fail') throw requester.waiting(request);
  const answer = prepared ?? (await ask(options, request, withdrawn));
  if (answer === undefined) return false;
  try {
    await requester.send(request, answer);
    if (prepared) note('Answered from the answers file.');
    return !prepared;
  } catch (error) {
    // Somebody was faster; the stream says what became of it.
    if (!(error instanceof ServiceAnswerError) || error.exit !== exitCodes.conflict) throw error;
    note('It was answered already; your answer was not used.');
    return false;
  }
}

type Asker = Pick<ResponderOptions, 'prompter' | 'editor'>;

/** Asks the person. Undefined when the request was withdrawn while it was on the screen. */
async function ask(asker: Asker, request: HumanRequest, withdrawn: AbortSignal): Promise<Answer | undefined> {
  try {
    return request.type === 'approval'
      ? await askApproval(asker.prompter, request, withdrawn)
      : await askQuestions(asker, request, withdrawn);
  } catch (error) {
    if (withdrawn.aborted && !(error instanceof LeftPending)) return undefined;
    throw error;
  }
}

async function askApproval(prompter: Prompter, request: HumanRequest, signal: AbortSignal): Promise<Answer> {
  const { title } = request;
  const description = request.description?.trimEnd();
  const choice = await prompter.select(
    {
      ...(description ? { message: `${title}\n${description}\n`, parts: { above: description, message: title } } : { message: title }),
      choices: [
        { name: 'Approve', value: 'approve' },
        { name: 'Deny', value: 'deny' },
        { name: 'Deny, and say why', value: 'explain' },
        { name: 'Leave it pending', value: 'leave' },
      ],
    },
    { signal },
  );
  if (choice === 'leave') throw new LeftPending();
  if (choice !== 'explain') return { approved: choice === 'approve' };
  const validate = (text: string): true | string => text.trim() !== '' || 'Write a reason; Ctrl-C leaves it pending.';
  return { approved: false, reason: (await prompter.input({ message: 'Why?', validate }, { signal })).trim() };
}

async function askQuestions(asker: Asker, request: HumanRequest, signal: AbortSignal): Promise<Answer> {
  const answers: Record<string, string> = {};
  const questions = request.questions ?? [];
  for (const [index, question] of questions.entries()) {
    const shown = index === 0 ? introduced(request, question.question) : { message: question.question };
    answers[question.question] = await askQuestion(asker, question, shown, signal);
  }
  return { answers };
}

type Shown = Pick<Question, 'message' | 'parts'>;

/** The first question, with what the request says beside its questions. */
function introduced({ title, description }: HumanRequest, question: string): Shown {
  const above = [...(title === question ? [] : [title]), ...(description ? [description.trimEnd()] : [])].join('\n');
  if (above === '') return { message: question };
  return { message: `${above}\n${description ? '\n' : ''}${question}`, parts: { above, message: question } };
}

async function askQuestion(asker: Asker, question: HumanQuestion, shown: Shown, signal: AbortSignal): Promise<string> {
  const { prompter } = asker;
  const labels = optionLabels(question);
  const choices = (question.options ?? []).map(({ label, description }) => ({
    name: label,
    value: label,
    ...(description === undefined ? {} : { description }),
  }));
  if (labels.length > 0 && question.multi_select)
    return joinChoices(await prompter.checkbox({ ...shown, choices, required: true }, { signal }));
  if (labels.length > 0) {
    const leave = { name: 'Leave it pending', value: '\0leave' };
    const chosen = await prompter.select({ ...shown, choices: [...choices, leave] }, { signal });
    if (chosen === leave.value) throw new LeftPending();
    return chosen;
  }
  return askText(asker, shown, signal);
}

/** A free answer, on the line or in the editor. */
async function askText({ prompter, editor }: Asker, shown: Shown, signal: AbortSignal): Promise<string> {
  const hinted = (text: string): string => (editor ? `${text} (Enter alone opens your editor)` : text);
  const { message, parts } = shown;
  const asked = { message: hinted(message), ...(parts === undefined ? {} : { parts: { ...parts, message: hinted(parts.message) } }) };
  const validate = (text: string): true | string => editor || text.trim() !== '' || 'Write an answer; Ctrl-C leaves it pending.';
  for (;;) {
    const line = await prompter.input({ ...asked, validate }, { signal });
    const answer =
      line.trim() === '' ? (await prompter.editor({ message: parts?.message ?? message, extension: '.md' }, { signal })).trim() : line;
    if (answer !== '') return answer;
  }
}

/** The responder of a command's own terminal. */
export const responderHere = (context: Context, options: FollowOptions): ResponderOptions => ({
  ...options,
  prompter: context.prompter,
  editor: Boolean(context.env.VISUAL || context.env.EDITOR),
  note: (line) => context.terminal.note(line),
});
