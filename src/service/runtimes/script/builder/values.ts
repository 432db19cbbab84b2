/** What the keys of steps are called in requests, their paths, and the kind of value they have. */
import { parse } from 'yaml';
import { RefusalError } from '../../../words/outcome.ts';
import type { Path } from '../../document/source.ts';
import { conditionKey, type StepKind, stepSchemas } from '../schema.ts';
import { durationWords } from './new-step.ts';

const synonyms: Record<string, string> = {
  command: 'run',
  'time limit': 'timeout',
  condition: conditionKey,
  duration: 'takes',
  time: 'takes',
  name: 'name',
  'on denial': 'on_deny',
  denial: 'on_deny',
  'on error': 'on_error',
  'error handling': 'on_error',
  file: 'path',
  'file name': 'path',
  text: 'content',
  message: 'content',
  label: 'header',
  several: 'multi_select',
};
/** What the only value of a step is called, for steps that consist of a text. */
const wholes: Partial<Record<StepKind, readonly string[]>> = {
  say: ['text', 'message', 'say', 'greeting', 'content'],
  sleep: ['time', 'duration', 'length', 'wait', 'sleep'],
  fail: ['text', 'message', 'error', 'fail'],
};
const inQuestion = ['question', 'header', 'options', 'multi_select'];
const durations = ['timeout', 'takes'];
const plainData = ['result', 'arguments', 'json', 'multi_select'];

/** The path of a key below its step; undefined when such a step does not have that key. */
export function pathOf(kind: StepKind, word: string): Path | undefined {
  const name = word.trim().replaceAll(/\s+/g, ' ');
  if (name === conditionKey || synonyms[name] === conditionKey) return [conditionKey];
  if (wholes[kind]?.includes(name)) return [kind];
  const key = keysOf(kind).includes(name) ? name : (synonyms[name] ?? name.replaceAll(' ', '_'));
  if (kind === 'ask' && inQuestion.includes(key)) return [kind, 'questions', 0, key];
  return keysOf(kind).includes(key) ? [kind, key] : undefined;
}

/** The keys that a step of a kind can have, as questions name them. */
export function keysOf(kind: StepKind): string[] {
  const schema = stepSchemas[kind] as { properties?: Record<string, unknown> };
  const keys = schema.properties === undefined ? (wholes[kind]?.slice(0, 1) ?? []) : Object.keys(schema.properties);
  return kind === 'ask' ? [...keys.filter((key) => key !== 'questions'), ...inQuestion] : [...keys];
}

/** The value of a key, from a text. @throws RefusalError when it must be YAML and is not */
export function valueFor(path: Path, text: string): unknown {
  const key = path.at(-1);
  if (durations.includes(String(key)) || key === 'sleep') return durationWords(text);
  if (key === 'options') return text.split(/\s*,\s*/).map((label) => ({ label }));
  return plainData.includes(String(key)) ? parseValue(text) : text;
}

function parseValue(text: string): unknown {
  try {
    return parse(text);
  } catch {
    throw new RefusalError(`"${text}" is not valid YAML.`);
  }
}
