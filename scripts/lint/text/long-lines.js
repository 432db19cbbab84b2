/** Lines of Markdown that are longer than they should be. Pure. */

export const maxColumns = 120;

/**
 * The numbers of long lines, from 1. Tables, code, headings, and lines without a place to break may be longer.
 * @param {string} markdown
 * @returns {number[]}
 */
export function findLongLines(markdown) {
  const problems = [];
  let code = false;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^\s*```/.test(line);
    if (fence) code = !code;
    if (fence || code || line.length <= maxColumns) continue;
    if (!/^\s*[|#<]/.test(line) && breakable(line)) problems.push(index + 1);
  }
  return problems;
}

/** Whether a space outside of code, after the marker of a list, would make the line shorter. @param {string} line */
const breakable = (line) => /\S \S/.test(line.replace(/^\s*(?:[-*]|\d+\.) /, '').replace(/`[^`]*`/g, (code) => 'x'.repeat(code.length)));
