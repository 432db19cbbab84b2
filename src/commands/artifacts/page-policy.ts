/**
 * A page of the service, made harmless for a browser that opens it as a file: such a page would be allowed more than one from the
 * web, and not every service makes pages without scripts.
 */
import { Buffer } from 'node:buffer';
import type { Content } from '../../client/transfers/local-files.ts';

/** No scripts, no frames, no forms, and nothing from elsewhere; what the page brings with it is shown. */
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
 * In front of everything, because a policy in a page holds for what comes after it. A browser takes the doctype from here, and puts
 * the attributes of the page's own `<html>` on the element that it has made by then (HTML Standard, 13.2.6.4.7).
 */
const head = Buffer.from(`<!doctype html>\n<meta http-equiv="Content-Security-Policy" content="${policy}">\n`);

/** The page behind its policy, also when reading it begins anew. */
export function withPolicy(page: Content): Content {
  return async function* (restart) {
    let headIsMissing = true;
    const again = async (): Promise<void> => {
      await restart();
      headIsMissing = true;
    };
    for await (const chunk of page(again)) {
      if (headIsMissing) yield head;
      headIsMissing = false;
      yield chunk;
    }
  };
}
