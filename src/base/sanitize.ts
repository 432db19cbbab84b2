/** Characters that steer, reorder or hide text, made visible. */

// \p{Cc} is C0, DEL and C1. The others reorder or hide text (Trojan Source, CVE-2021-42574).
const controlCharacters = /\r\n|[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Control and direction characters become visible notation (`^[`, `\u{202e}`); line feeds and tabs stay, CR LF becomes a line feed. */
export function sanitize(text: string): string {
  return text.replace(controlCharacters, (character) => {
    if (character === '\r\n') return '\n';
    return character === '\n' || character === '\t' ? character : notation(character);
  });
}

/** One character in visible notation. */
export function notation(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
  return code === 0x7f ? '^?' : `\\u{${code.toString(16)}}`;
}
