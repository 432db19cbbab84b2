/** Whether a request comes from a program on this machine, and not from one elsewhere through a proxy. */
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../base/loopback.ts';

/** Headers of proxies. */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

export function isFromThisMachine({ headers, socket }: IncomingMessage, publicUrl: string | undefined): boolean {
  // A proxy might not identify itself, but it passes on the host name of the request.
  const publicAddress = publicUrl === undefined ? undefined : new URL(publicUrl);
  const isPublic = publicAddress !== undefined && !isLoopback(publicAddress.hostname) && headers.host?.toLowerCase() === publicAddress.host;
  if (isPublic || forwardingHeaders.some((name) => headers[name] !== undefined)) return false;
  const { remoteAddress = '', localAddress } = socket;
  // A service that does not listen on the loopback interface is reached at its own address.
  return remoteAddress !== '' && (remoteAddress === localAddress || isLoopback(remoteAddress.replace(/^::ffff:/, '')));
}
