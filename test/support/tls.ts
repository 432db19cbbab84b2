/** The test-only certificates, and an https server with one of them. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';

export type CertificateName = 'server' | 'wrong-name' | 'expired' | 'self-signed' | 'client';

/** The path of a file in test/fixtures/tls. */
export const tlsFile = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
const read = (name: string): string => readFileSync(tlsFile(name), 'utf8');

export const authority = read('ca.pem');
export const certificate = (name: CertificateName) => ({ cert: read(`${name}.pem`), key: read(`${name}-key.pem`) });

/** The name in the client certificate of a request. */
export const clientNameOf = (request: IncomingMessage): string | undefined =>
  (request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined;

export interface HttpsServer {
  port: number;
  close(): Promise<unknown>;
}

/** An HTTPS server on a free port of 127.0.0.1. With `requested`, clients may present a certificate. */
export async function startHttps(
  name: CertificateName,
  answer: RequestListener,
  client: 'ignored' | 'requested' = 'ignored',
): Promise<HttpsServer> {
  const tlsOptions = client === 'ignored' ? {} : { requestCert: true, rejectUnauthorized: false, ca: authority };
  const server = https.createServer({ ...certificate(name), ...tlsOptions }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
