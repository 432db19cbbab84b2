/** HTML from untrusted text: everything interpolated into a template is escaped, unless it is HTML built here. */
import { sanitize } from './sanitize.ts';

/** HTML built by the template tag `html`, which needs no more escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Html[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes HTML and makes characters visible that steer or hide text. */
export const escapeHtml = (text: string): string => sanitize(text).replace(/[&<>"']/g, (character) => entities[character] as string);

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => `${text}${render(parts[index - 1])}${string}`));
}

function render(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escapeHtml(String(part));
}
