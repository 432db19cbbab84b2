/** Connections to a service whose certificate is known, such as one on this machine that is reached by its address. */
import { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { buildConnector, type Connector } from '../../base/undici.ts';
import { connectMilliseconds } from './network-options.ts';

/** Connects only to a service that presents this certificate (PEM); nothing is sent to any other. */
export function pinnedConnector(certificate: string): Connector.connector {
  const pinnedCertificate = new X509Certificate(certificate);
  // A resumed session does not present a certificate.
  const connect = buildConnector({ timeout: connectMilliseconds, rejectUnauthorized: false, maxCachedSessions: 0 });
  return (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      if (error !== null || !(socket instanceof TLSSocket) || socket.getPeerX509Certificate()?.raw.equals(pinnedCertificate.raw))
        return callback(...result);
      socket.destroy();
      return callback(new Error('The service presents a different certificate than the one it was started with.'), null);
    });
}
