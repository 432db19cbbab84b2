/** Hyperlinks for terminals that support them (OSC 8). */
import { linkMarkup } from './style.ts';

/** The text as a link to an http or https URL; with any other URL it is returned unchanged. The text must be sanitised. */
export function hyperlink(text: string, url: unknown): string {
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (target?.protocol !== 'https:' && target?.protocol !== 'http:') return text;
  // As serialised by the URL standard, the URL contains only printable ASCII.
  return linkMarkup(text, target.href);
}
