/**
 * Where tokens of templates are. LiquidJS counts lines from the beginning of the template for each variable it tells of, so that
 * a template of 1 MiB with many of them takes minutes to check. This counts the lines of a template once.
 */
import { Token } from 'liquidjs';

let counted: { input: string; lineStarts: number[] } = { input: '', lineStarts: [0] };

function lineStartsOf(input: string): number[] {
  if (counted.input !== input) {
    const lineStarts = [0];
    for (let at = input.indexOf('\n'); at >= 0; at = input.indexOf('\n', at + 1)) lineStarts.push(at + 1);
    counted = { input, lineStarts };
  }
  return counted.lineStarts;
}

/** Line and column of an offset, both from 1. */
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

/** Has the library find positions in this way. */
export function countLinesOnce(): void {
  Token.prototype.getPosition = function (this: Token): [number, number] {
    return positionOf(this.input, this.begin);
  };
}
