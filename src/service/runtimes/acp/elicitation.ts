/** Converts a form with questions of an agent (elicitation) to a human request, and the answers to the content of the form. */
import type { CreateElicitationRequest, CreateElicitationResponse, ElicitationPropertySchema } from '@agentclientprotocol/sdk';
import { isObject } from '../../../base/values.ts';
import type { HumanQuestion } from '../../../interface/types.ts';
import type { HumanAnswer, HumanRequestDraft } from '../run-host.ts';

interface Field {
  name: string;
  question: HumanQuestion;
  read: (answer: string | string[]) => unknown;
}

/** The human request for a form; undefined if the form cannot be converted to questions, for example because it opens a URL. */
export function elicitationRequest(request: CreateElicitationRequest): HumanRequestDraft | undefined {
  const fields = fieldsOf(request);
  if (fields === undefined || fields.length === 0) return undefined;
  return { type: 'question', title: request.message, questions: fields.map(({ question }) => question) };
}

/** The response to the agent. */
export function elicitationResponse(request: CreateElicitationRequest, answer: HumanAnswer | undefined): CreateElicitationResponse {
  if (answer === undefined) return { action: 'cancel' };
  if (answer.type !== 'question') return { action: 'decline' };
  const content: Record<string, unknown> = {};
  for (const { name, question, read } of fieldsOf(request) ?? []) {
    const value = answer.answers[question.question];
    if (value !== undefined) content[name] = read(value);
  }
  return { action: 'accept', content } as CreateElicitationResponse;
}

function fieldsOf(request: CreateElicitationRequest): Field[] | undefined {
  if (request.mode !== 'form') return undefined;
  const schema = (request as { requestedSchema?: { properties?: Record<string, ElicitationPropertySchema> } }).requestedSchema;
  const names = new Set<string>();
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const field = fieldOf(name, property);
    // Each question must be unique, because answers are identified by their question.
    const question = names.has(field.question.question) ? `${field.question.question} (${name})` : field.question.question;
    names.add(question);
    return { ...field, question: { ...field.question, question } };
  });
}

const yes = 'Yes';
const no = 'No';

function fieldOf(name: string, property: ElicitationPropertySchema): Field {
  const { title, description } = property as { title?: unknown; description?: unknown };
  const text = [description, title, name].find((candidate) => typeof candidate === 'string' && candidate.trim() !== '') as string;
  const header = typeof title === 'string' && title !== text ? { header: title } : {};
  const base = { question: text, ...header };
  const textOf = (answer: string | string[]): string => (Array.isArray(answer) ? answer.join(', ') : answer);
  if (property.type === 'boolean')
    return { name, question: { ...base, options: [{ label: yes }, { label: no }] }, read: (answer) => textOf(answer) === yes };
  if (property.type === 'array') {
    const choices = choicesOf((property as { items?: unknown }).items);
    const valuesOf = (answer: string | string[]): string[] =>
      (Array.isArray(answer) ? answer : [answer]).map((label) => valueFor(choices, label));
    return { name, question: { ...base, ...optionsOf(choices), multi_select: true }, read: valuesOf };
  }
  const choices = choicesOf(property);
  const isNumeric = property.type === 'number' || property.type === 'integer';
  return {
    name,
    question: { ...base, ...optionsOf(choices) },
    read: (answer) => {
      const value = valueFor(choices, textOf(answer));
      return isNumeric ? numberOf(value) : value;
    },
  };
}

interface Choice {
  value: string;
  label: string;
  description?: string;
}

/** The choices of a property. Those with the same title are told apart by their values, because answers are labels. */
function choicesOf(property: unknown): Choice[] {
  const choices = titledChoices(property);
  const isShared = ({ label }: Choice): boolean => choices.filter((choice) => choice.label === label).length > 1;
  return choices.map((choice) => (isShared(choice) ? { ...choice, label: `${choice.label} (${choice.value})` } : choice));
}

/** From `enum`, or from `oneOf` and `anyOf` with titles. */
function titledChoices(property: unknown): Choice[] {
  if (!isObject(property)) return [];
  const alternatives = [property.oneOf, property.anyOf].find(Array.isArray) as unknown[] | undefined;
  if (alternatives !== undefined)
    return alternatives.filter(isObject).map(({ const: value, title, description }) => ({
      value: String(value),
      label: typeof title === 'string' && title.trim() !== '' ? title : String(value),
      ...(typeof description === 'string' ? { description } : {}),
    }));
  return Array.isArray(property.enum) ? property.enum.map((value) => ({ value: String(value), label: String(value) })) : [];
}

const optionsOf = (choices: readonly Choice[]) =>
  choices.length === 0
    ? {}
    : { options: choices.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) })) };

const valueFor = (choices: readonly Choice[], label: string): string => choices.find((choice) => choice.label === label)?.value ?? label;

/** A number, or the text itself if it is not a number: the agent then reports what is wrong. */
const numberOf = (text: string): number | string => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text);
