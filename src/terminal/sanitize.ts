/**
 * Untrusted text must not control the terminal. Control and direction characters become visible notation (`^[`, `\u{202e}`)
 * before any width is computed. Escape sequences are thus shown as text, and nothing is silently dropped.
 */
import { notation, sanitize } from '../base/sanitize.ts';

export { sanitize } from '../base/sanitize.ts';

const lineBreaks = /[\n\t\u2028\u2029]/g;
const unsafeInJson = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text for one table cell or one line: line breaks and tabs become visible too (`\n`, `\t`). */
export function sanitizeLine(text: string): string {
  return sanitize(text).replace(lineBreaks, (lineBreak) => {
    if (lineBreak === '\n') return '\\n';
    return lineBreak === '\t' ? '\\t' : notation(lineBreak);
  });
}

/** JSON text for a terminal: control characters that JSON leaves unescaped (DEL, C1, bidi) become `\uXXXX`. The value is the same. */
export function escapeJson(json: string): string {
  return json.replace(unsafeInJson, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
