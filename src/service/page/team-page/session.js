/**
 * The session. Its token is stored only in this tab (sessionStorage) and is deleted with it. A code arrives in the fragment of the
 * address, which browsers do not send to servers, and is removed from the address bar before anything else happens.
 */
import { Api, ApiError, foreign, parseBody, Unreachable } from './api.js';
import { endNotifications } from './notifications.js';

/**
 * @typedef {object} Session
 * @property {Api} api
 * @property {string} teamId
 * @property {string} teamName
 * @property {(scope: string) => boolean} hasScope
 */

const place = 'aops.token';

/** The code in the address, if any. It is removed from the address bar and the history. */
export function takeCode() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const code = fragment.get('code');
  if (code === null) return undefined;
  const view = fragment.get('view') ?? '/';
  history.replaceState(null, '', `${location.pathname}#${view.startsWith('/') ? view : '/'}`);
  return code;
}

/** Signs in with a code. @param {string} code @throws ApiError if it was used or has expired, Unreachable */
export async function redeem(code) {
  let response;
  let text;
  try {
    response = await fetch('/page/session', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code }),
      cache: 'no-store',
      credentials: 'omit',
    });
    text = await response.text();
  } catch {
    throw new Unreachable();
  }
  const body = parseBody(text);
  if (!response.ok) throw new ApiError(response.status, body ?? {}, 0);
  keepToken(body?.token ?? foreign());
}

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(place, token);

/** The session of the stored token; undefined if no token is stored. @throws ApiError, Unreachable */
export async function openSession() {
  const token = sessionStorage.getItem(place);
  if (token === null) return undefined;
  const api = new Api(token);
  /** @type {{ credential: import('./types.d.ts').Credential }} */
  const { credential } = await api.get('/v2/local/credential');
  /** @type {{ team: { name: string } }} */
  const { team } = await api.get(`/v2/teams/${encodeURIComponent(credential.team_id)}`);
  const { scopes } = credential;
  /** @type {Session} */
  const session = {
    api,
    teamId: credential.team_id,
    teamName: team.name,
    hasScope: (scope) => scopes === null || scopes.includes(scope),
  };
  return session;
}

/** Deletes the token and all unsent text, and ends the notifications of this browser. @param {Session} [session] */
export async function closeSession(session) {
  sessionStorage.clear();
  // Signed out on this page, whether or not the service can be reached.
  await endNotifications(session).catch(() => undefined);
  await session?.api.endSession().catch(() => undefined);
}

/** Deletes only the token: unsent text is still available after signing in again. */
export const forgetToken = () => sessionStorage.removeItem(place);
