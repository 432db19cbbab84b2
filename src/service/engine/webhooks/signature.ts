/** The headers of one attempt, as defined by Standard Webhooks 1.0. The receiving side is in the client. */
import { Webhook } from 'standardwebhooks';

/**
 * @param secrets the newest first; each of them signs
 * @param at milliseconds; the header contains whole seconds
 */
export function signedHeaders(secrets: readonly string[], id: string, at: number, body: string): Record<string, string> {
  const time = new Date(at);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, time, body)).join(' '),
  };
}
