/** Routes for operators: whether the service is alive, whether it is ready, and its metrics. */

import { version } from '../../base/version.ts';
import { ServiceError } from '../errors.ts';
import { troubleWords } from '../host-trouble.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import { addressOf, type Exchange, type HttpParts } from '../http/exchange.ts';
import { isFromThisMachine } from '../http/this-machine.ts';
import { isSameHash, secretHash } from '../secret-hash.ts';

/** GET /healthz: any response shows that the process is alive. Nothing else is checked, because a restart would fix nothing else. */
export const healthAnswer = ({ instanceId }: HttpParts): Answer => jsonAnswer(200, { status: 'ok', version, instance_id: instanceId });

/** GET /readyz: 200 or 503. */
export async function readyAnswer({ readiness }: HttpParts): Promise<Answer> {
  const state = await readiness.state();
  if (state.status === 'ready') return jsonAnswer(200, state);
  const notReadyMessage =
    state.reason === undefined ? 'The service cannot do its work; see its log for the reason.' : troubleWords[state.reason].message;
  const message = state.status === 'draining' ? 'The service is shutting down.' : notReadyMessage;
  return jsonAnswer(503, { ...state, error: state.status, message });
}

/** GET /metrics. Throws 401 `invalid_token`, 403 `metrics_forbidden`. */
export async function metricsAnswer(parts: HttpParts, exchange: Exchange): Promise<Answer> {
  await requireWatcher(parts, exchange);
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await parts.metrics.text(parts.engine),
  };
}

/** Metrics require their token. Without a token, only this machine can read them, except through a proxy. */
async function requireWatcher(parts: HttpParts, { request }: Exchange): Promise<void> {
  const { metricsToken, limiter, publicUrl } = parts;
  if (metricsToken === undefined) {
    if (isFromThisMachine(request, publicUrl)) return;
    throw new ServiceError(
      403,
      'metrics_forbidden',
      'Metrics can only be read on this machine; to read them elsewhere, start the service with a metrics token.',
    );
  }
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token !== undefined && isSameHash(secretHash(token), secretHash(metricsToken))) return;
  await limiter.take(addressOf(parts, request));
  throw new ServiceError(401, 'invalid_token', 'Send the metrics token in the header "Authorization: Bearer <token>".', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}
