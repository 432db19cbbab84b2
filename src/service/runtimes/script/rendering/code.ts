/** The code of templates. */

/** A template from its first output or tag to its last. */
export function codeOf(text: string): string {
  const begin = text.search(/\{[{%]/);
  return begin < 0 ? '' : text.slice(begin, Math.max(text.lastIndexOf('}}'), text.lastIndexOf('%}')));
}
