/** Push subscriptions of the browsers that show the team page. */
import { isIP } from 'node:net';
import { ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { checkOutboundUrl } from '../../outbound/check-url.ts';
import { withoutBrackets } from '../../outbound/guarded-lookup.ts';
import { secretHash } from '../../secret-hash.ts';
import type { TokenRecord } from '../../store/access/credentials.ts';
import type { PushSubscriptionRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { deletePushSubscription, pushSubscriptionsOf, storePushSubscription } from '../../store/push/push.ts';
import type { HasClock, HasPush, HasStore } from '../engine.ts';
import { areBrowserKeys, type BrowserKeys } from './encryption.ts';

/** What a browser returns when it subscribes. */
export interface BrowserSubscription {
  /** The URL of the push service to which pushes are sent. */
  endpoint: string;
  keys: BrowserKeys;
}

type PushEngine = HasStore & HasClock & HasPush;

/** The browsers of one session; more would only be left over from browsers that were reset. */
const maxPerSession = 10;

/**
 * Stores the subscription of a browser for a session. The same browser has one subscription, which belongs to the session that
 * stored it last. Of more than ten, the oldest are removed.
 * @param site the origin of the page
 * @throws ServiceError 400 `invalid_request`, `push_host_not_allowed`
 */
export async function subscribe(engine: PushEngine, token: TokenRecord, browser: BrowserSubscription, site: string): Promise<void> {
  const endpoint = await checkEndpoint(engine, browser.endpoint);
  if (!areBrowserKeys(browser.keys)) throw invalid('keys', 'must be the keys of a browser');
  const id = newId();
  const row: PushSubscriptionRow = {
    id,
    team_id: token.teamId,
    token_hash: token.hash,
    endpoint_hash: secretHash(endpoint),
    sealed: engine.push.box.seal(JSON.stringify({ endpoint, keys: browser.keys } satisfies BrowserSubscription), id),
    site,
    created_at: isoTime(engine.clock.now()),
  };
  await engine.store.transaction().execute(async (trx) => {
    await storePushSubscription(trx, row);
    const rows = await pushSubscriptionsOf(trx, token.hash);
    for (const surplus of rows.slice(0, Math.max(0, rows.length - maxPerSession))) await deletePushSubscription(trx, surplus.id);
  });
}

/** Removes the subscription of a browser from a session. Returns whether the session had it. */
export async function unsubscribe({ store }: HasStore, token: TokenRecord, endpoint: string): Promise<boolean> {
  const rows = await pushSubscriptionsOf(store, token.hash);
  const row = rows.find(({ endpoint_hash }) => endpoint_hash === secretHash(endpoint));
  return row !== undefined && deletePushSubscription(store, row.id);
}

/** Whether a session has this subscription. */
export const isSubscribed = async ({ store }: HasStore, token: TokenRecord, endpoint: string): Promise<boolean> =>
  (await pushSubscriptionsOf(store, token.hash)).some(({ endpoint_hash }) => endpoint_hash === secretHash(endpoint));

/** The stored subscription. @throws UnreadableSecretError */
export const openSubscription = ({ push: { box } }: HasPush, row: PushSubscriptionRow): BrowserSubscription =>
  JSON.parse(box.open(row.sealed, row.id)) as BrowserSubscription;

/** The page chooses the endpoint, so it is checked like every address that comes from outside. Push services use TLS. */
async function checkEndpoint(engine: HasPush, text: string): Promise<string> {
  const url = await checkOutboundUrl(engine.push.sender, text, {
    field: 'endpoint',
    code: 'push_host_not_allowed',
    refusalMessage: (host) => `names ${host}, which is not the push service of a browser that this service knows`,
  });
  // An address is only accepted if it was allowed explicitly, for trials on this machine, which need no certificate.
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || isIP(withoutBrackets(hostname)) !== 0) return url;
  throw invalid('endpoint', 'must be an https URL');
}

export const invalid = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
