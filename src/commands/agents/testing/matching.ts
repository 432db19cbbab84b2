/** Compares texts with the rules of a test file. */
import type { FileRule, MessageRule } from './schema.ts';

export interface ContentRules {
  contains?: string | string[];
  not_contains?: string | string[];
  matches?: string;
  equals?: string;
}

/** A text alone means that it is contained. */
export const rulesOf = <Rule extends MessageRule | FileRule>(rule: Rule): Exclude<Rule, string> | { contains: string } =>
  typeof rule === 'string' ? { contains: rule } : (rule as Exclude<Rule, string>);

const listOf = (texts: string | readonly string[] | undefined): readonly string[] =>
  texts === undefined ? [] : typeof texts === 'string' ? [texts] : texts;

/** The pattern of a `matches` rule. @throws SyntaxError */
export const patternOf = (text: string): RegExp => new RegExp(text, 'mu');

/** Which rules a text does not meet, each as the end of a sentence about it. */
export function violations(text: string, { contains, not_contains, matches, equals }: ContentRules): string[] {
  return [
    ...listOf(contains).flatMap((part) => (text.includes(part) ? [] : [`does not contain ${quoted(part)}`])),
    ...listOf(not_contains).flatMap((part) => (text.includes(part) ? [`contains ${quoted(part)}`] : [])),
    ...(matches === undefined || patternOf(matches).test(text) ? [] : [`does not match /${matches}/`]),
    ...(equals === undefined || text === equals ? [] : ['is different from the expected text']),
  ];
}

/** A rule in words, as in "no message contains ...". */
export function inWords(rule: MessageRule): string {
  const { contains, matches, equals } = rulesOf(rule) as ContentRules;
  return [
    ...listOf(contains).map((part) => `contains ${quoted(part)}`),
    ...(matches === undefined ? [] : [`matches /${matches}/`]),
    ...(equals === undefined ? [] : [`equals ${quoted(equals)}`]),
  ].join(' and ');
}

export const quoted = (text: string): string => JSON.stringify(text);
