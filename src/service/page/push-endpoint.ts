/**
 * /page/push: notifications for the browser that shows the team page. GET returns the key for subscribing, PUT stores the subscription
 * of the browser for the caller's session, POST returns whether the session has it, and DELETE removes it. The endpoint is secret, so it
 * is never part of a URL. Not part of the interface: only the page calls them.
 */
import { type BrowserSubscription, invalid, isSubscribed, subscribe, unsubscribe } from '../engine/push/subscriptions.ts';
import { vapidKeys } from '../engine/push/vapid.ts';
import { requirePermission } from '../http/access.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import { authenticate, rejectedToken } from '../http/authenticate.ts';
import { parseJson, readBody } from '../http/body.ts';
import { addressOf, type Exchange, type HttpParts, type OpenAnswer } from '../http/exchange.ts';
import { secretHash } from '../secret-hash.ts';
import type { TokenRecord } from '../store/access/credentials.ts';

const bodyLimit = 4 * 1024;
const maxEndpoint = 2_000;

/** Throws 401 without a valid token, and 403 if the token may not read human requests, which notifications contain. */
export async function pushAnswer(parts: HttpParts, exchange: Exchange): Promise<OpenAnswer> {
  const token = await admit(parts, exchange);
  await parts.limiter.take(token.credentialId);
  return { answer: await answerTo(parts, exchange, token), caller: token.credentialId };
}

async function answerTo(parts: HttpParts, exchange: Exchange, token: TokenRecord): Promise<Answer> {
  const { engine } = parts;
  if (exchange.method === 'GET') return jsonAnswer(200, { key: (await vapidKeys(engine)).publicKey });
  const { request } = exchange;
  const body = parseJson(await readBody(request, bodyLimit, parts.limits.bodyMilliseconds), request.headers['content-type']);
  const browser = browserSubscription(body);
  if (exchange.method === 'POST') return jsonAnswer(200, { subscribed: await isSubscribed(engine, token, browser.endpoint) });
  if (exchange.method === 'PUT') await subscribe(engine, token, browser, exchange.baseUrl);
  else await unsubscribe(engine, token, browser.endpoint);
  return jsonAnswer(200, { subscribed: exchange.method === 'PUT' });
}

/** The token of the caller. Attempts without a valid one count against their address. */
async function admit(parts: HttpParts, { request }: Exchange): Promise<TokenRecord> {
  const { tokens, engine, limiter } = parts;
  const now = engine.clock.now();
  try {
    const { authorization } = request.headers;
    const caller = await authenticate({ tokens, runTokens: engine.runTokens }, authorization, now);
    requirePermission(caller, 'listRuns');
    const token = await tokens.find(secretHash((authorization ?? '').replace(/^Bearer +/i, '').trim()), now);
    if (token === undefined) throw rejectedToken();
    return token;
  } catch (error) {
    await limiter.take(addressOf(parts, request));
    throw error;
  }
}

/** The endpoint and the keys of a body. The keys can be missing unless they are stored. @throws ServiceError 400 `invalid_request` */
function browserSubscription(body: unknown): BrowserSubscription {
  const { endpoint, keys } = (typeof body === 'object' && body !== null ? body : {}) as { endpoint?: unknown; keys?: unknown };
  if (typeof endpoint !== 'string' || endpoint.length > maxEndpoint) throw invalid('endpoint', 'must be the URL of a push service');
  const { p256dh, auth } = (typeof keys === 'object' && keys !== null ? keys : {}) as { p256dh?: unknown; auth?: unknown };
  return { endpoint, keys: { p256dh: typeof p256dh === 'string' ? p256dh : '', auth: typeof auth === 'string' ? auth : '' } };
}
