/** HTML from texts that others wrote: whatever is put into a template is escaped, except what is HTML already. */
import { sanitize } from './sanitize.ts';

/** HTML that was built here. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Html[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Characters that steer or hide text are made visible; the rest is as it was. */
export const escapeHtml = (text: string): string => sanitize(text).replace(/[&<>"']/g, (character) => entities[character] as string);

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => `${text}${shown(parts[index - 1])}${string}`));
}

function shown(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escapeHtml(String(part));
}
