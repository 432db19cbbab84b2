/** The difference between two texts, as a unified diff. Pure. */

const contextLines = 3;
/** Above this product of the lines that differ, the middle is shown as replaced as a whole. */
const maxCells = 4_000_000;

/** @typedef {{ kind: ' ' | '-' | '+', text: string }} Line */

/** A unified diff without file names; empty if the texts are equal. @param {string} before @param {string} after */
export function unifiedDiff(before, after) {
  const lines = diffLines(linesOf(before), linesOf(after));
  /** @type {string[]} */
  const output = [];
  let [oldLine, newLine] = [1, 1];
  for (let index = 0; index < lines.length; ) {
    const start = lines.findIndex(({ kind }, at) => at >= index && kind !== ' ');
    if (start === -1) break;
    const first = Math.max(index, start - contextLines);
    const end = hunkEnd(lines, start);
    oldLine += first - index;
    newLine += first - index;
    const hunk = lines.slice(first, end);
    const oldCount = hunk.filter(({ kind }) => kind !== '+').length;
    const newCount = hunk.filter(({ kind }) => kind !== '-').length;
    output.push(`@@ -${oldLine},${oldCount} +${newLine},${newCount} @@`, ...hunk.map(({ kind, text }) => kind + text));
    oldLine += oldCount;
    newLine += newCount;
    index = end;
  }
  return output.join('\n');
}

/** @param {string} text */
const linesOf = (text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** The end of the hunk that contains the change at `start`; changes whose context would overlap share it. @param {readonly Line[]} lines @param {number} start */
function hunkEnd(lines, start) {
  let last = start;
  for (let index = start; index < lines.length && index - last <= 2 * contextLines; index++) if (lines[index]?.kind !== ' ') last = index;
  return Math.min(lines.length, last + contextLines + 1);
}

/** @param {readonly string[]} before @param {readonly string[]} after @returns {Line[]} */
function diffLines(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - head;
  while (tail < shorter && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (/** @type {readonly string[]} */ lines) => lines.map((text) => /** @type {Line} */ ({ kind: ' ', text }));
  return [
    ...same(before.slice(0, head)),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

/** The longest common subsequence decides which lines stay. @param {readonly string[]} before @param {readonly string[]} after @returns {Line[]} */
function diffMiddle(before, after) {
  const [rows, columns] = [before.length, after.length];
  /** @type {Line[]} */
  const lines = [];
  const remove = (/** @type {number} */ row) => lines.push({ kind: '-', text: before[row] ?? '' });
  const add = (/** @type {number} */ column) => lines.push({ kind: '+', text: after[column] ?? '' });
  let [row, column] = [0, 0];
  if (rows * columns <= maxCells) {
    const width = columns + 1;
    const lengths = commonLengths(before, after);
    const at = (/** @type {number} */ r, /** @type {number} */ c) => lengths[r * width + c] ?? 0;
    while (row < rows && column < columns) {
      if (before[row] === after[column]) {
        lines.push({ kind: ' ', text: before[row] ?? '' });
        row++;
        column++;
      } else if (at(row + 1, column) >= at(row, column + 1)) remove(row++);
      else add(column++);
    }
  }
  while (row < rows) remove(row++);
  while (column < columns) add(column++);
  return lines;
}

/** For each pair of positions, how many lines the rests have in common. @param {readonly string[]} before @param {readonly string[]} after */
function commonLengths(before, after) {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--) {
      const [down, right] = [lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0];
      lengths[row * width + column] =
        before[row] === after[column] ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1 : Math.max(down, right);
    }
  return lengths;
}
