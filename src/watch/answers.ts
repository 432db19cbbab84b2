/**
 * Answers to human requests: the form in which they are sent, how a person's words match the options of a question, and
 * answers files, which answer for a person who is absent.
 */
import { UsageError } from '../base/errors.ts';
import type { HumanQuestion, HumanRequest } from '../interface/types.ts';

/** The answer to an approval. The reason goes beyond the interface. */
export interface Decision {
  approved: boolean;
  reason?: string;
}

/** The body of respondToHumanRequest. */
export type Answer = Decision | { answers: Record<string, string> };

/** The labels a question offers; empty when its answer is free text. */
export const optionLabels = (question: HumanQuestion): string[] => (question.options ?? []).map(({ label }) => label);

/** Several options in one answer are joined with commas (further groups, Runs). */
export const joinChoices = (labels: readonly string[]): string => labels.join(', ');

/**
 * The answer to one question in the spelling that the service expects. Options are matched case-insensitively.
 * @throws UsageError naming the question and, where there are options, all of them
 */
export function fittingAnswer(question: HumanQuestion, input: string | readonly string[]): string {
  const labels = optionLabels(question);
  const values = (typeof input === 'string' ? [input] : [...input]).map((value) => value.trim());
  if (values.length === 0 || values.some((value) => value === ''))
    throw new UsageError(`"${question.question}" needs an answer that is not empty.`);
  if (labels.length === 0) return joinChoices(values);
  const selectedLabels = values.flatMap((value) => chosenLabels(question, labels, value));
  if (selectedLabels.length > 1 && !question.multi_select)
    throw new UsageError(`"${question.question}" accepts only one answer, not ${selectedLabels.length}.`, optionsHint(labels));
  return joinChoices([...new Set(selectedLabels)]);
}

const optionsHint = (labels: readonly string[]): string => `The options are: ${labels.join(' | ')}`;

function chosenLabels(question: HumanQuestion, labels: readonly string[], value: string): string[] {
  const exact = findLabel(labels, value);
  if (exact !== undefined) return [exact];
  // "Alpha, Beta" for a question that accepts several options.
  const listedLabels = question.multi_select ? labelsInText(labels, value.split(',')) : undefined;
  if (listedLabels !== undefined) return listedLabels;
  throw new UsageError(`"${value}" is not an option of "${question.question}".`, optionsHint(labels));
}

/** The labels that a text consists of, from the pieces between its commas; labels may contain commas themselves. */
function labelsInText(labels: readonly string[], pieces: readonly string[]): string[] | undefined {
  if (pieces.length === 0) return [];
  for (let count = pieces.length; count > 0; count -= 1) {
    const label = findLabel(labels, pieces.slice(0, count).join(',').trim());
    if (label === undefined) continue;
    const remaining = labelsInText(labels, pieces.slice(count));
    if (remaining !== undefined) return [label, ...remaining];
  }
  return undefined;
}

const findLabel = (labels: readonly string[], value: string): string | undefined =>
  labels.find((label) => label === value) ?? labels.find((label) => label.toLowerCase() === value.toLowerCase());

/**
 * The answer to a request from `--answer 'QUESTION=ANSWER'` values. With a single question, the answer alone is enough.
 * @throws UsageError when a value matches no question, or a question has no answer
 */
export function answerFromFlags(request: HumanRequest, values: readonly string[]): Answer {
  const questions = request.questions ?? [];
  const byQuestion = new Map<HumanQuestion, string[]>();
  for (const value of values) {
    const { question, answer } = assignToQuestion(questions, value);
    byQuestion.set(question, [...(byQuestion.get(question) ?? []), answer]);
  }
  const unansweredQuestions = questions.filter((question) => !byQuestion.has(question));
  if (unansweredQuestions.length > 0) {
    const firstQuestion = unansweredQuestions[0] as HumanQuestion;
    const labels = optionLabels(firstQuestion);
    const hint = `Add --answer '${firstQuestion.question}=${labels[0] ?? 'ANSWER'}'.${labels.length > 0 ? ` ${optionsHint(labels)}` : ''}`;
    throw new UsageError(`An answer is missing for "${unansweredQuestions.map(({ question }) => question).join('", "')}".`, hint);
  }
  return {
    answers: Object.fromEntries(
      questions.map((question) => [question.question, fittingAnswer(question, byQuestion.get(question) as string[])]),
    ),
  };
}

/** The question that `QUESTION=ANSWER` is for, and the answer. @throws UsageError when it names no question */
export function assignToQuestion(questions: readonly HumanQuestion[], value: string): { question: HumanQuestion; answer: string } {
  for (const question of questions) {
    for (const name of [question.question, question.header]) {
      if (name !== undefined && value.toLowerCase().startsWith(`${name.toLowerCase()}=`))
        return { question, answer: value.slice(name.length + 1) };
    }
  }
  const [onlyQuestion, ...otherQuestions] = questions;
  if (onlyQuestion !== undefined && otherQuestions.length === 0 && !value.includes('=')) return { question: onlyQuestion, answer: value };
  throw new UsageError(
    `"${value}" does not name a question of this request.`,
    `The questions are: ${questions.map(({ question }) => `"${question}"`).join(', ')}. Write --answer 'QUESTION=ANSWER'.`,
  );
}

