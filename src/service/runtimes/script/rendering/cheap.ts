/**
 * Whether templates are sure to be rendered in a few milliseconds, judged by how they look and how much they can read. It is a
 * strict estimate: what it does not know to be cheap is rendered by a worker, which costs a little more and holds nobody up.
 */
import type { Scope } from '../template.ts';
import { sizeOf } from './size.ts';

/** Characters of all texts of a step that have outputs or tags. */
const longestTemplates = 16_384;
/** Outputs and tags of all templates of a step. */
const mostOutputs = 100;
/** Characters that templates may read where they do more than put values in; and that a step may write where they do not. */
const mostRead = 16_384;
const mostWritten = 1_000_000;

/** Filters that take a time, and give a text, in proportion to what they are given. */
const filters = new Set(['capitalize', 'default', 'downcase', 'escape', 'first', 'json', 'last', 'raw', 'size', 'strip', 'upcase']);
/** Each one after another may double what it is given. */
const mostJson = 4;
/** Tags that do what they hold at most once. */
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
 * Whether the templates are sure to be rendered quickly.
 * @param texts all templates of a step
 * @param scope what they can read
 */
export function isCheap(texts: readonly string[], scope: Scope): boolean {
  let length = 0;
  let outputs = 0;
  let isPlain = true;
  for (const text of texts) {
    const code = codeOf(text);
    if (code === '') continue;
    length += text.length;
    if (length > longestTemplates) return false;
    const looks = looksOf(code);
    if (looks === undefined) return false;
    outputs += looks.outputs;
    isPlain &&= looks.isPlain;
  }
  if (outputs === 0) return true;
  if (outputs > mostOutputs) return false;
  const limit = isPlain ? mostWritten / outputs : mostRead;
  return sizeOf(scope, limit) <= limit;
}

/** A template from its first output or tag to its last. */
function codeOf(text: string): string {
  const begin = text.search(/\{[{%]/);
  return begin < 0 ? '' : text.slice(begin, Math.max(text.lastIndexOf('}}'), text.lastIndexOf('%}')));
}

/** How many outputs and tags there are, and whether they only put values in; undefined for what is not known to be cheap. */
function looksOf(code: string): { outputs: number; isPlain: boolean } | undefined {
  // A range may be of any length.
  if (code.includes('..') && code.includes('(')) return undefined;
  for (const [, tag = ''] of code.matchAll(/\{%-?\s*(#|\w*)/g)) if (!tags.has(tag)) return undefined;
  let json = 0;
  let isPlain = !code.includes('{%') && !code.includes('contains');
  for (const [, filter = ''] of code.matchAll(/\|\s*(\w*)/g)) {
    json += filter === 'json' ? 1 : 0;
    if (!filters.has(filter) || json > mostJson) return undefined;
    isPlain = false;
  }
  return { outputs: code.split(/\{[{%]/).length - 1, isPlain };
}
