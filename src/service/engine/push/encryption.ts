/** Encrypts the payload of a push for a browser (RFC 8291), as a single record of aes128gcm (RFC 8188). Pure, apart from random numbers. */
import { Buffer } from 'node:buffer';
import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

/** What a browser provides for encryption, in base64url: its public key, and the secret that authenticates the sender. */
export interface BrowserKeys {
  p256dh: string;
  auth: string;
}

/** The maximum length of a payload, in bytes, so that its record fits into the 4096 bytes that every push service accepts. */
export const maxPayloadBytes = 3_993;

const curve = 'prime256v1';
const publicKeyBytes = 65;
const authBytes = 16;
const recordSize = 4_096;
/** Marks the end of the text of the last record (RFC 8188 section 2). */
const lastRecordDelimiter = 2;

/** Whether these are a point on P-256 and a secret of the right length. */
export function areBrowserKeys({ p256dh, auth }: BrowserKeys): boolean {
  const publicKey = Buffer.from(p256dh, 'base64url');
  if (publicKey.length !== publicKeyBytes || Buffer.from(auth, 'base64url').length !== authBytes) return false;
  try {
    const ownKeys = createECDH(curve);
    ownKeys.generateKeys();
    ownKeys.computeSecret(publicKey);
    return true;
  } catch {
    return false;
  }
}

/**
 * The body of a push.
 * @param payload at most `maxPayloadBytes` long
 * @param random the private key of this push and the salt, for the example of RFC 8291; by default, both are new
 */
export function encryptPush(payload: Buffer, keys: BrowserKeys, random: { privateKey?: Buffer; salt?: Buffer } = {}): Buffer {
  if (payload.length > maxPayloadBytes) throw new RangeError(`the payload of a push has at most ${maxPayloadBytes} bytes`);
  const ownKeys = createECDH(curve);
  if (random.privateKey === undefined) ownKeys.generateKeys();
  else ownKeys.setPrivateKey(random.privateKey);
  const salt = random.salt ?? randomBytes(16);
  const [ownPublicKey, publicKey] = [ownKeys.getPublicKey(), Buffer.from(keys.p256dh, 'base64url')];
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, ownPublicKey]);
  const inputKey = derive(ownKeys.computeSecret(publicKey), Buffer.from(keys.auth, 'base64url'), keyInfo, 32);
  const contentKey = derive(inputKey, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = derive(inputKey, salt, 'Content-Encoding: nonce\0', 12);
  const cipher = createCipheriv('aes-128-gcm', contentKey, nonce);
  const encryptedBytes = [cipher.update(payload), cipher.update(Buffer.from([lastRecordDelimiter])), cipher.final(), cipher.getAuthTag()];
  const header = Buffer.alloc(5);
  header.writeUInt32BE(recordSize);
  header.writeUInt8(ownPublicKey.length, 4);
  return Buffer.concat([salt, header, ownPublicKey, ...encryptedBytes]);
}

const derive = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));
