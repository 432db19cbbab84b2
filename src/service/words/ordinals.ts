/** Words for positions: `first`, `3rd`, `last`. */

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'];

/** Source of a regular expression that matches an ordinal in lower case. */
export const ordinalPattern = `(?:${ordinals.join('|')}|last|final|\\d+(?:st|nd|rd|th))`;

/** The position of an ordinal, counted from 1; -1 for the last one. */
export function positionOf(ordinal: string): number {
  if (ordinal === 'last' || ordinal === 'final') return -1;
  const index = ordinals.indexOf(ordinal);
  return index < 0 ? Number.parseInt(ordinal, 10) : index + 1;
}
