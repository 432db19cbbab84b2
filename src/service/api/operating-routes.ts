/** What those who operate the service ask: whether it lives, whether it is ready, and its figures. */

import { isLoopback } from '../../base/loopback.ts';
import { version } from '../../base/version.ts';
import { ServiceError } from '../errors.ts';
import { troubleWords } from '../host-trouble.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import { addressOf, type Exchange, type HttpParts } from '../http/exchange.ts';
import { isSameHash, secretHash } from '../secret-hash.ts';

/** GET /healthz: whoever reads this has been answered by a process that lives. It looks at nothing else: a restart would mend nothing else. */
export const healthAnswer = ({ instanceId }: HttpParts): Answer => jsonAnswer(200, { status: 'ok', version, instance_id: instanceId });

/** GET /readyz: 200 or 503. */
export async function readyAnswer({ readiness }: HttpParts): Promise<Answer> {
  const state = await readiness.state();
  const noStore = { 'Cache-Control': 'no-store' };
  if (state.status === 'ready') return jsonAnswer(200, state, noStore);
  const unwell = state.reason === undefined ? 'The service cannot do its work; its log says why.' : troubleWords[state.reason].message;
  const message = state.status === 'draining' ? 'The service is about to end.' : unwell;
  return jsonAnswer(503, { ...state, error: state.status, message }, noStore);
}

/** GET /metrics. Throws 401 `invalid_token`, 403 `metrics_forbidden`. */
export async function metricsAnswer(parts: HttpParts, exchange: Exchange): Promise<Answer> {
  requireWatcher(parts, exchange);
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' },
    body: await parts.metrics.text(parts.engine),
  };
}

/** Figures are for who has their token; where there is none, for this machine. What a proxy passes on comes from elsewhere. */
function requireWatcher(parts: HttpParts, { request }: Exchange): void {
  const { metricsToken, limiter, publicUrl } = parts;
  if (metricsToken === undefined) {
    // A proxy need not tell of itself, but passes on the name that others call.
    const isPublic = publicUrl !== undefined && request.headers.host?.toLowerCase() === new URL(publicUrl).host;
    const passedOn = isPublic || ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => request.headers[name] !== undefined);
    if (!passedOn && isLoopback((request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''))) return;
    throw new ServiceError(403, 'metrics_forbidden', 'Figures are told to this machine alone; start the service with a metrics token.');
  }
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token !== undefined && isSameHash(secretHash(token), secretHash(metricsToken))) return;
  limiter.take(addressOf(parts, request));
  throw new ServiceError(401, 'invalid_token', 'Send the metrics token in the header "Authorization: Bearer <token>".', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}
