/** Checks answers to human requests against the request, and puts them into words. Pure. */
import type { HumanQuestion } from '../../../interface/types.ts';
import { type ErrorDetail, ServiceError } from '../../errors.ts';
import type { HumanAnswer } from '../../runtimes/run-host.ts';

export interface RequestToAnswer {
  type: 'approval' | 'question';
  title: string;
  questions: HumanQuestion[];
}

/** An answer in three forms: for the run, for the request, and for the transcript. */
export interface CheckedAnswer {
  answer: HumanAnswer;
  response: string;
  message: string;
}

interface ResponseBody {
  approved?: boolean;
  answers?: Record<string, string>;
  /** Why the request was approved or denied. */
  reason?: string;
}

/** Reads the body of a response to a request. Throws 400 `invalid_answer`, which lists every problem. */
export function readAnswer(request: RequestToAnswer, body: ResponseBody): CheckedAnswer {
  return request.type === 'approval' ? readApproval(request, body) : readAnswers(request, body);
}

/** Takes a message to a waiting run as the answer to its request. To an approval, this is a denial with the message as its reason. */
export function answerInWords(request: RequestToAnswer, text: string): Pick<CheckedAnswer, 'answer' | 'response'> {
  if (request.type === 'approval') return { answer: { type: 'approval', approved: false, reason: text }, response: `denied: ${text}` };
  const answers = Object.fromEntries(request.questions.map(({ question }) => [question, text]));
  return { answer: { type: 'question', answers }, response: text };
}

function readApproval(request: RequestToAnswer, body: ResponseBody): CheckedAnswer {
  const problems: ErrorDetail[] = [];
  if (body.approved === undefined) problems.push({ path: 'approved', message: 'is required: this request is an approval' });
  if (body.answers !== undefined) problems.push({ path: 'answers', message: 'must be left out: this request is an approval' });
  if (body.approved === undefined || problems.length > 0) throw invalidAnswer(problems);
  const { approved, reason } = body;
  const reasonText = reason === undefined ? '' : `: ${reason}`;
  return {
    answer: { type: 'approval', approved, ...(reason === undefined ? {} : { reason }) },
    response: `${approved ? 'approved' : 'denied'}${reasonText}`,
    message: `${approved ? 'Approved' : 'Denied'}: ${request.title}${reason === undefined ? '' : `\n${reason}`}`,
  };
}

function readAnswers(request: RequestToAnswer, body: ResponseBody): CheckedAnswer {
  const problems: ErrorDetail[] = [];
  const texts = body.answers ?? {};
  const questions = new Set(request.questions.map(({ question }) => question));
  for (const path of ['approved', 'reason'] as const)
    if (body[path] !== undefined) problems.push({ path, message: 'must be left out: this request asks questions' });
  for (const question of Object.keys(texts)) {
    if (!questions.has(question))
      problems.push({ path: 'answers', message: `"${question}" is not one of the questions; they are: ${quotedList(questions)}` });
  }
  const answers: [string, string | string[]][] = [];
  for (const question of request.questions) {
    const text = Object.hasOwn(texts, question.question) ? texts[question.question] : undefined;
    const result = readOne(question, text);
    if (result.problem === undefined) answers.push([question.question, result.answer]);
    else problems.push({ path: 'answers', message: `"${question.question}" ${result.problem}` });
  }
  if (problems.length > 0) throw invalidAnswer(problems);
  return {
    answer: { type: 'question', answers: Object.fromEntries(answers) },
    response:
      answers.length === 1
        ? inWords(answers[0]?.[1] ?? '')
        : answers.map(([question, answer]) => `${question} ${inWords(answer)}`).join('\n'),
    message: answers.map(([question, answer]) => `${question} ${inWords(answer)}`).join('\n'),
  };
}

function readOne(
  question: HumanQuestion,
  text: string | undefined,
): { answer: string | string[]; problem?: undefined } | { problem: string } {
  const labels = question.options?.map(({ label }) => label) ?? [];
  const trimmedText = text?.trim() ?? '';
  if (trimmedText === '') return { problem: labels.length > 0 ? `needs an answer; choose from: ${quotedList(labels)}` : 'needs an answer' };
  if (labels.length === 0) return { answer: trimmedText };
  const choices =
    question.multi_select === true ? chosenLabels(trimmedText, labels) : labels.filter((label) => label.trim() === trimmedText);
  if (choices === undefined || choices.length === 0) {
    const rule = question.multi_select === true ? 'must be one or more of these, separated by commas' : 'must be one of these';
    return { problem: `${rule}: ${quotedList(labels)}` };
  }
  return { answer: question.multi_select === true ? choices : (choices[0] as string) };
}

/** Reads labels separated by commas, including labels that contain commas. Returns undefined for any other text. */
export function chosenLabels(text: string, labels: readonly string[]): string[] | undefined {
  // The longest come first, so that "Rome, Italy" is not read as "Rome" if both are options.
  const candidates = [...new Set(labels)].sort((a, b) => b.length - a.length);
  // Positions from which the rest cannot be read. Without them, the search could double with every label.
  const deadEnds = new Set<number>();
  const readFrom = (start: number): string[] | undefined => {
    if (deadEnds.has(start)) return undefined;
    for (const label of candidates) {
      if (!text.startsWith(label.trim(), start)) continue;
      const rest = text.slice(start + label.trim().length);
      if (rest.trim() === '') return [label];
      const comma = /^\s*,\s*/.exec(rest);
      const more = comma === null ? undefined : readFrom(text.length - rest.length + comma[0].length);
      if (more !== undefined) return [label, ...more];
    }
    deadEnds.add(start);
    return undefined;
  };
  const read = readFrom(0);
  return read === undefined ? undefined : [...new Set(read)];
}

const inWords = (answer: string | string[]): string => (Array.isArray(answer) ? answer.join(', ') : answer);
const quotedList = (words: Iterable<string>): string => [...words].map((word) => `"${word}"`).join(', ');

function invalidAnswer(problems: ErrorDetail[]): ServiceError {
  const message = `The answer does not fit the request: ${problems.map(({ path, message }) => (message.startsWith('"') ? message : `${path} ${message}`)).join('; ')}.`;
  return new ServiceError(400, 'invalid_answer', message, { details: problems });
}
