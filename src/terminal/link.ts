/** Hyperlinks on terminals that know them (OSC 8). The text stays readable where the link is not seen. */
import { linkMarkup } from './style.ts';

/** The text as a link to an http or https URL; any other URL leaves it as it is. The text must have been sanitised. */
export function hyperlink(text: string, url: unknown): string {
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (target?.protocol !== 'https:' && target?.protocol !== 'http:') return text;
  // As the URL standard writes it: nothing but printable ASCII is left.
  return linkMarkup(text, target.href);
}
