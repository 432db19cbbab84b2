/** Checks URLs that come from outside, as far as that is possible before connecting. */
import { ServiceError } from '../errors.ts';
import type { GuardedAgent } from './guarded-agent.ts';

export interface UrlPurpose {
  /** The name of the field, for the error. */
  field: string;
  /** `error` for a host that is not allowed. */
  code: string;
  /** Half a sentence about that host, with the flag that would allow it. */
  refusalMessage: (host: string) => string;
}

/**
 * The URL to connect to. Throws 400 `invalid_request` for one that is not plain http or https, and 400 with the code of the purpose
 * for a host that is clearly not allowed; the address is checked again for every connection.
 */
export async function checkOutboundUrl(agent: Pick<GuardedAgent, 'isAllowed'>, text: string, purpose: UrlPurpose): Promise<string> {
  const { field } = purpose;
  const invalidUrl = (message: string, error = 'invalid_request'): ServiceError =>
    new ServiceError(400, error, `${field} ${message}.`, { details: [{ path: field, message }] });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidUrl('must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw invalidUrl('must not contain a user name or password');
  url.hash = '';
  if (await agent.isAllowed(url.hostname)) return url.href;
  throw invalidUrl(purpose.refusalMessage(url.hostname), purpose.code);
}

/** Whether what may be sent to one of two valid URLs may be sent to the other. */
export const hasSameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin;
