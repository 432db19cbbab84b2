/** Explains failures before a request could be sent: TLS certificates and proxies. */
import { UsageError } from '../../base/errors.ts';
import type { ProxyServer } from './network-options.ts';

/** Why a connection failed. */
export interface ConnectionProblem {
  /** Part of a sentence for people. */
  reason: string;
  /** Whether trying again is useless. */
  final: boolean;
  hint?: string;
}

/** A proxy could not be reached, or did not connect to the service. The service has not seen the request. */
export class ProxyError extends Error {
  readonly code = 'ERR_PROXY';
  /** Host and port. */
  readonly host: string;
  readonly variable: string;
  /** Whether a user name and password were sent to it; they themselves are not stored here. */
  readonly hasLogin: boolean;
  readonly status: number | undefined;

  constructor(proxy: ProxyServer, { status, cause }: { status?: number; cause?: unknown }) {
    const { host } = new URL(proxy.origin);
    super(`proxy ${host} failed`, { cause });
    this.name = 'ProxyError';
    this.host = host;
    this.variable = proxy.variable;
    this.hasLogin = proxy.login !== undefined;
    this.status = status;
  }
}

/** The problem behind an error of TLS or of a proxy before anything was sent; `plain` words all other failures to connect to a proxy. */
export function connectionProblem(error: unknown, plain: (error: unknown) => ConnectionProblem): ConnectionProblem | undefined {
  if (error instanceof ProxyError) return proxyProblem(error, plain);
  // The address of the proxy is unusable, which is noticed only when it is needed.
  if (error instanceof UsageError)
    return { reason: error.message.replace(/\.$/, ''), final: true, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  // undici's own message for plain http through a proxy without a tunnel.
  if (error instanceof Error && error.message === 'Proxy Authentication Required (407)')
    return {
      reason: 'the proxy requires a user name and password (407)',
      final: true,
      hint: 'Add them to HTTP_PROXY: http://USER:PASSWORD@HOST:PORT',
    };
  return tlsProblem(error);
}

function proxyProblem(error: ProxyError, plain: (error: unknown) => ConnectionProblem): ConnectionProblem {
  const { host, variable, hasLogin, status, cause } = error;
  const name = `the proxy ${host} (${variable})`;
  if (status === 407) {
    return {
      reason: hasLogin ? `${name} did not accept the user name and password (407)` : `${name} requires a user name and password (407)`,
      final: true,
      hint: `Add them to ${variable}: http://USER:PASSWORD@${host}`,
    };
  }
  const fallbackHint = `Check ${variable}, or add the host to NO_PROXY to connect without the proxy.`;
  if (status !== undefined) return { reason: `${name} refused to connect: it answered ${status}`, final: status < 500, hint: fallbackHint };
  const { reason, final, hint = fallbackHint } = tlsProblem(cause) ?? plain(cause);
  return { reason: `${name} failed: ${reason}`, final, hint };
}

interface TlsError {
  code?: string;
  message?: string;
  host?: string;
  cert?: { subjectaltname?: string };
}

const ownAuthority =
  'If the certificate was issued by your own authority, pass that with --ca-file FILE (or AOPS_CA_FILE, or `aops config set ca_file FILE`).';
const identify = 'Pass the certificate with --client-cert FILE and its key with --client-key FILE.';

const certificateProblems: Record<string, Omit<ConnectionProblem, 'final'>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: { reason: 'its TLS certificate is self-signed', hint: ownAuthority },
  SELF_SIGNED_CERT_IN_CHAIN: {
    reason: 'its TLS certificate was issued by a self-signed authority that this machine does not trust',
    hint: ownAuthority,
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    reason: 'its TLS certificate was issued by an authority that this machine does not trust',
    hint: ownAuthority,
  },
  UNABLE_TO_GET_ISSUER_CERT: {
    reason: 'its TLS certificate was issued by an authority that this machine does not trust',
    hint: ownAuthority,
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    reason: 'its TLS certificate was issued by an authority that this machine does not trust',
    hint: ownAuthority,
  },
  CERT_HAS_EXPIRED: {
    reason: 'its TLS certificate has expired',
    hint: 'Have the certificate of the service renewed, and check the clock of this machine. --ca-file does not help here.',
  },
  CERT_NOT_YET_VALID: { reason: 'its TLS certificate is not valid yet', hint: 'Check the clock of this machine.' },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: { reason: 'it requires a client certificate', hint: identify },
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: {
    reason: 'it refused the TLS handshake',
    hint: `It may require a client certificate. ${identify}`,
  },
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: { reason: 'it did not accept the client certificate', hint: identify },
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: { reason: 'it does not trust the authority of the client certificate', hint: identify },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    reason: 'a TLS connection could not be made, because it does not use TLS on this port',
    hint: 'Check the port of the address.',
  },
};

function tlsProblem(error: unknown): ConnectionProblem | undefined {
  const { code = '', message = '', host, cert } = (error ?? {}) as TlsError;
  const problem = certificateProblems[code];
  if (problem) return { ...problem, final: true };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = cert?.subjectaltname?.replaceAll(/(?:DNS|IP Address):/g, '').slice(0, 200);
    return {
      reason: `its TLS certificate is for another name${host ? ` than ${host}` : ''}${names ? `: ${names}` : ''}`,
      final: true,
      hint: 'Use an address that the certificate is valid for. --ca-file does not change which names are accepted.',
    };
  }
  if (code.startsWith('ERR_SSL')) return { reason: `a TLS connection could not be made (${code})`, final: true };
  if (/^(ERR_TLS|CERT_|UNABLE_TO)/.test(code) || /certificate/i.test(message)) {
    return { reason: `its TLS certificate was not accepted (${code || message})`, final: true, hint: ownAuthority };
  }
  return undefined;
}
