/** Turns `--answer 'QUESTION=ANSWER'` into an answer: `@FILE` and `-` are replaced with their content, unless an option has that name. */
import type { HumanRequest } from '../../interface/types.ts';
import { type Answer, answerFromFlags, assignToQuestion, optionLabels } from '../../watch/answers.ts';
import type { Context } from '../kit/context.ts';
import { texts } from '../kit/flags.ts';
import { readContent } from './body.ts';

export const answerOption = texts(
  'QUESTION=ANSWER',
  'Answer a question; repeat it for more questions or choices. The answer @FILE is read from a file, and - from standard input',
);

/** @throws UsageError when a value matches no question, a question has no answer, or a file cannot be read */
export async function answerFromValues(context: Context, request: HumanRequest, values: readonly string[]): Promise<Answer> {
  const texts: string[] = [];
  for (const value of values) texts.push(isReference(value) ? await resolveAnswer(context, request, value) : value);
  return answerFromFlags(request, texts);
}

/** Answers without knowing the questions: each value is split at the first `=`. @throws UsageError */
export async function blindAnswers(context: Context, values: readonly string[]): Promise<Answer> {
  const answers: Record<string, string> = {};
  for (const value of values) {
    const separator = Math.max(0, value.indexOf('='));
    answers[value.slice(0, separator)] = await readContent(context, value.slice(separator + 1));
  }
  return { answers };
}

const isReference = (value: string): boolean => /(?:^|=)(?:@|-$)/.test(value);

async function resolveAnswer(context: Context, request: HumanRequest, value: string): Promise<string> {
  const { question, answer } = assignToQuestion(request.questions ?? [], value);
  if (!isReference(answer) || optionLabels(question).includes(answer)) return value;
  return `${question.question}=${await readContent(context, answer)}`;
}
