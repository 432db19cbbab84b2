/**
 * Identifies this service to push services (VAPID, RFC 8292). A browser only accepts pushes that are signed with the key with which
 * it subscribed. Each data directory has its own key pair.
 */
import { Buffer } from 'node:buffer';
import { createPrivateKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto';
import { UnreadableSecretError } from '../../secret-box.ts';
import type { Queries } from '../../store/database/database.ts';
import { settingOrCreate, touchSetting } from '../../store/database/settings.ts';
import { deleteAllPushSubscriptions } from '../../store/push/push.ts';
import type { HasPush, HasStore } from '../engine.ts';

const settingName = 'push_key';
/** Milliseconds for which a signature is valid; RFC 8292 permits at most a day. */
const validity = 12 * 3_600_000;

export interface VapidKeys {
  /** The public key as browsers get it: an uncompressed point, in base64url. */
  publicKey: string;
  privateKey: JsonWebKey;
}

/**
 * The key pair of this data directory, created by the first call. If it cannot be decrypted, because the file with the key was
 * replaced, a new pair takes its place, and all subscriptions are removed: browsers would reject every push with the new key.
 */
export async function vapidKeys({ store, push: { box } }: HasStore & HasPush): Promise<VapidKeys> {
  const text = await settingOrCreate(store, settingName, () => box.seal(newKeyPair(), settingName));
  try {
    return withPublicKey(box.open(text, settingName));
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return store.transaction().execute((trx) => replaceKeys(trx, box));
  }
}

async function replaceKeys(trx: Queries, box: HasPush['push']['box']): Promise<VapidKeys> {
  const pair = newKeyPair();
  await touchSetting(trx, settingName, box.seal(pair, settingName));
  await deleteAllPushSubscriptions(trx);
  return withPublicKey(pair);
}

/** A private key as a JSON Web Key, which contains the public key. */
const newKeyPair = (): string => JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }));

function withPublicKey(text: string): VapidKeys {
  const privateKey = JSON.parse(text) as JsonWebKey;
  const [x, y] = [privateKey.x, privateKey.y].map((part) => Buffer.from(part ?? '', 'base64url'));
  return { publicKey: Buffer.concat([Buffer.from([4]), x as Buffer, y as Buffer]).toString('base64url'), privateKey };
}

/**
 * The Authorization header for a push (RFC 8292 sections 2 and 3).
 * @param site the origin of the page, which is the contact of its operator if it is public
 * @param now milliseconds
 */
export function vapidHeader({ publicKey, privateKey }: VapidKeys, endpoint: string, site: string, now: number): string {
  const claims = { aud: new URL(endpoint).origin, exp: Math.floor((now + validity) / 1_000), sub: contactOf(site) };
  const text = [{ typ: 'JWT', alg: 'ES256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const key = createPrivateKey({ key: privateKey, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return `vapid t=${text}.${signature}, k=${publicKey}`;
}

/** Apple's push service requires a contact and does not accept an address of this machine. */
const contactOf = (site: string): string => (site.startsWith('https://') ? site : 'mailto:operator@aops.invalid');
