/** The part of a scope that templates can read, so that a run with much data does not copy all of it for every step. */
import type { Scope } from '../template.ts';
import { codeOf } from './code.ts';

/** Whether the code of one of the templates contains the word anywhere, which includes more than what is read, but never less. */
const mentions = (text: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(text);

/**
 * The part of a scope that the templates can read. Validation guarantees that the first name of every variable is literal, as are the IDs
 * after `steps.` and `answers.`; if something else follows these two, everything in them is needed.
 */
export function neededScope(templates: readonly string[], scope: Scope): Scope {
  const text = templates.map(codeOf).join('\n');
  return {
    message: mentions(text, 'message') ? scope.message : '',
    messages: mentions(text, 'messages') ? scope.messages : [],
    answers: entriesNamed(text, 'answers', scope.answers),
    steps: entriesNamed(text, 'steps', scope.steps),
    run: scope.run,
    agent: scope.agent,
    memory: mentions(text, 'memory') ? scope.memory : {},
    case: scope.case !== null && mentions(text, 'case') ? scope.case : null,
  };
}

function entriesNamed(text: string, root: 'answers' | 'steps', entries: Record<string, unknown>): Record<string, unknown> {
  if (!mentions(text, root)) return {};
  if (new RegExp(`\\b${root}\\b(?!\\s*\\.\\s*\\w)`).test(text)) return entries;
  const neededValues: Record<string, unknown> = {};
  for (const [, id = ''] of text.matchAll(new RegExp(`\\b${root}\\s*\\.\\s*(\\w+)`, 'g')))
    if (Object.hasOwn(entries, id)) neededValues[id] = entries[id];
  return neededValues;
}
