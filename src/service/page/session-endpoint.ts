/** POST /page/session: exchanges a code for a session of the team page. DELETE: ends the caller's session. Not part of the interface: only the page calls them. */
import { ServiceError } from '../errors.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import { parseJson, readBody } from '../http/body.ts';
import { addressOf, type Exchange, type HttpParts } from '../http/exchange.ts';
import { isoTime } from '../store/database/time.ts';
import { endPageSession, startPageSession } from './sessions.ts';

const bodyLimit = 4 * 1024;

/** Failures count against the address, and too many invalid codes get 429. A valid code is always accepted, whatever others do. */
export async function sessionAnswer(parts: HttpParts, exchange: Exchange): Promise<Answer> {
  try {
    return await (exchange.method === 'DELETE' ? end(parts, exchange) : start(parts, exchange));
  } catch (error) {
    await parts.limiter.take(addressOf(parts, exchange.request));
    throw error;
  }
}

async function start(parts: HttpParts, { request }: Exchange): Promise<Answer> {
  const { engine, attempts, limits } = parts;
  const body = parseJson(await readBody(request, bodyLimit, limits.bodyMilliseconds), request.headers['content-type']);
  const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
  if (typeof code !== 'string') {
    throw new ServiceError(400, 'invalid_request', 'code is required.', { details: [{ path: 'code', message: 'is required' }] });
  }
  try {
    const { token, expiresAt } = await startPageSession(engine.store, code, engine.clock.now());
    return jsonAnswer(200, { token, expires_at: isoTime(expiresAt) });
  } catch (error) {
    await attempts.take(`page ${addressOf(parts, request)}`);
    throw error;
  }
}

async function end(parts: HttpParts, { request }: Exchange): Promise<Answer> {
  const { engine, limiter } = parts;
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const hasEnded = await endPageSession(engine.store, token, engine.clock.now());
  if (!hasEnded) await limiter.take(addressOf(parts, request));
  return jsonAnswer(200, { ended: hasEnded });
}
