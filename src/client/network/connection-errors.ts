/** What went wrong before a request could be sent, in words: TLS certificates and proxies. */
import { UsageError } from '../../base/errors.ts';
import type { ProxyServer } from './network-options.ts';

/** What a connection failed with. */
export interface ConnectionProblem {
  /** Half a sentence for people. */
  reason: string;
  /** Whether trying again is useless. */
  final: boolean;
  hint?: string;
}

/** A proxy could not be reached, or would not connect to the service. The service has seen nothing. */
export class ProxyError extends Error {
  readonly code = 'ERR_PROXY';
  /** Host and port. */
  readonly host: string;
  readonly variable: string;
  /** Whether it was given a user name and password; they themselves are not kept here. */
  readonly identified: boolean;
  readonly status: number | undefined;

  constructor(proxy: ProxyServer, { status, cause }: { status?: number; cause?: unknown }) {
    const { host } = new URL(proxy.origin);
    super(`proxy ${host} failed`, { cause });
    this.name = 'ProxyError';
    this.host = host;
    this.variable = proxy.variable;
    this.identified = proxy.login !== undefined;
    this.status = status;
  }
}

/** The problem behind an error, when it is one of TLS or of a proxy, before anything was sent; `plain` words every other failure of a proxy's connection. */
export function connectionProblem(error: unknown, plain: (error: unknown) => ConnectionProblem): ConnectionProblem | undefined {
  if (error instanceof ProxyError) return proxyProblem(error, plain);
  // A proxy's address that cannot be used, found out when it was needed.
  if (error instanceof UsageError)
    return { reason: error.message.replace(/\.$/, ''), final: true, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  // undici's own words, where plain http goes through a proxy without a tunnel.
  if (error instanceof Error && error.message === 'Proxy Authentication Required (407)')
    return {
      reason: 'the proxy asks for a user name and password (407)',
      final: true,
      hint: 'Put them in HTTP_PROXY: http://USER:PASSWORD@HOST:PORT',
    };
  return tlsProblem(error);
}

function proxyProblem(error: ProxyError, plain: (error: unknown) => ConnectionProblem): ConnectionProblem {
  const { host, variable, identified, status, cause } = error;
  const name = `the proxy ${host} (${variable})`;
  if (status === 407) {
    return {
      reason: identified ? `${name} did not accept the user name and password (407)` : `${name} asks for a user name and password (407)`,
      final: true,
      hint: `Put them in ${variable}: http://USER:PASSWORD@${host}`,
    };
  }
  const otherwise = `Check ${variable}, or name the host in NO_PROXY to do without the proxy.`;
  if (status !== undefined) return { reason: `${name} refused to connect: it answered ${status}`, final: status < 500, hint: otherwise };
  const { reason, final, hint = otherwise } = tlsProblem(cause) ?? plain(cause);
  return { reason: `${name} failed: ${reason}`, final, hint };
}

interface TlsError {
  code?: string;
  message?: string;
  host?: string;
  cert?: { subjectaltname?: string };
}

const ownAuthority =
  'If the certificate comes from an authority of your own, give it with --ca-file FILE (or AOPS_CA_FILE, or `aops config set ca_file FILE`).';
const identify = 'Give the certificate with --client-cert FILE and its key with --client-key FILE.';

const certificateProblems: Record<string, Omit<ConnectionProblem, 'final'>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: { reason: 'its TLS certificate is self-signed', hint: ownAuthority },
  SELF_SIGNED_CERT_IN_CHAIN: {
    reason: 'its TLS certificate comes from a self-signed authority that is not trusted here',
    hint: ownAuthority,
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { reason: 'its TLS certificate comes from an authority that is not trusted here', hint: ownAuthority },
  UNABLE_TO_GET_ISSUER_CERT: { reason: 'its TLS certificate comes from an authority that is not trusted here', hint: ownAuthority },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { reason: 'its TLS certificate comes from an authority that is not trusted here', hint: ownAuthority },
  CERT_HAS_EXPIRED: {
    reason: 'its TLS certificate has expired',
    hint: 'Have it renewed where the service runs, and check the clock of this machine; --ca-file cannot help with that.',
  },
  CERT_NOT_YET_VALID: { reason: 'its TLS certificate is not valid yet', hint: 'Check the clock of this machine.' },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: { reason: 'it asks for a client certificate', hint: identify },
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: {
    reason: 'it refused the TLS handshake',
    hint: `It may ask for a client certificate. ${identify}`,
  },
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: { reason: 'it did not accept the client certificate', hint: identify },
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: { reason: 'it does not trust the authority of the client certificate', hint: identify },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    reason: 'a TLS connection could not be made, as it speaks no TLS there',
    hint: 'Check the port of the address.',
  },
};

function tlsProblem(error: unknown): ConnectionProblem | undefined {
  const { code = '', message = '', host, cert } = (error ?? {}) as TlsError;
  const known = certificateProblems[code];
  if (known) return { ...known, final: true };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = cert?.subjectaltname?.replaceAll(/(?:DNS|IP Address):/g, '').slice(0, 200);
    return {
      reason: `its TLS certificate is for another name${host ? ` than ${host}` : ''}${names ? `: ${names}` : ''}`,
      final: true,
      hint: 'Use an address that the certificate is for; --ca-file does not change which names count.',
    };
  }
  if (code.startsWith('ERR_SSL')) return { reason: `a TLS connection could not be made (${code})`, final: true };
  if (/^(ERR_TLS|CERT_|UNABLE_TO)/.test(code) || /certificate/i.test(message)) {
    return { reason: `its TLS certificate was not accepted (${code || message})`, final: true, hint: ownAuthority };
  }
  return undefined;
}
