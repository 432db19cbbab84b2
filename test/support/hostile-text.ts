/** Text that tries to control a terminal, and the check that it cannot. */
import { expect } from 'vitest';

/**
 * Conceals text, sets a colour that aops does not use, moves the cursor, clears the screen, sets the title and the clipboard, links
 * elsewhere, reorders text, rings the bell, overwrites its line, and fakes a hint on a line of its own.
 */
export const hostileText = [
  'plain\u001b[8m\u001b[95m\u001b[38;5;1m\u001b[1;1H\u001b[2J\u001bc',
  '\u001b]0;title\u0007\u001b]52;c;ZXZpbA==\u0007\u001b]8;;https://evil.example/\u001b\\evil\u001b]8;;\u001b\\\u001bPq\u001b\\',
  '\u009b2J\u009d0;title\u009c\u0000\u0007\u0008\u000b\u000c\u000e\u001a\u007f\r',
  '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\n\rhint: fake',
].join('');

/** A copy of a sample in which every string is hostile, and so are the keys of free-form objects, such as the data of a case. */
export function makeHostile(sample: unknown): unknown {
  if (typeof sample === 'string') return hostileText;
  if (Array.isArray(sample)) return sample.map(makeHostile);
  if (typeof sample !== 'object' || sample === null) return sample;
  const entries = Object.entries(sample);
  // In samples, this is the form of an object with any keys.
  const isFree = entries.length === 1 && entries[0]?.[0] === 'key';
  return Object.fromEntries(entries.map(([name, member]) => [isFree ? hostileText : name, makeHostile(member)]));
}

/** What aops itself sends to a terminal: its styles, its links, and what draws prompts and status lines. */
const ownSequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
  /\u001b\[(?:0|1|2|22|31|32|33|36|39)m|\u001b\]8;;https?:[!-~]*\u001b\\|\u001b\]8;;\u001b\\|\u001b\[\d*[ABCDEFGK]|\u001b\[J|\u001b\[\?(?:25|2004|2026)[hl]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not pass
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Checks that no part of the hostile text controls the terminal to which this output goes. */
export function expectHarmless(output: string, label?: string): void {
  expect(output, label).not.toContain('evil.example/\u001b');
  // Prompts and status lines return to the start of their line.
  const remainder = output.replaceAll(ownSequences, '').replaceAll(/\r(?!h)/g, '');
  const match = dangerous.exec(remainder);
  expect(match && JSON.stringify(remainder.slice(Math.max(0, match.index - 60), match.index + 20)), label).toBeNull();
}

/** Checks further that no line of the output begins with the hint that the text fakes. */
export function expectNoFakeHint(output: string, label?: string): void {
  expect(output, label).not.toMatch(/^(?:\^M)*hint: fake/m);
}
