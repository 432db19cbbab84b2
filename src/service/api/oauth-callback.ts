/** GET /oauth/callback: where a person returns from an authorization server, and sees the outcome. */
import { AuthorizationFailure, finishAuthorization } from '../engine/connections/authorize.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange, HttpParts } from '../http/exchange.ts';

export const callbackPath = 'oauth/callback';

/** A page, or a redirect to the URL chosen by the client that started the authorization. Never throws because of the query. */
export async function callbackAnswer({ engine }: HttpParts, { method, search }: Exchange): Promise<Answer> {
  const state = search.get('state') ?? '';
  const parameter = (name: string): string | undefined => search.get(name) ?? undefined;
  // A HEAD request must not use up the code.
  if (method === 'HEAD') return page(200, 'Authorization', '');
  try {
    const error = parameter('error_description') ?? parameter('error');
    const { row, returnUrl } = await finishAuthorization(engine, { state, code: parameter('code'), iss: parameter('iss'), error });
    if (returnUrl !== null) return redirect(returnUrl, { connection_id: row.id });
    return page(200, 'Authorized', `The connection ${row.name} can be used now. You can close this page.`);
  } catch (error) {
    if (!(error instanceof AuthorizationFailure)) throw error;
    if (error.returnUrl !== null) return redirect(error.returnUrl, { error: error.message });
    return page(400, 'Not authorized', error.message);
  }
}

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  // The address of this page contains the code.
  'Referrer-Policy': 'no-referrer',
};

function redirect(to: string, words: Record<string, string>): Answer {
  const url = new URL(to);
  for (const [name, value] of Object.entries(words)) url.searchParams.set(name, value);
  return { status: 302, headers: { ...headers, Location: url.href }, body: '' };
}

const page = (status: number, title: string, text: string): Answer => ({
  status,
  headers,
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;overflow-wrap:break-word}</style>
<h1>${title}</h1><p>${escapeHtml(text)}</p></html>
`,
});

const escapeHtml = (text: string): string => text.slice(0, 1_000).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
