/**
 * Questions that an agent asks as a request for permission: Qwen Code marks such a request and puts the questions next to the tool call.
 * It expects the answers next to the outcome, by the position of the question; a plain approval would be an answer without content.
 */
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { isObject, shorten } from '../../../base/values.ts';
import type { HumanQuestion } from '../../../interface/types.ts';
import type { HumanAnswer, HumanRequestDraft } from '../run-host.ts';
import { outcomeOf } from './permission.ts';

const maxTitleLength = 200;

/** The request to a person; undefined if it is about a permission, or the questions cannot be read. */
export function permissionQuestions({ toolCall }: RequestPermissionRequest): HumanRequestDraft | undefined {
  const questions = questionsOf(toolCall);
  const [first] = questions;
  if (first === undefined) return undefined;
  const title = questions.length === 1 ? first.question : (toolCall.title ?? first.question);
  return { type: 'question', title: shorten(title.replaceAll(/\s+/g, ' ').trim(), maxTitleLength), questions };
}

/** The response with the answers of a person, by the text of the question. */
export function questionResponse(
  { toolCall, options }: RequestPermissionRequest,
  byQuestion: Extract<HumanAnswer, { type: 'question' }>['answers'],
): RequestPermissionResponse & { answers?: Record<string, string> } {
  const answers = questionsOf(toolCall).flatMap(({ question }, index): [string, string][] => {
    const value = byQuestion[question];
    return value === undefined ? [] : [[String(index), Array.isArray(value) ? value.join(', ') : value]];
  });
  return { outcome: outcomeOf(options, true), answers: Object.fromEntries(answers) };
}

/** An empty list if one of them cannot be read, because answers are identified by the position of the question. */
function questionsOf({ _meta: meta, rawInput }: RequestPermissionRequest['toolCall']): HumanQuestion[] {
  if (meta?.qwenInteractionKind !== 'user_question') return [];
  const lists = [meta.qwenQuestions, isObject(rawInput) ? rawInput.questions : undefined];
  const list = lists.find((each): each is unknown[] => Array.isArray(each) && each.length > 0) ?? [];
  const texts = new Set<string>();
  const questions: HumanQuestion[] = [];
  for (const [index, entry] of list.entries()) {
    if (!isObject(entry) || typeof entry.question !== 'string' || entry.question.trim() === '') return [];
    const { question, header, options, multiSelect } = entry;
    // Answers of people are identified by the text of the question.
    const text = texts.has(question as string) ? `${question} (${index + 1})` : (question as string);
    texts.add(text);
    const choices = (Array.isArray(options) ? options : []).flatMap(choiceOf);
    questions.push({
      question: text,
      ...(typeof header === 'string' && header.trim() !== '' ? { header } : {}),
      ...(choices.length === 0 ? {} : { options: choices }),
      ...(multiSelect === true ? { multi_select: true } : {}),
    });
  }
  return questions;
}

function choiceOf(option: unknown): { label: string; description?: string }[] {
  if (!isObject(option) || typeof option.label !== 'string' || option.label === '') return [];
  const { label, description } = option;
  return [{ label, ...(typeof description === 'string' && description !== '' ? { description } : {}) }];
}