/** Answers from a file: approvals by request title, answers by question text; `*` matches any characters. */
export interface AnswersFile {
  approvals: Record<string, boolean | Decision>;
  answers: Record<string, string | string[]>;
}

/**
 * Reads an answers file (YAML or JSON).
 * @throws UsageError naming the file and what is wrong with it
 */
export async function parseAnswersFile(text: string, file: string): Promise<AnswersFile> {
  const { parse } = await import('yaml');
  let content: unknown;
  try {
    content = parse(text);
  } catch (error) {
    throw new UsageError(`${file} is not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  return readAnswers(content, file);
}

/** The answers in the content of a file. @throws UsageError naming the file and what is wrong with it */
export function readAnswers(content: unknown, file: string): AnswersFile {
  const hint =
    'The file can contain `approvals:` (request title: true, false, or a map with `approved` and `reason`) and `answers:` (question: answer, or a list of answers).';
  const { approvals = {}, answers = {}, ...unknownKeys } = asMap(content, file, hint);
  const unknownKey = Object.keys(unknownKeys)[0];
  if (unknownKey !== undefined) throw new UsageError(`${file}: unknown key "${unknownKey}".`, hint);
  return {
    approvals: Object.fromEntries(
      Object.entries(asMap(approvals, `${file}: approvals`, hint)).map(([title, value]) => [
        title,
        asDecision(value, `${file}: approvals: "${title}"`),
      ]),
    ),
    answers: Object.fromEntries(
      Object.entries(asMap(answers, `${file}: answers`, hint)).map(([question, value]) => [
        question,
        asAnswer(value, `${file}: answers: "${question}"`),
      ]),
    ),
  };
}

function asMap(value: unknown, location: string, hint: string): Record<string, unknown> {
  if (value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${location} must be a map.`, hint);
}

/** Maximum length of a reason, in characters, that respondToHumanRequest accepts. */
const maxReasonLength = 2_000;

function asDecision(value: unknown, location: string): boolean | Decision {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${location} must be true or false, or a map with \`approved\` and \`reason\`.`);
  const { approved, reason, ...unknownKeys } = value as Record<string, unknown>;
  const unknownKey = Object.keys(unknownKeys)[0];
  if (unknownKey !== undefined) throw new UsageError(`${location}: unknown key "${unknownKey}".`, 'Use `approved` and `reason`.');
  if (typeof approved !== 'boolean') throw new UsageError(`${location}: \`approved\` must be true or false.`);
  if (reason === undefined) return { approved };
  const text = typeof reason === 'string' ? reason.trim() : '';
  const characters = [...text].length;
  if (characters === 0 || characters > maxReasonLength)
    throw new UsageError(`${location}: \`reason\` must have 1 to ${maxReasonLength} characters.`);
  return { approved, reason: text };
}

function asAnswer(value: unknown, location: string): string | string[] {
  const texts = (Array.isArray(value) ? value : [value]).map((item: unknown) => {
    if (typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean') return String(item);
    throw new UsageError(`${location} must be a text or a list of texts.`);
  });
  const [onlyText] = texts;
  if (onlyText === undefined) throw new UsageError(`${location} must be a text or a list of texts.`);
  return Array.isArray(value) ? texts : onlyText;
}

/**
 * The file's answer to a request, or undefined when it does not answer all of its questions.
 * @throws UsageError when an answer is not an option of its question
 */
export function answerFromFile(file: AnswersFile, request: HumanRequest): Answer | undefined {
  if (request.type === 'approval') {
    const decision = lookUp(file.approvals, request.title);
    return typeof decision === 'boolean' ? { approved: decision } : decision;
  }
  const answers: Record<string, string> = {};
  for (const question of request.questions ?? []) {
    const input = lookUp(file.answers, question.question);
    if (input === undefined) return undefined;
    answers[question.question] = fittingAnswer(question, input);
  }
  return { answers };
}

/** The value under the exact key, or else under the first matching pattern. */
function lookUp<Value>(entries: Record<string, Value>, text: string): Value | undefined {
  if (Object.hasOwn(entries, text)) return entries[text];
  return Object.entries(entries).find(([pattern]) => matchesPattern(pattern, text))?.[1];
}

/** Whether a text matches a pattern in which `*` stands for any characters. */
export function matchesPattern(pattern: string, text: string): boolean {
  if (pattern === text) return true;
  const [firstPiece = '', ...pieces] = pattern.split('*');
  const lastPiece = pieces.pop();
  if (lastPiece === undefined || !text.startsWith(firstPiece) || !text.endsWith(lastPiece)) return false;
  let position = firstPiece.length;
  for (const piece of pieces) {
    const index = text.indexOf(piece, position);
    if (index < 0) return false;
    position = index + piece.length;
  }
  return position <= text.length - lastPiece.length;
}
