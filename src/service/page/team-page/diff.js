/** Unified diffs, with a colour for each kind of line, and texts that contain fenced diffs. */
import { el } from './dom.js';
import { proseText } from './words.js';

/** @param {string} diff */
export function diffBlock(diff) {
  const lines = proseText(diff).replace(/\n$/, '').split('\n');
  return el(
    'pre',
    { class: 'diff', tabindex: 0, 'aria-label': 'Changes' },
    ...lines.map((line) => el('span', { class: kindOf(line) }, `${line}\n`)),
  );
}

/** @param {string} line */
function kindOf(line) {
  if (line.startsWith('+++ ') || line.startsWith('--- ')) return 'file';
  if (line.startsWith('@@ ')) return 'range';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'context';
}

/** The parts of a text: prose, and its fenced blocks of diffs. @param {string} text */
export function proseWithDiffs(text) {
  const parts = text.split(/^(`{3,})diff\n([\s\S]*?)\n\1`*$/m);
  /** @type {Node[]} */
  const nodes = [];
  // The groups of the pattern are among the parts: prose, fence, diff, prose, ...
  for (let index = 0; index < parts.length; index += 3) {
    const prose = proseText(parts[index] ?? '').trim();
    if (prose !== '') nodes.push(el('p', { class: 'prose quiet', dir: 'auto' }, prose));
    const diff = parts[index + 2];
    if (diff !== undefined) nodes.push(diffBlock(diff));
  }
  return nodes;
}
