/** Validates the certificate of the service before it is used: with a mismatched pair, every connection would fail. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf, UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';

/** PEM texts: the certificate chain and its private key. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Throws UsageError `tls_invalid` for an invalid or mismatched certificate and key, or one that has expired at `now` (milliseconds). */
export function checkTls({ cert, key }: TlsPair, now: number): void {
  const invalid = (message: string): UsageError => new UsageError(message, hint, 'tls_invalid');
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw invalid('The file specified with --tls-cert does not contain a PEM certificate.');
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw invalid('The file specified with --tls-key does not contain a PEM private key, or the key has a passphrase.');
  }
  if (!certificate.checkPrivateKey(privateKey)) throw invalid('The private key does not belong to the TLS certificate.');
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw invalid(`The TLS certificate and its key cannot be used: ${messageOf(error)}.`);
  }
  if (Date.parse(certificate.validTo) <= now) throw invalid(`The TLS certificate expired on ${certificate.validTo}.`);
}

/**
 * Refuses to listen without encryption where others could read tokens and data.
 * Throws UsageError `tls_required`.
 */
export function requireTls({ host, tls, insecureHttp = false }: { host: string; tls?: TlsPair | undefined; insecureHttp?: boolean }): void {
  if (tls !== undefined || insecureHttp || isLoopback(host)) return;
  throw new UsageError(
    `Listening on ${host} without TLS would let everybody on the network read tokens and data.`,
    'Pass --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that uses TLS, or accept the risk with --insecure-http if the network is your own.',
    'tls_required',
  );
}

const hint = 'Pass the certificate chain and its private key, both as PEM files.';
