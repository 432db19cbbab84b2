/** A push service and the browsers that are subscribed to it. It verifies who sends, and the browsers decrypt what they get. */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterTest } from './temporary.ts';

/** What a browser returns when it subscribes. */
export interface BrowserSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface ReceivedPush {
  path: string;
  headers: IncomingHttpHeaders;
  /** The decrypted payload. */
  payload: { title: string; run_number: number; link: string; request_id: string };
  /** The claims and the public key of the sender. */
  sender: { aud: string; exp: number; sub: string; key: string };
}

interface Browser {
  subscription: BrowserSubscription;
  decrypt(body: Buffer): Buffer;
}

export class PushService {
  readonly url: string;
  readonly pushes: ReceivedPush[] = [];
  /** The status of the next answers, by the path of the endpoint; 201 by default. */
  readonly statuses = new Map<string, number>();
  readonly #browsers: Map<string, Browser>;

  private constructor(url: string, browsers: Map<string, Browser>) {
    this.url = url;
    this.#browsers = browsers;
  }

  /** Starts a push service that ends with the test. */
  static async start(end: (close: () => void) => void = afterTest): Promise<PushService> {
    const browsers = new Map<string, Browser>();
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const path = request.url ?? '';
      const payload = JSON.parse(String(browsers.get(path)?.decrypt(Buffer.concat(chunks)))) as ReceivedPush['payload'];
      service.pushes.push({ path, headers: request.headers, payload, sender: verifySender(request.headers.authorization) });
      response.writeHead(service.statuses.get(path) ?? 201, { 'retry-after': '7200' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    end(() => {
      server.closeAllConnections();
      server.close();
    });
    const service = new PushService(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, browsers);
    return service;
  }

  /** Subscribes another browser. */
  subscribe(): BrowserSubscription {
    const path = `/push/${randomBytes(12).toString('base64url')}`;
    const browser = newBrowser(this.url + path);
    this.#browsers.set(path, browser);
    return browser.subscription;
  }

  /** Waits until this many pushes have arrived. */
  async count(number: number): Promise<ReceivedPush[]> {
    while (this.pushes.length < number) await new Promise((resolve) => setImmediate(resolve));
    return this.pushes;
  }
}

function newBrowser(endpoint: string): Browser {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys();
  const auth = randomBytes(16);
  return {
    subscription: { endpoint, keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') } },
    decrypt(body) {
      const [salt, keyLength] = [body.subarray(0, 16), body.readUInt8(20)];
      const [senderKey, record] = [body.subarray(21, 21 + keyLength), body.subarray(21 + keyLength)];
      const derive = (secret: Buffer, from: Buffer, info: Buffer, length: number) =>
        Buffer.from(hkdfSync('sha256', secret, from, info, length));
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, senderKey]);
      const inputKey = derive(keys.computeSecret(senderKey), auth, info, 32);
      const contentKey = derive(inputKey, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
      const nonce = derive(inputKey, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
      const decipher = createDecipheriv('aes-128-gcm', contentKey, nonce).setAuthTag(record.subarray(-16));
      const text = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
      return text.subarray(0, text.lastIndexOf(2));
    },
  };
}

/** The claims of the sender (RFC 8292). @throws Error if the signature is invalid */
function verifySender(authorization = ''): ReceivedPush['sender'] {
  const { t = '', k: key = '' } = /^vapid t=(?<t>[\w.-]+), k=(?<k>[\w-]+)$/.exec(authorization)?.groups ?? {};
  const [header = '', claims = '', signature = ''] = t.split('.');
  const point = Buffer.from(key, 'base64url');
  const jwk = { kty: 'EC', crv: 'P-256', x: point.subarray(1, 33).toString('base64url'), y: point.subarray(33).toString('base64url') };
  const publicKey = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  if (!verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url')))
    throw new Error(`invalid signature: ${authorization}`);
  return { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), key };
}
