/**
 * Whether templates are certain to be rendered within a few milliseconds, judged by their syntax and by how much they can read.
 * The estimate is strict: a worker renders everything else, which costs slightly more but does not block the service.
 */
import type { Scope } from '../template.ts';
import { codeOf } from './code.ts';
import { sizeOf } from './size.ts';

/** The maximum number of characters in the templates of a step. */
const maxTemplatesLength = 16_384;
/** The maximum number of outputs and tags in the templates of a step. */
const maxOutputs = 100;
/** The maximum number of characters that templates can read if they do more than insert values, and that they can write otherwise. */
const maxRead = 16_384;
const maxWritten = 1_000_000;

/** Filters whose time and output are proportional to their input. */
const filters = new Set(['capitalize', 'default', 'downcase', 'escape', 'first', 'json', 'last', 'raw', 'size', 'strip', 'upcase']);
/** The maximum number of successive json filters: each one can double its input. */
const maxJson = 4;
/** Tags that execute their content at most once. */
const tags = new Set([
  '#',
  'case',
  'comment',
  'else',
  'elsif',
  'endcase',
  'endcomment',
  'endif',
  'endraw',
  'endunless',
  'if',
  'raw',
  'unless',
  'when',
]);

/**
 * Whether the templates are certain to be rendered quickly.
 * @param texts all templates of a step
 * @param scope the data that they can read
 */
export function isCheap(texts: readonly string[], scope: Scope): boolean {
  let length = 0;
  let outputs = 0;
  let isPlain = true;
  for (const text of texts) {
    const code = codeOf(text);
    if (code === '') continue;
    length += text.length;
    if (length > maxTemplatesLength) return false;
    const syntax = syntaxOf(code);
    if (syntax === undefined) return false;
    outputs += syntax.outputs;
    isPlain &&= syntax.isPlain;
  }
  if (outputs === 0) return true;
  if (outputs > maxOutputs) return false;
  const limit = isPlain ? maxWritten / outputs : maxRead;
  return sizeOf(scope, limit) <= limit;
}

/** The number of outputs and tags, and whether they only insert values; undefined for templates that might not be cheap. */
function syntaxOf(code: string): { outputs: number; isPlain: boolean } | undefined {
  // A range can have any length.
  if (code.includes('..') && code.includes('(')) return undefined;
  for (const [, tag = ''] of code.matchAll(/\{%-?\s*(#|\w*)/g)) if (!tags.has(tag)) return undefined;
  let json = 0;
  let isPlain = !code.includes('{%') && !code.includes('contains');
  for (const [, filter = ''] of code.matchAll(/\|\s*(\w*)/g)) {
    json += filter === 'json' ? 1 : 0;
    if (!filters.has(filter) || json > maxJson) return undefined;
    isPlain = false;
  }
  return { outputs: code.split(/\{[{%]/).length - 1, isPlain };
}
