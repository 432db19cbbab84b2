/** Why an outbound request got no response, as half a sentence. Does not reveal anything about this machine. */
import { isInvalidHttp } from '../../base/invalid-http.ts';
import { HostNotAllowedError } from './guarded-lookup.ts';

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while sending',
  ENOTFOUND: 'the host name could not be found',
  EAI_AGAIN: 'the host name could not be looked up at the moment',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be established in time',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too large',
};

export function connectionProblem(error: unknown): string {
  const { code = '', name = '', message = '', errors } = error as { code?: string; name?: string; message?: string; errors?: unknown[] };
  if (error instanceof HostNotAllowedError || (error instanceof Error && code === '' && name === 'Error')) return message;
  if (errors?.length) return connectionProblem(errors[0]);
  if (isInvalidHttp(error)) return 'the response was not valid HTTP';
  return reasons[code] ?? `the connection failed${code === '' ? '' : ` (${code})`}`;
}
