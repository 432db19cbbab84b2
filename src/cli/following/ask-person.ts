/** Prompts for the answer to a human request. */
import type { HumanQuestion, HumanRequest } from '../../interface/types.ts';
import { PromptDismissed, type Prompter, type PromptOptions, type Question } from '../../terminal/prompts.ts';
import { type Answer, joinChoices, optionLabels } from '../../watch/answers.ts';
import type { WrittenTexts } from './written-texts.ts';

/** The person chose to leave the request pending. */
export class LeftPendingError extends Error {}

/** The same wording for the entry of a list and for the key. */
const leave = 'leave it pending';
const leaveChoice = { name: 'Leave it pending', value: '\0leave' };

interface PersonPrompt {
  prompter: Prompter;
  request: HumanRequest;
  /** Receives every text that the person writes. */
  texts: WrittenTexts;
  signal: AbortSignal;
}

/**
 * Prompts for all answers to a request. The first prompt appears by itself; each further one follows an answer.
 * @throws LeftPendingError, PromptCancelled, or the signal's reason when the request was withdrawn
 */
export async function askPerson(prompt: PersonPrompt): Promise<Answer> {
  try {
    return prompt.request.type === 'approval' ? await askApproval(prompt) : await askQuestions(prompt);
  } catch (error) {
    throw error instanceof PromptDismissed ? new LeftPendingError() : error;
  }
}

async function askApproval({ prompter, request, texts, signal }: PersonPrompt): Promise<Answer> {
  const choice = await prompter.select(
    {
      message: request.title,
      detail: request.description ?? undefined,
      escape: leave,
      neutral: true,
      choices: [
        { name: 'Approve', value: 'approve' },
        { name: 'Deny', value: 'deny' },
        { name: 'Approve with a comment', value: 'comment' },
        { name: 'Deny with a reason', value: 'explain' },
        leaveChoice,
      ],
    },
    { signal, unsolicited: true },
  );
  if (choice === leaveChoice.value) throw new LeftPendingError();
  if (choice !== 'explain' && choice !== 'comment') return { approved: choice === 'approve' };
  const approved = choice === 'comment';
  const [message, noun] = approved ? ['Your comment?', 'comment'] : ['Why?', 'reason'];
  const validate = (text: string): true | string => text.trim() !== '' || `Write the ${noun}, or press Esc to leave it pending.`;
  const onUnsent = (text: string): void => texts.add(message, text);
  const reason = (await prompter.input({ message, escape: leave, editor: '.md', validate, onUnsent }, { signal })).trim();
  texts.add(message, reason);
  return { approved, reason };
}

async function askQuestions(prompt: PersonPrompt): Promise<Answer> {
  const { request, signal } = prompt;
  const answers: Record<string, string> = {};
  for (const [index, question] of (request.questions ?? []).entries()) {
    const above = index === 0 ? introduction(request, question.question) : undefined;
    answers[question.question] = await askQuestion(
      prompt,
      question,
      { message: question.question, above, escape: leave },
      {
        signal,
        unsolicited: index === 0,
      },
    );
  }
  return { answers };
}

/** The title and description of the request, as far as its questions do not repeat them. */
function introduction({ title, description }: HumanRequest, question: string): string | undefined {
  const parts = [...(title === question ? [] : [title]), ...(description ? [description.trimEnd(), ''] : [])];
  return parts.length === 0 ? undefined : parts.join('\n');
}

async function askQuestion(
  prompt: PersonPrompt,
  question: HumanQuestion,
  promptQuestion: Question,
  options: PromptOptions,
): Promise<string> {
  const { prompter, texts } = prompt;
  const labels = optionLabels(question);
  const choices = (question.options ?? []).map(({ label, description }) => ({
    name: label,
    value: label,
    ...(description === undefined ? {} : { description }),
  }));
  if (labels.length > 0 && question.multi_select)
    return joinChoices(await prompter.checkbox({ ...promptQuestion, choices, required: true }, options));
  if (labels.length > 0) {
    const selectedValue = await prompter.select({ ...promptQuestion, choices: [...choices, leaveChoice], neutral: true }, options);
    if (selectedValue === leaveChoice.value) throw new LeftPendingError();
    return selectedValue;
  }
  const validate = (text: string): true | string => text.trim() !== '' || 'Write an answer, or press Esc to leave it pending.';
  const onUnsent = (text: string): void => texts.add(question.question, text);
  const text = await prompter.input({ ...promptQuestion, editor: '.md', validate, onUnsent }, options);
  texts.add(question.question, text);
  return text;
}
