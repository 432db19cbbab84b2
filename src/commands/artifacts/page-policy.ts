/**
 * Makes a page of the service safe to open as a file. Browsers allow files more than they allow web pages, and other services may
 * create pages with scripts.
 */
import { Buffer } from 'node:buffer';
import type { Content } from '../../client/transfers/local-files.ts';

/** No scripts, frames, forms or external resources. Inline styles and embedded images, fonts and media are allowed. */
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  'font-src data:',
  'media-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * Placed before the page, because a policy applies only to what follows it. A browser takes the doctype from here, and adds the
 * attributes of the page's own `<html>` to the element it has already created (HTML Standard, 13.2.6.4.7).
 */
const head = Buffer.from(`<!doctype html>\n<meta http-equiv="Content-Security-Policy" content="${policy}">\n`);

/** The page with the policy in front, also when reading starts over. */
export function withPolicy(page: Content): Content {
  return async function* (restart) {
    let headIsMissing = true;
    const startOver = async (): Promise<void> => {
      await restart();
      headIsMissing = true;
    };
    for await (const chunk of page(startOver)) {
      if (headIsMissing) yield head;
      headIsMissing = false;
      yield chunk;
    }
  };
}
