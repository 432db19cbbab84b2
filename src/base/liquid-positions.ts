/**
 * Positions of template tokens. LiquidJS counts lines from the beginning of the template for each variable, so that checking a
 * template of 1 MiB with many variables takes minutes. This counts the lines of a template once.
 */
import { Token } from 'liquidjs';

let cache: { input: string; lineStarts: number[] } = { input: '', lineStarts: [0] };

function lineStartsOf(input: string): number[] {
  if (cache.input !== input) {
    const lineStarts = [0];
    for (let index = input.indexOf('\n'); index >= 0; index = input.indexOf('\n', index + 1)) lineStarts.push(index + 1);
    cache = { input, lineStarts };
  }
  return cache.lineStarts;
}

/** Line and column of an offset, both counted from 1. */
function positionOf(input: string, offset: number): [line: number, column: number] {
  const starts = lineStartsOf(input);
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] as number) <= offset) low = middle;
    else high = middle - 1;
  }
  return [low + 1, offset - (starts[low] as number) + 1];
}

/** Makes the library find positions this way. */
export function countLinesOnce(): void {
  Token.prototype.getPosition = function (this: Token): [number, number] {
    return positionOf(this.input, this.begin);
  };
}
