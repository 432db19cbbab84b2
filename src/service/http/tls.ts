/** The certificate that the service shows, checked before it is used: a pair that does not fit would refuse every client. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';

/** PEM texts: the certificate with what it was signed by, and its private key. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Throws UsageError `tls_invalid` for what is no certificate with its key, or one whose time is over at `now` (milliseconds). */
export function checkTls({ cert, key }: TlsPair, now: number): void {
  const wrong = (what: string): UsageError => new UsageError(what, hint, 'tls_invalid');
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw wrong('The file given with --tls-cert holds no certificate in PEM.');
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw wrong('The file given with --tls-key holds no private key in PEM, or one with a passphrase.');
  }
  if (!certificate.checkPrivateKey(privateKey)) throw wrong('The private key is not that of the TLS certificate.');
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw wrong(`The TLS certificate and its key cannot be used: ${error instanceof Error ? error.message : String(error)}.`);
  }
  if (Date.parse(certificate.validTo) <= now) throw wrong(`The TLS certificate has expired on ${certificate.validTo}.`);
}

/**
 * Refuses to listen where others could read the traffic, because tokens and everything else would be sent unencrypted.
 * Throws UsageError `tls_required`.
 */
export function requireTls({ host, tls, insecureHttp = false }: { host: string; tls?: TlsPair | undefined; insecureHttp?: boolean }): void {
  if (tls !== undefined || insecureHttp || isLoopback(host)) return;
  throw new UsageError(
    `Listening on ${host} without TLS would let everybody on the network read tokens and data.`,
    'Give --tls-cert and --tls-key; or listen on 127.0.0.1 with a proxy in front that speaks TLS; or accept it with --insecure-http, where the network is your own.',
    'tls_required',
  );
}

const hint = 'Give the certificate chain and the private key that belongs to it, both as PEM files.';
