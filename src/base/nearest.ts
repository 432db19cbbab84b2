/** The word that was probably meant. */

/** The known word that is most similar to `word`, if any is close enough: at most a third of its letters may differ. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const [best] = candidates
    .map((candidate) => ({ candidate, count: edits(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.count - b.count);
  return best && best.count <= Math.max(1, Math.floor(best.candidate.length / 3)) ? best.candidate : undefined;
}

/** How many edits lead from one word to another, where swapping two neighbours is one edit. Long words are not compared. */
export function edits(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, cell(i - 2, j - 2) + 1);
      row.push(cost);
    }
  }
  return cell(a.length, b.length);
}
