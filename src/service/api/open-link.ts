/**
 * GET /open/<token>: a link from a chat message, which leads to a run on the team page. It reveals nothing and changes nothing, whoever
 * opens it: the page asks its reader to sign in. A link that is invalid or has expired leads to a page that says so.
 */
import { html } from '../../base/html.ts';
import { ServiceError } from '../errors.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, HttpParts } from '../http/exchange.ts';

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  // The address contains the token.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex, nofollow',
};

export async function openLinkAnswer({ signer, engine }: HttpParts, _: Exchange, token: string): Promise<Answer> {
  try {
    const grant = signer.verify(token, engine.clock.now());
    if (grant.kind !== 'open_run') return page('This link is not valid', 'It was made for something else.');
    return { status: 303, headers: { ...headers, Location: `/#/runs/${encodeURIComponent(grant.runId)}` }, body: '' };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.error === 'url_expired') return page('This link has expired', 'Links in messages work for seven days.');
    return page('This link is not valid', 'It is incomplete, or it was not made by this service.');
  }
}

const page = (title: string, text: string): Answer => ({
  status: 403,
  headers,
  body: `<!doctype html>${
    html`<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}</style>
<h1>${title}</h1><p>${text}</p><p><a href="/#/inbox">Open the inbox</a></p></html>`.text
  }\n`,
});
